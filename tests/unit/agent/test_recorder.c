/* SPDX-License-Identifier: MIT */
#include "agent/engine/recorder.h"

#include <errno.h>
#include <string.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"

static struct recorder *r;

static void setup(void)
{
    r = recorder_new(7, series_map_one());
}

static void teardown(void)
{
    recorder_free(r);
}

static struct client_result result(enum outcome o, int status, uint64_t due, uint64_t sent,
                                   uint64_t done)
{
    return (struct client_result){.outcome = o,
                                  .status = status,
                                  .due_ns = due,
                                  .sent_ns = sent,
                                  .done_ns = done,
                                  .receive_ns = UINT64_MAX,
                                  .attempts = 1};
}

START_TEST(test_corrected_counts_from_due)
{
    struct client_result ok = result(OUTCOME_OK, 200, 1000, 1400, 2000);
    ok.receive_ns = 33;
    recorder_result(r, 0, &ok);
    struct part *p = recorder_take(r, true);
    ck_assert_uint_eq(p->rows[0].corrected.min, 1000);
    ck_assert_uint_eq(p->rows[0].uncorrected.min, 600);
    ck_assert_uint_eq(p->hists[HIST_RECEIVE].max, 33);
    ck_assert_uint_eq(p->rows[0].counters.ok, 1);
    ck_assert_uint_eq(p->status[200], 1);
    ck_assert_uint_eq(p->worker, 7);
    ck_assert(p->final);
}
END_TEST

