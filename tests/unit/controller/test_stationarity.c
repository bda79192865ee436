/* SPDX-License-Identifier: MIT */
#include "controller/run/stationarity.h"

#include <string.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/latency_model.h"

static struct stationarity of_model(size_t seconds, struct latency_model m, struct plan *plan)
{
    uint64_t rng = 7;
    struct latency_run *run = latency_run_new(seconds);
    latency_run_make(run, &m, &rng);
    struct result *r = latency_run_result(run, plan);
    struct stationarity s = stationarity_of(r);
    result_free(r);
    latency_run_free(run);
    return s;
}

START_TEST(a_target_that_gets_slower_is_told)
{
    struct plan plan = {.rate = {LATENCY_MODEL_RATE, 1}};
    struct stationarity s = of_model(30, (struct latency_model){.slower = 2}, &plan);
    char text[STATIONARITY_WARNING];
    ck_assert(s.tested && s.changed && s.ranked);
    ck_assert_uint_eq(s.split_ns, 15 * NS_PER_SEC);
    ck_assert_double_eq_tol(s.p50.ratio, 2, 0.15);
    ck_assert_double_gt(s.rho_p50, 0.5);
    stationarity_say(&s, text);
    ck_assert_msg(strncmp(text, "not stationary: p50 of the second half is 2", 43) == 0, "%s",
                  text);
    ck_assert_ptr_nonnull(strstr(text, "the target degrades, or had not settled yet"));
    s = of_model(30, (struct latency_model){.slower = 0.5}, &plan);
    ck_assert(s.changed);
    ck_assert_ptr_nonnull(strstr(stationarity_say(&s, text), "warming up"));
}
END_TEST

/* What is due at t is answered at 1.5 t: the second half, by due time, is hardly answered at all.
 */
START_TEST(a_queue_that_grows_all_the_time_is_told)
{
    struct plan plan = {.rate = {LATENCY_MODEL_RATE, 1}};
    char text[STATIONARITY_WARNING];
    struct stationarity s = of_model(20, (struct latency_model){.load = 1.5}, &plan);
    ck_assert(s.changed && s.trended && s.trend.large);
    ck_assert_double_gt(s.rho_p50, 0.99);
    ck_assert_double_eq_tol(s.trend.ratio, 3, 0.4);
    ck_assert_msg(strstr(stationarity_say(&s, text), "latency kept rising: ") != NULL, "%s", text);
    s = of_model(7, (struct latency_model){.load = 1.5}, &plan);
    ck_assert(!s.changed && !s.trended);
}
END_TEST

START_TEST(a_target_that_stays_as_it_is_is_not)
{
    struct plan plan = {.rate = {LATENCY_MODEL_RATE, 1}};
    struct stationarity s = of_model(30, latency_models[0], &plan);
    ck_assert(s.tested && !s.changed && s.untested == NULL);
    ck_assert_double_eq_tol(s.p50.ratio, 1, 0.1);
    ck_assert(!s.p50.large && !s.p99.large && s.trended && !s.trend.large);
}
END_TEST

START_TEST(what_cannot_be_compared_is_not)
{
    struct plan plan = {.rate = {LATENCY_MODEL_RATE, 1}, .n_stages = 2};
    plan.stages[0].from = plan.stages[0].to = (struct rate){200, 1};
    plan.stages[1].from = plan.stages[1].to = (struct rate){400, 1};
    struct stationarity s = of_model(30, (struct latency_model){.slower = 2}, &plan);
    ck_assert(!s.tested && !s.changed);
    ck_assert_str_eq(s.untested, "the rate changes on purpose");
    plan.stages[1].from = plan.stages[1].to = (struct rate){400, 2};
    s = of_model(30, (struct latency_model){.slower = 2}, &plan);
    ck_assert(s.tested && s.changed);
    plan.n_stages = 0;
    s = of_model(9, (struct latency_model){.slower = 2}, &plan);
    ck_assert(!s.tested);
    ck_assert_str_eq(s.untested, "the run has too few intervals");
    struct result *r = result_new(0);
    ck_assert(!stationarity_of(r).tested);
    result_free(r);
}
END_TEST

/* A stop of 4 s just before the middle is answered after it: the second half is not to blame. */
START_TEST(late_answers_belong_to_the_half_they_were_due_in)
{
    struct plan plan = {.rate = {100, 1}};
    struct result *r = result_new(0);
    struct hist *h = hist_new_default();
    r->plan = &plan;
    r->blocks = blocks_new();
    r->end_ns = r->duration_ns = 40 * NS_PER_SEC;
    for (uint64_t i = 0; i < 40; i++) {
        hist_reset(h);
        for (uint64_t k = 0; k < 100 && (i < 16 || i > 19); k++)
            hist_record(h, NS_PER_MS, 1);
        for (uint64_t k = 0; k < 400 && i == 20; k++)
            hist_record(h, NS_PER_SEC + k * 10 * NS_PER_MS, 1);
        struct result_interval row = {
            .from_ns = i * NS_PER_SEC, .to_ns = (i + 1) * NS_PER_SEC, .sent = 100, .slots = 1};
        struct merge_view v = {.row = &row, .corrected = h};
        blocks_add(r->blocks, &v);
    }
    struct stationarity s = stationarity_of(r);
    ck_assert(s.tested);
    ck_assert_uint_ge(s.p99.first_ns, 4 * NS_PER_SEC);
    ck_assert_uint_le(s.p99.second_ns, 1001 * NS_PER_US);
    hist_free(h);
    result_free(r);
}
END_TEST

START_TEST(ranks_go_with_time)
{
    const double up[] = {1, 2, 3, 50, 51}, down[] = {5, 4, 3, 2, 1}, same[] = {3, 3, 3, 3};
    const double ties[] = {1, 1, 2, 2};
    ck_assert_double_eq_tol(stationarity_rank_correlation(up, 5), 1, 1e-12);
    ck_assert_double_eq_tol(stationarity_rank_correlation(down, 5), -1, 1e-12);
    ck_assert_double_eq(stationarity_rank_correlation(same, 4), 0);
    ck_assert_double_eq_tol(stationarity_rank_correlation(ties, 4), 0.894427191, 1e-8);
    ck_assert_double_eq(stationarity_rank_correlation(up, 0), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("stationarity");
    TCase *t = tcase_create("stationarity");
    tcase_add_test(t, a_target_that_gets_slower_is_told);
    tcase_add_test(t, a_queue_that_grows_all_the_time_is_told);
    tcase_add_test(t, a_target_that_stays_as_it_is_is_not);
    tcase_add_test(t, what_cannot_be_compared_is_not);
    tcase_add_test(t, late_answers_belong_to_the_half_they_were_due_in);
    tcase_add_test(t, ranks_go_with_time);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
