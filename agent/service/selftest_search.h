/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_SELFTEST_SEARCH_H
#define HAMMER_AGENT_SELFTEST_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * PURE: which rates a self-test tries, and when one counts as held. A ladder 1, 2, 5, 10 ... from
 * SELFTEST_FIRST until a rate is not held, then bisection until at most a tenth lies between the
 * highest rate held and the lowest not held. Whatever else the machine does makes a step worse,
 * never better: so a rate must fail SELFTEST_FAILS times in a row, the first of them
 * SELFTEST_FIRST_FAILS times; then there is no answer, as a lower one would not come from the rate
 * (and p99 of fewer samples means nothing). Rates are requests per second.
 */

#define SELFTEST_FIRST       1000u
#define SELFTEST_MOST        1000000u /* the ladder's end */
#define SELFTEST_FAILS       2u
#define SELFTEST_FIRST_FAILS 6u
#define SELFTEST_TRIES       64u /* no search needs more steps */

struct selftest_search {
    uint64_t rate;   /* to be tried next; 0 = the search is over */
    uint64_t held;   /* highest rate held; 0 = none */
    uint64_t missed; /* lowest one not held; 0 = none */
    uint32_t fails;  /* of `rate`, so far */
};

void selftest_search_init(struct selftest_search *s);
/* The outcome of a step at s->rate. */
void selftest_search_result(struct selftest_search *s, bool held);

/* What one step measured. */
struct selftest_step {
    uint64_t rate;
    uint64_t achieved; /* answered per second, until the last answer */
    uint64_t send_p50_ns, send_p99_ns, send_max_ns;
    uint64_t receive_p99_ns;
    uint64_t scheduled, completed, waited; /* requests; waited = every connection was busy */
    uint32_t cpu_percent;                  /* of a core, the busiest worker */
};

enum selftest_verdict {
    SELFTEST_HELD,
    SELFTEST_SHORT, /* fewer than 98 % of the rate were answered in time */
    SELFTEST_BUSY,  /* 1 % or more waited for a connection: the host answers too slowly */
    SELFTEST_LATE,  /* send lag p99 of 1 ms or more */
    SELFTEST_VERDICTS
};

enum selftest_verdict selftest_judge(const struct selftest_step *step);
/* "held", "send lag", ... */
const char *selftest_verdict_name(enum selftest_verdict v);

#endif