/* Each outcome has exactly one counter; only complete responses make samples. */
START_TEST(test_each_outcome_has_its_counter)
{
    for (int o = OUTCOME_OK; o < OUTCOMES; o++) {
        struct client_result res =
            result((enum outcome)o, o == OUTCOME_OK ? 503 : 0, 100, 200, 500);
        recorder_due(r, 0, 1);
        recorder_sent(r, 0, 100, 200, false);
        recorder_result(r, 0, &res);
    }
    struct part *p = recorder_take(r, true);
    struct errmsg msg = {{0}};
    ck_assert_msg(counters_check(&p->rows[0].counters, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_uint_eq(p->rows[0].counters.http_errors, 1);
    ck_assert_uint_eq(p->rows[0].counters.failed_tls, 1);
    ck_assert_uint_eq(p->rows[0].counters.failed_read, 1);
    ck_assert_uint_eq(p->rows[0].counters.failed_write, 1);
    ck_assert_uint_eq(p->rows[0].counters.failed_protocol, 1);
    ck_assert_uint_eq(p->rows[0].counters.timeouts, 1);
    ck_assert_uint_eq(p->rows[0].counters.unfinished, 1);
    ck_assert_uint_eq(p->rows[0].corrected.total, 1);
    ck_assert_uint_eq(p->rows[0].uncorrected.total, 1);
    ck_assert_uint_eq(p->hists[HIST_RECEIVE].total, 0);
    ck_assert_uint_eq(p->rows[0].counters.failed_connect, 1);
    ck_assert_uint_eq(p->n_errors, 6); /* unfinished is no error of the target */
    ck_assert_uint_eq(p->censored_age_ns, 400);
}
END_TEST

START_TEST(test_wait_and_lag_are_apart)
{
    recorder_sent(r, 0, 0, 5 * NS_PER_MS, true);
    recorder_sent(r, 0, 0, NS_PER_MS, false);
    recorder_sent(r, 0, 0, NS_PER_MS + 1, false);
    struct part *p = recorder_take(r, true);
    ck_assert_uint_eq(p->rows[0].counters.sent, 3);
    ck_assert_uint_eq(p->rows[0].counters.waited, 1);
    ck_assert_uint_eq(p->rows[0].counters.late, 1);
    ck_assert_uint_eq(p->hists[HIST_WAIT].max, 5 * NS_PER_MS);
    ck_assert_uint_eq(p->hists[HIST_SEND_LAG].max, NS_PER_MS + 1);
    ck_assert_uint_eq(p->hists[HIST_SEND_LAG].total, 2);
}
END_TEST

/* Up to the dispatch quantum it was asked for. */
START_TEST(test_late_begins_where_it_is_told)
{
    recorder_late_beyond(r, 2 * NS_PER_MS);
    recorder_sent(r, 0, 0, 2 * NS_PER_MS, false);
    recorder_sent(r, 0, 0, 2 * NS_PER_MS + 1, false);
    struct part *p = recorder_take(r, true);
    ck_assert_uint_eq(p->rows[0].counters.late, 1);
    ck_assert_uint_eq(p->hists[HIST_SEND_LAG].total, 2);
}
END_TEST

START_TEST(test_saturated_is_counted)
{
    struct client_result res = result(OUTCOME_OK, 200, 0, 5, HIST_HIGHEST + 1);
    recorder_result(r, 0, &res);
    struct part *p = recorder_take(r, true);
    ck_assert_uint_eq(p->rows[0].counters.saturated, 1);
    ck_assert_uint_eq(p->rows[0].corrected.max, HIST_HIGHEST);
}
END_TEST

/* Bytes nobody asked for replace a connection: an error text, but nothing of the ledger. */
START_TEST(test_extra_bytes_are_a_text_only)
{
    const struct counters none = {0};
    recorder_fault(r, FAULT_EXTRA_BYTES, 0);
    struct part *p = recorder_take(r, true);
    ck_assert(counters_equal(&p->rows[0].counters, &none));
    ck_assert_uint_eq(p->n_errors, 1);
    recorder_give(r, p);
}
END_TEST

START_TEST(test_faults_and_errors_are_bounded)
{
    for (int code = 1; code <= RECORDER_ERRORS + 8; code++) {
        recorder_fault(r, FAULT_CONNECT, code);
        recorder_fault(r, FAULT_CONNECT, 1);
    }
    recorder_fault(r, FAULT_FD_LIMIT, EMFILE);
    recorder_fault(r, FAULT_PORTS, EADDRNOTAVAIL);
    recorder_fault(r, FAULT_MEMORY, ENOBUFS);
    struct part *p = recorder_take(r, true);
    ck_assert_uint_eq(p->rows[0].counters.connect_errors, 2 * (RECORDER_ERRORS + 8));
    ck_assert_uint_eq(counters_faults(&p->rows[0].counters), 3);
    ck_assert_uint_eq(p->n_errors, RECORDER_ERRORS);
    ck_assert_uint_eq(p->errors[0].count, RECORDER_ERRORS + 9);
    ck_assert_uint_eq(p->errors_other, 8 + 3);
}
END_TEST

/* Faults are about connections: none of them touches the ledger, each has a text. */
START_TEST(test_faults_are_outside_the_ledger)
{
    for (int f = 0; f < FAULTS; f++)
        recorder_fault(r, (enum client_fault)f, ECONNREFUSED);
    struct part *p = recorder_take(r, true);
    ck_assert_uint_eq(p->rows[0].counters.scheduled, 0);
    ck_assert_uint_eq(p->rows[0].counters.connect_errors, 1);
    ck_assert_uint_eq(p->rows[0].counters.handshake_errors, 1);
    ck_assert_uint_eq(counters_faults(&p->rows[0].counters), 3);
    ck_assert_uint_eq(p->n_errors, FAULTS);
    uint64_t counted = 0;
    for (size_t i = 0; i < COUNTERS_N; i++)
        counted += counters_get(&p->rows[0].counters, i);
    ck_assert_uint_eq(counted, 5);
}
END_TEST

/* Handshakes are counted by what they agreed on; more kinds than rows are still handshakes. */
START_TEST(test_handshakes)
{
    static const char *const ciphers[RECORDER_SUITES + 1] = {"A", "B", "C", "D", "E",
                                                             "F", "G", "H", "I"};
    for (size_t i = 0; i <= RECORDER_SUITES; i++)
        for (uint64_t n = 0; n <= i; n++)
            recorder_handshake(r, &(struct conn_handshake){.took_ns = 1000 * (i + 1),
                                                           .resumed = n == 0,
                                                           .version = "TLSv1.3",
                                                           .cipher = ciphers[i]});
    struct part *p = recorder_take(r, false);
    ck_assert_uint_eq(p->rows[0].counters.handshakes, 45);
    ck_assert_uint_eq(p->rows[0].counters.resumed, 9);
    ck_assert_uint_eq(p->hists[HIST_TLS].total, 45);
    ck_assert_uint_eq(p->hists[HIST_TLS].max, 9000);
    ck_assert_uint_eq(p->n_suites, RECORDER_SUITES);
    ck_assert_uint_eq(p->suites[7].count, 8);
    struct snapshot *s = snapshot_new();
    ck_assert_int_eq(part_add_to(p, s), ERR_OK);
    ck_assert_uint_eq(s->n_suites, 8);
    ck_assert_str_eq(s->suites[2].text, "TLSv1.3 C");
    ck_assert_uint_eq(s->suites[2].count, 3);
    ck_assert_uint_eq(hist_count(s->series[0].hists[HIST_TLS]), 45);
    snapshot_free(s);
    recorder_give(r, p);
    for (int i = 0; i < RECORDER_PARTS; i++) {
        p = recorder_take(r, false);
        if (p != NULL)
            ck_assert_uint_eq(p->n_suites, 0);
    }
}
END_TEST

/* The same address is the same row, wherever it is written down. */
START_TEST(test_addresses)
{
    struct target t, again;
    ck_assert_int_eq(target_resolve("127.0.0.1", "80", &t, NULL), ERR_OK);
    again = t;
    recorder_reached(r, &t.addrs[0]);
    recorder_reached(r, &again.addrs[0]);
    for (uint16_t port = 1000; port < 1000 + RECORDER_ADDRESSES; port++) {
        char text[8];
        snprintf(text, sizeof text, "%u", port);
        ck_assert_int_eq(target_resolve("127.0.0.1", text, &t, NULL), ERR_OK);
        recorder_reached(r, &t.addrs[0]);
    }
    struct part *p = recorder_take(r, false);
    struct snapshot *s = snapshot_new();
    ck_assert_int_eq(part_add_to(p, s), ERR_OK);
    ck_assert_uint_eq(s->n_addresses, SNAPSHOT_ADDRESSES_MAX); /* the last one had no row */
    ck_assert_str_eq(s->addresses[0].text, "127.0.0.1:1000");
    ck_assert_str_eq(s->addresses[31].text, "127.0.0.1:80");
    ck_assert_uint_eq(s->addresses[31].count, 2);
    snapshot_free(s);
    recorder_give(r, p);
    recorder_reached(r, &again.addrs[0]);
    p = recorder_take(r, true);
    ck_assert_uint_eq(p->n_addresses, 1);
    ck_assert_uint_eq(p->addresses[0].count, 1);
}
END_TEST

/* Without a spare the current part goes on: nothing is lost. */
START_TEST(test_no_spare_is_coarser_not_lossy)
{
    struct part *out[RECORDER_PARTS];
    uint64_t total = 0;
    for (int i = 0; i < RECORDER_PARTS - 1; i++) {
        recorder_due(r, 0, 1);
        out[i] = recorder_take(r, false);
        ck_assert_ptr_nonnull(out[i]);
        ck_assert(!out[i]->final);
        total += out[i]->rows[0].counters.scheduled;
    }
    recorder_due(r, 0, 1);
    ck_assert_ptr_null(recorder_take(r, false));
    recorder_due(r, 0, 1);
    recorder_give(r, out[0]);
    struct part *p = recorder_take(r, false);
    ck_assert_ptr_nonnull(p);
    total += p->rows[0].counters.scheduled;
    recorder_due(r, 0, 1);
    p = recorder_take(r, true); /* always succeeds */
    ck_assert_ptr_nonnull(p);
    total += p->rows[0].counters.scheduled;
    ck_assert_uint_eq(total, RECORDER_PARTS + 2);
}
END_TEST

START_TEST(test_a_part_comes_home_clean)
{
    struct client_result ok = result(OUTCOME_OK, 204, 10, 20, 30);
    struct client_result lost = result(OUTCOME_READ, 0, 10, 20, 30);
    for (int i = 0; i < 2 * RECORDER_PARTS; i++) {
        recorder_due(r, 0, 2);
        recorder_sent(r, 0, 10, 20, true);
        recorder_sent(r, 0, 10, 20, false);
        recorder_result(r, 0, &ok);
        recorder_result(r, 0, &lost);
        recorder_traffic(
            r, 0,
            &(struct client_traffic){.bytes_in = 1, .bytes_out = 2, .connects = 3, .retries = 4});
        struct part *p = recorder_take(r, false);
        ck_assert_uint_eq(p->rows[0].counters.scheduled, 2);
        ck_assert_uint_eq(p->rows[0].counters.bytes_in, 1);
        ck_assert_uint_eq(p->rows[0].counters.bytes_out, 2);
        ck_assert_uint_eq(p->rows[0].counters.connects, 3);
        ck_assert_uint_eq(p->rows[0].counters.retries, 4);
        ck_assert_uint_eq(p->status[204], 1);
        ck_assert_uint_eq(p->n_errors, 1);
        ck_assert_uint_eq(p->worker, 7);
        ck_assert_uint_eq(p->rows[0].corrected.total, 1);
        ck_assert_uint_eq(p->rows[0].uncorrected.total, 1);
        for (int k = HIST_SEND_LAG; k < HIST_KINDS; k++)
            ck_assert_uint_eq(p->hists[k].total, k < HIST_RECEIVE);
        p->backlog = p->cpu_ns = 99;
        recorder_give(r, p);
    }
    ck_assert_uint_eq(recorder_take(r, true)->backlog, 0);
}
END_TEST

/* A part in a snapshot is the same figures, with the errors as texts. */
START_TEST(test_a_short_burst_is_no_overload)
{
    struct part *p = recorder_take(r, true);
    struct snapshot *s = snapshot_new();
    p->cpu_ns = p->wall_ns = 50 * NS_PER_US;
    ck_assert_int_eq(part_add_to(p, s), ERR_OK);
    ck_assert_uint_le(s->cpu_busy_ppm, 1000);
    p->cpu_ns = p->wall_ns = NS_PER_SEC;
    ck_assert_int_eq(part_add_to(p, s), ERR_OK);
    ck_assert_uint_eq(s->cpu_busy_ppm, 1000000);
    snapshot_free(s);
}
END_TEST

/* A worker that spins has time to give away. */
START_TEST(test_spinning_is_not_busy)
{
    struct part *p = recorder_take(r, true);
    struct snapshot *s = snapshot_new();
    p->cpu_ns = p->wall_ns = NS_PER_SEC;
    p->spin_ns = NS_PER_SEC * 9 / 10;
    p->context_switches = 12;
    p->preemptions = 5;
    ck_assert_int_eq(part_add_to(p, s), ERR_OK);
    ck_assert_int_eq(part_add_to(p, s), ERR_OK);
    ck_assert_uint_eq(s->cpu_busy_ppm, 100000);
    ck_assert_uint_eq(s->cpu_ns, 2 * NS_PER_SEC);
    ck_assert_uint_eq(s->spin_ns, NS_PER_SEC * 18 / 10);
    ck_assert(s->context_switches == 24 && s->preemptions == 10);
    snapshot_free(s);
}
END_TEST

START_TEST(test_part_to_snapshot)
{
    struct client_result ok = result(OUTCOME_OK, 200, 0, 400, 1000);
    struct client_result lost = result(OUTCOME_READ, 0, 0, 400, 2000);
    lost.error = ECONNRESET;
    recorder_due(r, 0, 3);
    recorder_sent(r, 0, 0, 400, false);
    recorder_sent(r, 0, 0, 400, false);
    recorder_result(r, 0, &ok);
    recorder_result(r, 0, &lost);
    recorder_fault(r, FAULT_CONNECT, ECONNREFUSED);
    recorder_unsent_stopped(r, 0, 1, 3000);
    struct part *p = recorder_take(r, true);
    p->from_ns = 1000;
    p->to_ns = 2000;
    p->cpu_ns = NS_PER_SEC / 4;
    p->wall_ns = NS_PER_SEC;
    p->in_flight = 2;
    struct snapshot *s = snapshot_new();
    ck_assert_int_eq(part_add_to(p, s), ERR_OK);
    struct counters c = snapshot_counters(s);
    struct errmsg msg = {{0}};
    ck_assert(counters_equal(&c, &p->rows[0].counters));
    ck_assert_msg(counters_check(&c, &msg) == ERR_OK, "%s", msg.text);
    struct hist *h = snapshot_hist(s, HIST_CORRECTED);
    ck_assert_uint_eq(hist_count(h), 1);
    ck_assert_uint_eq(hist_max(h), 1000);
    hist_free(h);
    ck_assert_uint_eq(s->status[200], 1);
    ck_assert_uint_eq(s->n_errors, 2);
    ck_assert_ptr_nonnull(strstr(s->errors[0].text, "connect: "));
    ck_assert_ptr_nonnull(strstr(s->errors[1].text, "read: "));
    ck_assert_uint_eq(s->cpu_busy_ppm, 250000);
    ck_assert_uint_eq(s->censored_age_ns, 3000);
    ck_assert_uint_eq(s->in_flight, 2);
    ck_assert_uint_eq(s->from_ns, 1000);
    ck_assert_uint_eq(s->to_ns, 2000);
    snapshot_free(s);
}
END_TEST

/* Of the warm-up its own row and nothing else, but for what is no request's. */
START_TEST(test_the_warmup_has_a_row_only)
{
    struct plan plan;
    struct series_map m;
    plan_defaults(&plan);
    plan.warmup_ns = 100;
    ck_assert_int_eq(series_map_init(&m, &plan, NULL, NULL), ERR_OK);
    struct recorder *rec = recorder_new(0, &m);
    struct client_result ok = result(OUTCOME_OK, 200, 10, 30, 60);
    struct client_result lost = result(OUTCOME_READ, 0, 10, 20, NS_PER_SEC);
    ok.receive_ns = ok.handed_ns = 30;
    ok.written_ns = 35;
    ok.first_byte_ns = 50;
    recorder_due(rec, m.warmup, 3);
    recorder_sent(rec, m.warmup, 10, 30, false);
    recorder_sent(rec, m.warmup, 10, 30, true);
    recorder_result(rec, m.warmup, &ok);
    recorder_result(rec, m.warmup, &lost);
    recorder_unsent_dropped(rec, m.warmup, 1, 5);
    recorder_traffic(rec, m.warmup, &(struct client_traffic){.bytes_in = 9, .connects = 2});
    recorder_limit(rec, m.warmup, 7);
    recorder_fault(rec, FAULT_CONNECT, ECONNREFUSED);
    struct part *p = recorder_take(rec, true);
    const struct part_row *warm = &p->rows[m.warmup];
    ck_assert_int_eq(counters_check(&warm->counters, NULL), ERR_OK);
    ck_assert_uint_eq(warm->counters.ok, 1);
    ck_assert_uint_eq(warm->counters.failed_read, 1);
    ck_assert_uint_eq(warm->counters.bytes_in, 9);
    ck_assert_uint_eq(warm->counters.limit_ns, 7);
    ck_assert_uint_eq(warm->corrected.max, 50);
    ck_assert_uint_eq(warm->uncorrected.max, 30);
    const struct counters rest = {.connects = 2, .connect_errors = 1};
    ck_assert(counters_equal(&p->rows[0].counters, &rest));
    for (int k = HIST_SEND_LAG; k < HIST_KINDS; k++)
        ck_assert_uint_eq(p->hists[k].total, 0);
    ck_assert_uint_eq(p->status[200], 0);
    ck_assert_uint_eq(p->censored_age_ns, 0);
    ck_assert_uint_eq(p->n_errors, 1); /* the fault */
    struct snapshot *s = snapshot_new();
    ck_assert_int_eq(part_add_to(p, s), ERR_OK);
    ck_assert_uint_eq(s->n_series, 2);
    ck_assert_uint_eq(s->series[1].stage, SERIES_STAGE_WARMUP);
    ck_assert_uint_eq(hist_max(s->series[1].hists[HIST_CORRECTED]), 50);
    snapshot_free(s);
    recorder_give(rec, p); /* comes home clean */
    p = recorder_take(rec, true);
    ck_assert_uint_eq(p->rows[m.warmup].counters.ok + p->rows[m.warmup].corrected.total, 0);
    recorder_free(rec);
}
END_TEST

/* A row in which nothing happened is no series; the first one always is. */
START_TEST(test_only_rows_with_figures_are_series)
{
    struct plan plan;
    struct series_map m;
    plan_defaults(&plan);
    plan.n_stages = 3;
    ck_assert_int_eq(series_map_init(&m, &plan, NULL, NULL), ERR_OK);
    struct recorder *rec = recorder_new(0, &m);
    recorder_due(rec, 2, 1);
    struct part *p = recorder_take(rec, true);
    struct snapshot *s = snapshot_new();
    ck_assert_int_eq(part_add_to(p, s), ERR_OK);
    ck_assert_uint_eq(s->n_series, 2);
    ck_assert_uint_eq(s->series[0].stage, 0);
    ck_assert_uint_eq(s->series[1].stage, 2);
    snapshot_free(s);
    recorder_free(rec);
}
END_TEST

START_TEST(test_from_the_send)
{
    struct client_result ok = result(OUTCOME_OK, 200, 0, HIST_HIGHEST, HIST_HIGHEST + 5);
    recorder_from_send(r);
    recorder_sent(r, 0, 0, 400, false);
    recorder_result(r, 0, &ok);
    struct part *p = recorder_take(r, true);
    ck_assert_uint_eq(p->rows[0].corrected.total, 0);
    ck_assert_uint_eq(p->rows[0].uncorrected.max, 5);
    ck_assert_uint_eq(p->rows[0].counters.saturated, 0);
    ck_assert_uint_eq(p->hists[HIST_SEND_LAG].max, 400); /* the schedule is kept, or not */
}
END_TEST

/* As much as the client knows: nothing, from the first byte, or all of it. */
START_TEST(test_phases)
{
    struct client_result ok = result(OUTCOME_OK, 200, 0, 100, 200);
    recorder_result(r, 0, &ok);
    ok.first_byte_ns = 190;
    recorder_result(r, 0, &ok);
    ok.handed_ns = 110;
    ok.written_ns = 130;
    recorder_result(r, 0, &ok);
    ok.written_ns = 195; /* the response began before the request was written whole */
    recorder_result(r, 0, &ok);
    recorder_connect(r, 77);
    struct part *p = recorder_take(r, true);
    ck_assert_uint_eq(p->hists[HIST_UPLOAD].total, 2);
    ck_assert_uint_eq(p->hists[HIST_UPLOAD].min, 20);
    ck_assert_uint_eq(p->hists[HIST_UPLOAD].max, 85);
    ck_assert_uint_eq(p->hists[HIST_FIRST_BYTE].min, 0);
    ck_assert_uint_eq(p->hists[HIST_FIRST_BYTE].max, 60);
    ck_assert_uint_eq(p->hists[HIST_DOWNLOAD].total, 3);
    ck_assert_uint_eq(p->hists[HIST_DOWNLOAD].max, 10);
    ck_assert_uint_eq(p->hists[HIST_CONNECT].max, 77);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("recorder");
    TCase *tc = tcase_create("recorder");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_corrected_counts_from_due);
    tcase_add_test(tc, test_each_outcome_has_its_counter);
    tcase_add_test(tc, test_wait_and_lag_are_apart);
    tcase_add_test(tc, test_late_begins_where_it_is_told);
    tcase_add_test(tc, test_saturated_is_counted);
    tcase_add_test(tc, test_extra_bytes_are_a_text_only);
    tcase_add_test(tc, test_faults_and_errors_are_bounded);
    tcase_add_test(tc, test_faults_are_outside_the_ledger);
    tcase_add_test(tc, test_handshakes);
    tcase_add_test(tc, test_addresses);
    tcase_add_test(tc, test_no_spare_is_coarser_not_lossy);
    tcase_add_test(tc, test_a_part_comes_home_clean);
    tcase_add_test(tc, test_a_short_burst_is_no_overload);
    tcase_add_test(tc, test_spinning_is_not_busy);
    tcase_add_test(tc, test_part_to_snapshot);
    tcase_add_test(tc, test_the_warmup_has_a_row_only);
    tcase_add_test(tc, test_only_rows_with_figures_are_series);
    tcase_add_test(tc, test_from_the_send);
    tcase_add_test(tc, test_phases);
    suite_add_tcase(s, tc);
    return check_main(s);
}
