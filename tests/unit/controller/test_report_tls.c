/* SPDX-License-Identifier: MIT */
/* What reports say of TLS, and that they say nothing where there was none. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "controller/report/report.h"
#include "controller/run/verdict.h"
#include "tests/lib/check_main.h"
#include "tests/lib/report.h"

static struct plan plan;
static struct result *r;

static void set_up(void)
{
    static char url[] = "https://h/", get[] = "GET";
    plan = (struct plan){.url = url,
                         .method = get,
                         .rate = {1, 1},
                         .duration_ns = NS_PER_SEC,
                         .requests = UINT64_MAX,
                         .interval_ns = NS_PER_SEC};
    r = result_new(1);
    r->plan = &plan;
    struct series *s = snapshot_series(r->total, 0, "");
    s->counters = (struct counters){.scheduled = 1, .sent = 1, .completed = 1, .ok = 1};
    hist_record(series_hist(s, HIST_CORRECTED), 1000, 1);
    hist_record(series_hist(s, HIST_UNCORRECTED), 1000, 1);
}

static void tear_down(void)
{
    result_free(r);
}

static void add_handshakes(void)
{
    struct series *s = snapshot_series(r->total, 0, "");
    s->counters.handshakes = 50;
    s->counters.resumed = 20;
    for (uint64_t i = 1; i <= 50; i++)
        hist_record(series_hist(s, HIST_TLS), i * 100000, 1);
    snapshot_add_suite(r->total, "TLSv1.3 TLS_AES_128_GCM_SHA256", 50);
}

static char *render(const struct report_format *format)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    struct report_options o = {.verbose = false};
    verdict_eval(r);
    ck_assert_int_eq(format->write(r, &o, out), ERR_OK);
    fclose(out);
    return text;
}

static void expect_text(const char *line, bool there)
{
    char *text = render(&report_text);
    ck_assert_msg((strstr(text, line) != NULL) == there, "'%s' in: %s", line, text);
    free(text);
}

START_TEST(test_text)
{
    expect_text("TLS", false);
    expect_text("Receive lag          none\n", true);
    add_handshakes();
    expect_text("  TLS handshakes    50 (20 resumed), p50 2.50ms, p99 5.00ms,\n"
                "                    TLSv1.3 TLS_AES_128_GCM_SHA256\n",
                true);
    expect_text("Receive lag       not known in TLS\n", true);
    struct series *s = snapshot_series(r->total, 0, "");
    s->counters.handshake_errors = 3;
    snapshot_add_suite(r->total, "TLSv1.2 X", 7);
    plan.insecure = true;
    expect_text("50 (20 resumed), failed 3, p50", true);
    expect_text("TLSv1.2 X: 7", true);
    expect_text("TLS_AES_128_GCM_SHA256: 50", true);
    expect_text("certificates not verified (-k)", true);
}
END_TEST

START_TEST(test_json)
{
    char *text = render(&report_json);
    json_t *o = report_parse(text);
    ck_assert(json_is_null(report_at(o, "tls")));
    json_decref(o);
    free(text);
    add_handshakes();
    snapshot_add_suite(r->total, "TLSv1.2 X", 7);
    text = render(&report_json);
    o = report_parse(text);
    ck_assert_int_eq(report_int(o, "tls.handshakes"), 50);
    ck_assert_int_eq(report_int(o, "tls.resumed"), 20);
    ck_assert_int_eq(report_int(o, "tls.failed"), 0);
    ck_assert_int_eq(report_int(o, "tls.handshake.count"), 50);
    ck_assert_int_eq(report_int(o, "tls.handshake.max"), 5000000);
    ck_assert_int_eq(report_int(o, "totals.errors.handshake"), 0);
    ck_assert_str_eq(report_text_at(o, "tls.version"), "TLSv1.3");
    ck_assert_str_eq(report_text_at(o, "tls.cipher"), "TLS_AES_128_GCM_SHA256");
    ck_assert(json_is_true(report_at(o, "tls.verified")));
    ck_assert_int_eq(json_integer_value(json_object_get(report_at(o, "tls.suites"), "TLSv1.2 X")),
                     7);
    json_decref(o);
    free(text);
}
END_TEST

/* No handshake ever succeeded: the reason is in the verdict. */
START_TEST(test_unreachable)
{
    snapshot_free(r->total);
    r->total = snapshot_new();
    struct series *s = snapshot_series(r->total, 0, "");
    s->counters = (struct counters){
        .scheduled = 1, .unsent_no_connection = 1, .handshake_errors = 4, .connect_errors = 1};
    snapshot_add_error(r->total, "tls handshake: certificate verify failed: x", 4);
    snapshot_add_error(r->total, "connect: Connection refused", 1);
    char *text = render(&report_text);
    ck_assert_int_eq(r->verdict.status, STATUS_UNREACHABLE);
    ck_assert_ptr_nonnull(strstr(r->verdict.reasons[0],
                                 "5 attempts failed: tls handshake: certificate verify failed: x"));
    ck_assert_ptr_nonnull(strstr(text, "TLS handshakes    0 (0 resumed), failed 4"));
    free(text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("report_tls");
    TCase *t = tcase_create("report_tls");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, test_text);
    tcase_add_test(t, test_json);
    tcase_add_test(t, test_unreachable);
    suite_add_tcase(s, t);
    return check_main(s);
}
