/* SPDX-License-Identifier: MIT */
#include "agent/client/sampling.h"

#include "common/clock.h"
#include "tests/lib/check_main.h"

#define GAP_NS (NS_PER_SEC / SAMPLING_ALL_RATE) /* at the limit itself */

struct stream {
    struct sampling sampling;
    uint64_t now_ns;
};

static void start(struct stream *s, uint64_t now_ns)
{
    sampling_init(&s->sampling);
    s->now_ns = now_ns;
}

/* How many of n reads, `gap_ns` apart, are sampled. */
static uint64_t reads(struct stream *s, uint64_t n, uint64_t gap_ns)
{
    uint64_t sampled = 0;
    for (uint64_t i = 0; i < n; i++) {
        s->now_ns += gap_ns;
        sampled += sampling_next(&s->sampling, s->now_ns);
    }
    return sampled;
}

START_TEST(test_all_up_to_the_limit)
{
    static const uint64_t gaps[] = {GAP_NS, GAP_NS + 1, 2 * GAP_NS, NS_PER_SEC};
    for (size_t i = 0; i < sizeof gaps / sizeof gaps[0]; i++) {
        struct stream s;
        start(&s, 1 + i);
        ck_assert_uint_eq(reads(&s, 10000, gaps[i]), 10000);
    }
}
END_TEST

START_TEST(test_one_in_sixteen_above_it)
{
    static const uint64_t gaps[] = {GAP_NS - 1, GAP_NS / 5, 1, 0};
    for (size_t i = 0; i < sizeof gaps / sizeof gaps[0]; i++) {
        struct stream s;
        start(&s, NS_PER_SEC);
        reads(&s, 2 * SAMPLING_COUNT, gaps[i]); /* it has seen the rate */
        ck_assert_uint_eq(reads(&s, 100 * SAMPLING_EVERY, gaps[i]), 100);
        /* Strides: exactly one of any sixteen in a row, whatever the offset. */
        for (int k = 0; k < 100; k++)
            ck_assert_uint_eq(reads(&s, SAMPLING_EVERY, gaps[i]), 1);
    }
}
END_TEST

/* At the latest after two counts it knows of a change, in both directions. */
START_TEST(test_it_follows_the_rate)
{
    struct stream s;
    start(&s, NS_PER_SEC);
    for (int round = 0; round < 5; round++) {
        reads(&s, 2 * SAMPLING_COUNT, 2 * GAP_NS);
        ck_assert_uint_eq(reads(&s, 1000, 2 * GAP_NS), 1000);
        reads(&s, 2 * SAMPLING_COUNT, GAP_NS / 2);
        ck_assert_uint_eq(reads(&s, 160, GAP_NS / 2), 10);
    }
}
END_TEST

/* Bursts of any shape: it is the count that decides, so the share is kept, and nothing is left
 * unsampled for more than a stride. */
START_TEST(test_bursts_are_not_picked_by_time)
{
    uint64_t rng = check_seed();
    struct stream s;
    start(&s, NS_PER_SEC);
    reads(&s, 2 * SAMPLING_COUNT, 1);
    uint64_t n = 0, sampled = 0, since = 0;
    for (int i = 0; i < 20000; i++, n++) {
        /* 31 at once, then a pause: 20 000 a second on average. */
        s.now_ns += check_below(&rng, 31) == 0 ? 31 * GAP_NS / 2 : 1;
        since++;
        if (sampling_next(&s.sampling, s.now_ns)) {
            sampled++;
            since = 0;
        }
        ck_assert_uint_lt(since, SAMPLING_EVERY);
    }
    ck_assert_uint_ge(sampled, n / SAMPLING_EVERY);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sampling");
    TCase *t = tcase_create("sampling");
    tcase_add_test(t, test_all_up_to_the_limit);
    tcase_add_test(t, test_one_in_sixteen_above_it);
    tcase_add_test(t, test_it_follows_the_rate);
    tcase_add_test(t, test_bursts_are_not_picked_by_time);
    suite_add_tcase(s, t);
    return check_main(s);
}
