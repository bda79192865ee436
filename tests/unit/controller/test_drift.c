/* SPDX-License-Identifier: MIT */
#include "controller/run/drift.h"

#include <math.h>
#include <stdlib.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"

#define START (1000 * NS_PER_SEC)

/* A clock that is `offset` ahead at START and fast by `ppb`; the way there and back takes at least
 * `way` each, and up to `jitter` more. */
struct other {
    int64_t offset_ns;
    int64_t ppb;
    uint64_t way_ns, jitter_ns;
    uint64_t rng;
};

static uint64_t reading(const struct other *o, uint64_t at_ns)
{
    int64_t since = (int64_t)(at_ns - START);
    return at_ns + (uint64_t)(o->offset_ns + since / 1000 * o->ppb / 1000000);
}

static uint64_t way(struct other *o)
{
    return o->way_ns + check_below(&o->rng, o->jitter_ns + 1);
}

static void ping(struct drift *d, struct other *o, uint64_t at_ns)
{
    uint64_t there = at_ns + way(o), inside = there + check_below(&o->rng, 20000);
    drift_probe(d, at_ns, reading(o, there), reading(o, inside), inside + way(o));
}

static void run(struct drift *d, struct other *o, uint64_t seconds)
{
    /* The probes before the run, as the coordinator makes them. */
    struct clock_estimate e = {0};
    for (uint64_t i = 0; i < 32; i++) {
        uint64_t t1 = START + i * NS_PER_MS, t2 = t1 + way(o);
        ck_assert(clock_estimate_add(&e, t1, reading(o, t2), reading(o, t2), t2 + way(o)));
    }
    drift_begin(d, START + 32 * NS_PER_MS, e.offset_ns, clock_estimate_error(&e));
    for (uint64_t s = 1; s <= seconds; s++)
        ping(d, o, START + s * NS_PER_SEC);
    drift_end(d);
}

/* Quartz at its worst, by any path: the truth lies within the bound, and the bound is narrow enough
 * to tell after ten minutes. */
START_TEST(test_truth_is_within_the_bound)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 500; round++) {
        struct other o = {.rng = check_random(&rng)};
        o.offset_ns = (int64_t)(check_random(&rng) >> 10) - (INT64_C(1) << 53);
        o.ppb = (int64_t)check_below(&rng, 100000) - 50000;
        o.way_ns = check_below(&rng, 200 * NS_PER_US);
        o.jitter_ns = check_below(&rng, 2 * NS_PER_MS);
        uint64_t seconds = 5 + check_below(&rng, 900);
        struct drift d = {0};
        run(&d, &o, seconds);
        double error_ppb, ppb = drift_ppb(&d, &error_ppb);
        uint64_t error_ns;
        int64_t change = drift_change(&d, &error_ns);
        double over = (double)(d.last.at_ns - d.first.at_ns);
        /* 32 ms of probes lie before the first point: a drift of 50 ppm moves 2 us in them. */
        ck_assert_double_le(fabs(ppb - (double)o.ppb), error_ppb + 2500e9 / over);
        ck_assert_double_le(fabs((double)change - (double)o.ppb * over / 1e9),
                            (double)error_ns + 2500);
        ck_assert_int_ge(llabs(d.max_ns), llabs(change));
        ck_assert_uint_ge(d.windows, seconds / 31);
        ck_assert_uint_le(d.windows, seconds / 30 + 1);
    }
}
END_TEST

/* A clock that comes back: the last offset says nothing, the farthest one does. */
START_TEST(test_farthest_point)
{
    struct drift d = {0};
    struct other o = {.way_ns = 50 * NS_PER_US, .rng = check_seed()};
    drift_begin(&d, START, 0, 50 * NS_PER_US);
    for (uint64_t s = 1; s <= 300; s++) {
        o.offset_ns = s > 100 && s <= 200 ? 3 * (int64_t)NS_PER_MS : 0;
        ping(&d, &o, START + s * NS_PER_SEC);
    }
    drift_end(&d);
    uint64_t error_ns;
    ck_assert_int_le(llabs(drift_change(&d, &error_ns)), (int64_t)error_ns);
    ck_assert_int_le(llabs(d.max_ns - 3 * (int64_t)NS_PER_MS), (int64_t)d.max_error_ns);
}
END_TEST

START_TEST(test_nothing_known)
{
    struct drift d = {0};
    double error_ppb;
    uint64_t error_ns;
    drift_probe(&d, START, START, START, START); /* before it began */
    drift_end(&d);
    ck_assert_uint_eq(d.windows, 0);
    drift_begin(&d, START, 5, 7);
    drift_probe(&d, START - 1, START, START, START + 1);             /* sent before */
    drift_probe(&d, START + 10, START + 20, START + 90, START + 15); /* cannot be */
    drift_end(&d);
    ck_assert_uint_eq(d.windows, 0);
    ck_assert_int_eq(drift_change(&d, &error_ns), 0);
    ck_assert_uint_eq(error_ns, 0);
    ck_assert_double_eq(drift_ppb(&d, &error_ppb), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("drift");
    TCase *t = tcase_create("drift");
    tcase_add_test(t, test_truth_is_within_the_bound);
    tcase_add_test(t, test_farthest_point);
    tcase_add_test(t, test_nothing_known);
    suite_add_tcase(s, t);
    return check_main(s);
}
