/* SPDX-License-Identifier: MIT */
#include "controller/report/peers.h"

#include <math.h>

#include "common/clock.h"
#include "controller/report/phases.h"
#include "tests/lib/check_main.h"
#include "tests/lib/report_fixture.h"

/* 100 responses of 1 to 100 ms in 10 s by one of the agents, and nothing by the other. */
static void hundred(struct report_fixture *f)
{
    report_fixture(f, 0, 0);
    struct series *s = snapshot_series(f->r->agents[0].total, 0, "");
    for (uint64_t i = 1; i <= 100; i++)
        hist_record(series_hist(s, HIST_UNCORRECTED), i * NS_PER_MS, 1);
    s->counters = (struct counters){.scheduled = 125,
                                    .sent = 125,
                                    .completed = 100,
                                    .ok = 90,
                                    .http_errors = 10,
                                    .timeouts = 25};
    f->plan.duration_ns = f->r->duration_ns = f->r->end_ns = 10 * NS_PER_SEC;
    report_fixture_finish(f);
}

START_TEST(test_figures_of_the_peers)
{
    struct report_fixture f;
    hundred(&f);
    struct peers p = peers_of(f.r);
    ck_assert(p.any);
    ck_assert_double_eq_tol(p.time_per_request, 50.5e6, 1);
    ck_assert_double_eq_tol(p.time_across, 100e6, 1);
    ck_assert_double_eq_tol(p.availability, 0.8, 1e-9);
    ck_assert_double_eq_tol(p.concurrency, 0.505, 1e-9); /* 5.05 s of waiting in 10 s */
    ck_assert_uint_eq(p.longest, 100 * NS_PER_MS);
    ck_assert_uint_eq(p.shortest, NS_PER_MS);
    /* 50.5 +- 28.866: 22 .. 79 ms */
    ck_assert_double_eq_tol(p.latency.stddev, 28.866e6, 0.05e6);
    ck_assert_double_eq_tol(p.latency.within, 0.58, 1e-9);
    ck_assert_uint_eq(p.rate.count, 0);
    result_free(f.r);
}
END_TEST

/* Of whole intervals in which something was sent only. */
START_TEST(test_rates_by_interval)
{
    static const struct result_interval rows[] = {
        {.from_ns = 0, .to_ns = NS_PER_SEC, .sent = 9, .completed = 10},
        {.from_ns = NS_PER_SEC, .to_ns = 2 * NS_PER_SEC, .sent = 9, .completed = 20},
        {.from_ns = 2 * NS_PER_SEC, .to_ns = 4 * NS_PER_SEC, .sent = 9, .completed = 60},
        {.from_ns = 4 * NS_PER_SEC, .to_ns = 4 * NS_PER_SEC + NS_PER_MS, .sent = 9, .completed = 9},
        {.from_ns = 5 * NS_PER_SEC, .to_ns = 6 * NS_PER_SEC, .sent = 0, .completed = 9}};
    struct report_fixture f;
    hundred(&f);
    f.r->n_intervals = sizeof rows / sizeof rows[0];
    for (size_t i = 0; i < f.r->n_intervals; i++)
        f.r->intervals[i] = rows[i];
    struct peers p = peers_of(f.r);
    ck_assert_uint_eq(p.rate.count, 3);
    ck_assert_double_eq_tol(p.rate.mean, 20, 1e-9);
    ck_assert_double_eq_tol(p.rate.stddev, 10, 1e-9);
    ck_assert_double_eq_tol(p.rate.max, 30, 1e-9);
    ck_assert_double_eq_tol(p.rate.within, 1, 1e-9);
    result_free(f.r);
}
END_TEST

START_TEST(test_nothing_completed)
{
    struct report_fixture f;
    report_fixture(&f, 0, 0);
    report_fixture_finish(&f);
    ck_assert(!peers_of(f.r).any);
    result_free(f.r);
}
END_TEST

/* Processing is the whole time where connections are kept; where each request opened its own, what
 * is known of the rest is its mean. */
START_TEST(test_processing)
{
    for (uint64_t own = 0; own < 2; own++) {
        struct report_fixture f;
        hundred(&f);
        struct series *s = snapshot_series(f.r->total, 0, "");
        for (uint64_t i = 1; i <= 100; i++) {
            uint64_t left = i * NS_PER_MS - own * 500 * NS_PER_US;
            hist_record(series_hist(s, HIST_CONNECT), 500 * NS_PER_US, 1);
            hist_record(series_hist(s, HIST_UPLOAD), left / 10, 1);
            hist_record(series_hist(s, HIST_FIRST_BYTE), left - 2 * (left / 10), 1);
            hist_record(series_hist(s, HIST_DOWNLOAD), left / 10, 1);
        }
        struct peers_line lines[PEERS_LINES];
        peers_lines(f.r, lines);
        ck_assert_str_eq(lines[1].name, "Processing");
        ck_assert_int_eq(lines[1].only_mean, own == 1);
        ck_assert_double_eq_tol(lines[1].mean, own == 1 ? 50e6 : 50.5e6, 1e3);
        ck_assert_uint_eq(lines[0].max, 500 * NS_PER_US);
        ck_assert_double_eq_tol(lines[2].mean, 0.8 * lines[1].mean, 1e3);
        ck_assert_uint_eq(lines[3].max, 100 * NS_PER_MS);
        result_free(f.r);
    }
}
END_TEST

/* A request waits in one of the two ways. */
START_TEST(test_queue_is_lag_and_wait)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 500);
    report_fixture_finish(&f);
    struct hist *queue = phases_hist(f.r->total, PHASE_QUEUE);
    struct hist *send = snapshot_hist(f.r->total, HIST_SEND_LAG);
    struct hist *wait = snapshot_hist(f.r->total, HIST_WAIT);
    ck_assert_uint_gt(hist_count(wait), 0);
    ck_assert_int_eq(hist_add(send, wait), ERR_OK);
    ck_assert(hist_equal(queue, send));
    ck_assert(!phases_any(f.r->total)); /* they are there without --latency as well */
    hist_free(queue);
    hist_free(send);
    hist_free(wait);
    result_free(f.r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("peers");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_test(t, test_figures_of_the_peers);
    tcase_add_test(t, test_rates_by_interval);
    tcase_add_test(t, test_nothing_completed);
    tcase_add_test(t, test_processing);
    tcase_add_test(t, test_queue_is_lag_and_wait);
    return check_main(s);
}
