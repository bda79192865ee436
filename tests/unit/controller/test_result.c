/* SPDX-License-Identifier: MIT */
#include "controller/run/result.h"

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

#define INTERVALS 10

/* An agent that is waited for beyond the plan's end adds no intervals to the run. */
START_TEST(test_the_timeline_ends_with_the_run)
{
    static const struct {
        uint64_t duration_s;
        size_t reported, left; /* intervals */
    } cases[] = {{10, 10, 10}, {7, 7, 7}, {7, 9, 9}, {7, 3, 7}, {20, 3, 10}, {7, 0, 7}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan plan = {.rate = {200, 1},
                            .duration_ns = cases[i].duration_s * NS_PER_SEC,
                            .requests = UINT64_MAX};
        struct result *r = result_new(1);
        r->plan = &plan;
        r->n_intervals = INTERVALS;
        r->intervals = mem_calloc(INTERVALS, sizeof *r->intervals);
        for (size_t k = 0; k < INTERVALS; k++) {
            r->intervals[k].from_ns = k * NS_PER_SEC;
            r->intervals[k].to_ns = (k + 1) * NS_PER_SEC;
            r->intervals[k].agents_reporting = k < cases[i].reported;
        }
        result_settle(r);
        ck_assert_msg(r->n_intervals == cases[i].left, "case %zu: %zu", i, r->n_intervals);
        result_free(r);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("result");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_test(t, test_the_timeline_ends_with_the_run);
    return check_main(s);
}
