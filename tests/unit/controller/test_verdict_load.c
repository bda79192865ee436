/* SPDX-License-Identifier: MIT */
/* What a run's verdict makes of requests that were dropped, of its warm-up and of --closed-loop. */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "controller/run/verdict.h"
#include "tests/lib/check_main.h"
#include "tests/lib/report_fixture.h"

#define REQUESTS 3000 /* of the fixture */

static const struct verdict *finish(struct report_fixture *f)
{
    report_fixture_finish(f);
    return &f->r->verdict;
}

/* 1 % is enough. */
START_TEST(test_dropped_requests)
{
    for (uint64_t n = 29; n <= 30; n++) {
        struct report_fixture f;
        report_fixture(&f, REQUESTS, 0);
        struct counters *c = &snapshot_series(f.r->agents[0].total, 0, "")->counters;
        c->unsent_dropped = n;
        c->scheduled += n;
        c = &snapshot_series(f.r->agents[1].total, 0, "")->counters;
        c->scheduled -= n, c->sent -= n, c->completed -= n, c->ok -= n;
        const struct verdict *v = finish(&f);
        ck_assert_int_eq(v->status, n == 30 ? STATUS_SERVER_LIMITED : STATUS_VALID);
        ck_assert_int_eq(v->exit_code, 0);
        ck_assert_uint_eq(v->n_reasons, n == 30);
        if (n == 30)
            ck_assert_str_eq(v->reasons[0],
                             "30 of 3000 requests (1.0 %) were dropped because every "
                             "connection was busy");
        result_free(f.r);
    }
}
END_TEST

/* What is bad of it does not judge the run. */
START_TEST(test_a_limit_in_the_warmup)
{
    struct report_fixture f;
    report_fixture(&f, REQUESTS, 0);
    report_fixture_warmup(&f);
    snapshot_series(f.r->agents[0].warmup, SERIES_STAGE_WARMUP, "")->counters.waited = 250;
    const struct verdict *v = finish(&f);
    ck_assert_int_eq(v->status, STATUS_VALID);
    ck_assert_uint_eq(v->n_reasons, 0);
    result_free(f.r);
}
END_TEST

/* But it belongs to the ledger. */
START_TEST(test_the_ledger_of_the_warmup)
{
    struct report_fixture f;
    report_fixture(&f, REQUESTS, 0);
    report_fixture_warmup(&f);
    snapshot_series(f.r->agents[1].warmup, SERIES_STAGE_WARMUP, "")->counters.sent++;
    const struct verdict *v = finish(&f);
    ck_assert_int_eq(v->status, STATUS_INCOMPLETE);
    ck_assert_msg(strncmp(v->reasons[0], "agent 127.0.0.1:7401: ", 22) == 0, "%s", v->reasons[0]);
    result_free(f.r);
}
END_TEST

/* A target that answered in the warm-up is there: nothing was measured, but it was reached. */
START_TEST(test_only_the_warmup_answered)
{
    struct report_fixture f;
    report_fixture(&f, 0, 0);
    report_fixture_warmup(&f);
    ck_assert_int_eq(finish(&f)->status, STATUS_NO_DATA);
    result_free(f.r);
}
END_TEST

/* A closed loop with -n may use up all of it: the report must not say that nothing was sent. */
START_TEST(test_all_was_due_in_the_warmup)
{
    struct report_fixture f;
    report_fixture(&f, 0, 0);
    report_fixture_warmup(&f);
    for (size_t i = 0; i < f.r->n_agents; i++)
        snapshot_series(f.r->agents[i].total, 0, "")->counters = (struct counters){0};
    const struct verdict *v = finish(&f);
    ck_assert_int_eq(v->status, STATUS_NO_DATA);
    ck_assert_str_eq(v->reasons[0], "all 500 requests were due in the warm-up");
    char *text = report_render(&report_text, f.r, false, false);
    ck_assert_ptr_nonnull(strstr(text, "Warm-up           the first 1s: 500 requests"));
    ck_assert_ptr_nonnull(strstr(text, "Nothing was measured: the run ended within its warm-up."));
    ck_assert_ptr_null(strstr(text, "Nothing was sent"));
    free(text);
    result_free(f.r);
}
END_TEST

/* A bound that is a share of the latency takes the one there is. */
START_TEST(test_lag_bound_from_the_send)
{
    for (uint64_t p50_ms = 4; p50_ms <= 40; p50_ms *= 10) {
        struct report_fixture f;
        report_fixture(&f, REQUESTS, 0);
        report_fixture_from_send(&f);
        for (size_t i = 0; i < f.r->n_intervals; i++) {
            f.r->intervals[i].uncorrected.count = 500;
            f.r->intervals[i].uncorrected.p50 = p50_ms * NS_PER_MS;
            f.r->intervals[i].send_lag_judged = 5 * NS_PER_MS;
        }
        ck_assert_int_eq(finish(&f)->status, p50_ms == 4 ? STATUS_GENERATOR_LIMITED : STATUS_VALID);
        result_free(f.r);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("verdict_load");
    TCase *t = tcase_create("load");
    tcase_add_test(t, test_dropped_requests);
    tcase_add_test(t, test_a_limit_in_the_warmup);
    tcase_add_test(t, test_the_ledger_of_the_warmup);
    tcase_add_test(t, test_only_the_warmup_answered);
    tcase_add_test(t, test_all_was_due_in_the_warmup);
    tcase_add_test(t, test_lag_bound_from_the_send);
    suite_add_tcase(s, t);
    return check_main(s);
}
