/* SPDX-License-Identifier: MIT */
#include "controller/run/clock_estimate.h"

#include "tests/lib/check_main.h"

/* Whatever the delays: the truth is within the error bound, and a shorter round trip never widens
 * it. */
START_TEST(test_truth_is_within_the_bound)
{
    uint64_t rng = check_seed();
    for (int turn = 0; turn < 2000; turn++) {
        struct clock_estimate e = {0};
        int64_t offset = (int64_t)(check_random(&rng) >> 2) - (INT64_C(1) << 61);
        uint64_t before = UINT64_MAX, base = UINT64_C(1) << 62;
        for (uint64_t i = 0; i < 20; i++) {
            uint64_t t1 = base + i * 1000000, there = check_below(&rng, 100000),
                     inside = check_below(&rng, 5000), back = check_below(&rng, 100000);
            uint64_t t2 = t1 + there + (uint64_t)offset, t4 = t1 + there + inside + back;
            ck_assert(clock_estimate_add(&e, t1, t2, t2 + inside, t4));
            int64_t wrong = e.offset_ns - offset;
            uint64_t error = clock_estimate_error(&e);
            ck_assert_uint_le(wrong < 0 ? (uint64_t)-wrong : (uint64_t)wrong, error + 1);
            ck_assert_uint_le(error, before);
            before = error;
        }
        ck_assert_uint_eq(e.good, 20);
    }
}
END_TEST

START_TEST(test_contradictions_do_not_count)
{
    struct clock_estimate e = {0};
    ck_assert(!clock_estimate_add(&e, 10, 5, 6, 9));   /* answered before it was sent */
    ck_assert(!clock_estimate_add(&e, 10, 6, 5, 20));  /* sent before it was received */
    ck_assert(!clock_estimate_add(&e, 10, 5, 25, 20)); /* longer inside than away */
    ck_assert_uint_eq(e.good, 0);
    ck_assert(clock_estimate_add(&e, 10, 110, 110, 10));
    ck_assert_int_eq(e.offset_ns, 100);
    ck_assert_uint_eq(clock_estimate_error(&e), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("clock_estimate");
    TCase *t = tcase_create("clock_estimate");
    tcase_add_test(t, test_truth_is_within_the_bound);
    tcase_add_test(t, test_contradictions_do_not_count);
    suite_add_tcase(s, t);
    return check_main(s);
}
