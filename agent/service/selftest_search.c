/* SPDX-License-Identifier: MIT */
#include "agent/service/selftest_search.h"

#include "common/clock.h"

#define LAG_NS NS_PER_MS

void selftest_search_init(struct selftest_search *s)
{
    *s = (struct selftest_search){.rate = SELFTEST_FIRST};
}

/* 1, 2, 5, 10, 20, ... */
static uint64_t next_rung(uint64_t rate)
{
    uint64_t digit = rate;
    while (digit >= 10)
        digit /= 10;
    return digit == 2 ? rate / 2 * 5 : rate * 2;
}

/* Two digits are enough to read. */
static uint64_t two_digits(uint64_t rate)
{
    uint64_t unit = 1;
    while (rate / unit >= 100)
        unit *= 10;
    return rate / unit * unit;
}

static uint64_t between(uint64_t held, uint64_t missed)
{
    if (held == 0 || missed - held <= missed / 10)
        return 0;
    uint64_t middle = held + (missed - held) / 2;
    uint64_t round = two_digits(middle);
    return round > held ? round : middle;
}

void selftest_search_result(struct selftest_search *s, bool held)
{
    if (s->rate == 0)
        return;
    uint32_t limit = s->rate == SELFTEST_FIRST ? SELFTEST_FIRST_FAILS : SELFTEST_FAILS;
    if (!held && ++s->fails < limit)
        return;
    s->fails = 0;
    if (held)
        s->held = s->rate;
    else
        s->missed = s->rate;
    if (s->missed != 0)
        s->rate = between(s->held, s->missed);
    else
        s->rate = s->held < SELFTEST_MOST ? next_rung(s->held) : 0;
}

enum selftest_verdict selftest_judge(const struct selftest_step *step)
{
    if (step->achieved * 100 < step->rate * 98 || step->completed * 100 < step->scheduled * 98)
        return SELFTEST_SHORT;
    if (step->waited * 100 >= step->scheduled)
        return SELFTEST_BUSY;
    return step->send_p99_ns >= LAG_NS ? SELFTEST_LATE : SELFTEST_HELD;
}

const char *selftest_verdict_name(enum selftest_verdict v)
{
    static const char *const names[SELFTEST_VERDICTS] = {
        [SELFTEST_HELD] = "held",
        [SELFTEST_SHORT] = "rate not reached",
        [SELFTEST_BUSY] = "connections busy",
        [SELFTEST_LATE] = "send lag",
    };
    return names[v];
}
