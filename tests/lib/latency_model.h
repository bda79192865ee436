/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_LATENCY_MODEL_H
#define HAMMER_TESTS_LATENCY_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "common/hist.h"
#include "controller/run/blocks.h"
#include "controller/run/result.h"

/*
 * Latencies of runs that never were, for what is said about statistics: a target that takes a
 * lognormal time (median 1 ms, sigma 0.5) for each request, is stopped now and then, and may be
 * slower in the second half. 200 requests/s, evenly spaced; the queue behind a stop is answered
 * when it ends.
 */

#define LATENCY_MODEL_RATE 200

struct latency_model {
    const char *name;
    double every_s; /* from one stop to the next, on average, exponential; 0 = never */
    double shortest_s, longest_s;
    double slower; /* times, in the second half; 0 = 1 */
    double load;   /* what is due over what can be answered; at most 1 = no queue grows */
    double wander; /* level from second to second: standard deviation of its logarithm, of which 0.7
                      are the last second's */
};

/* Three that the tables in docs/measuring.md are about: never stopped, 50-150 ms every 10 s,
 * 250-750 ms every 20 s. */
#define LATENCY_MODELS 3
extern const struct latency_model latency_models[LATENCY_MODELS];

/* One run, in rows of a second by the time of completion. */
struct latency_run {
    size_t seconds;
    struct hist **rows, *whole;
};

struct latency_run *latency_run_new(size_t seconds);
void latency_run_free(struct latency_run *run);
/* Another run of the target, in place of the last one. */
void latency_run_make(struct latency_run *run, const struct latency_model *m, uint64_t *rng);
/* As merge would make it: blocks and timeline of an open loop; the caller's (result_free). `plan`
 * outlives it. */
struct result *latency_run_result(const struct latency_run *run, struct plan *plan);

#endif
