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

/* What is only the warm-up's is in no row; a row that has more stays whole. */
START_TEST(test_the_timeline_begins_after_the_warmup)
{
    for (uint64_t warmup_s = 0; warmup_s < 4; warmup_s++) {
        struct plan plan = {.rate = {200, 1},
                            .duration_ns = INTERVALS * NS_PER_SEC,
                            .warmup_ns = warmup_s * NS_PER_SEC + NS_PER_SEC / 2,
                            .requests = UINT64_MAX};
        struct result *r = result_new(1);
        r->plan = &plan;
        r->n_intervals = INTERVALS;
        r->intervals = mem_calloc(INTERVALS, sizeof *r->intervals);
        r->n_stalls = 2;
        r->stalls = mem_calloc(2, sizeof *r->stalls);
        r->stalls[0] = (struct stall){.begin_ns = 1, .length_ns = NS_PER_SEC / 4};
        r->stalls[1] = (struct stall){.begin_ns = 2, .length_ns = 5 * NS_PER_SEC};
        for (size_t k = 0; k < INTERVALS; k++)
            r->intervals[k] = (struct result_interval){
                .from_ns = k * NS_PER_SEC, .to_ns = (k + 1) * NS_PER_SEC, .agents_reporting = 1};
        result_settle(r);
        ck_assert_uint_eq(r->n_intervals, INTERVALS - warmup_s);
        ck_assert_uint_eq(r->intervals[0].from_ns, warmup_s * NS_PER_SEC);
        ck_assert_uint_eq(r->n_stalls, 1);
        ck_assert_uint_eq(r->stalls[0].begin_ns, 2);
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
    tcase_add_test(t, test_the_timeline_begins_after_the_warmup);
    return check_main(s);
}
