/* SPDX-License-Identifier: MIT */
#include "controller/run/condition.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

static struct condition make(const char *text)
{
    struct condition c;
    struct errmsg msg = {{0}};
    ck_assert_msg(condition_parse(text, &c, &msg) == ERR_OK, "%s", msg.text);
    return c;
}

START_TEST(test_what_is_accepted)
{
    static const struct {
        const char *text;
        enum condition_op op;
        enum condition_unit unit;
        uint64_t value, for_ns;
        double percentile;
    } good[] = {
        {"errors>100", CONDITION_ABOVE, CONDITION_NUMBER, 100, 0, 0},
        {"errors<0.1%", CONDITION_BELOW, CONDITION_PERCENT, 1000000, 0, 0},
        {"error-rate>5%", CONDITION_ABOVE, CONDITION_PERCENT, 50000000, 0, 0},
        {"error-rate >= 5% for 3s", CONDITION_AT_LEAST, CONDITION_PERCENT, 50000000, 3 * NS_PER_SEC,
         0},
        {"p99>2s for 10s", CONDITION_ABOVE, CONDITION_TIME, 2 * NS_PER_SEC, 10 * NS_PER_SEC, 99},
        {"p99>2s for 10", CONDITION_ABOVE, CONDITION_TIME, 2 * NS_PER_SEC, 10 * NS_PER_SEC, 99},
        {" p99.99 <=  1500us ", CONDITION_AT_MOST, CONDITION_TIME, 1500000, 0, 99.99},
        {"uncorrected.p50<5ms", CONDITION_BELOW, CONDITION_TIME, 5000000, 0, 50},
        {"corrected.p50<5ms", CONDITION_BELOW, CONDITION_TIME, 5000000, 0, 50},
        {"rate>=99%", CONDITION_AT_LEAST, CONDITION_PERCENT, 990000000, 0, 0},
        {"connect-errors>50", CONDITION_ABOVE, CONDITION_NUMBER, 50, 0, 0},
        {"timeouts>1k", CONDITION_ABOVE, CONDITION_NUMBER, 1000, 0, 0},
        {"http-errors>0", CONDITION_ABOVE, CONDITION_NUMBER, 0, 0, 0},
        {"failed>0", CONDITION_ABOVE, CONDITION_NUMBER, 0, 0, 0},
        {"unsent>0", CONDITION_ABOVE, CONDITION_NUMBER, 0, 0, 0},
        {"status.503>10", CONDITION_ABOVE, CONDITION_NUMBER, 10, 0, 0},
        {"status.5xx>10%", CONDITION_ABOVE, CONDITION_PERCENT, 100000000, 0, 0},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct condition c = make(good[i].text);
        ck_assert_int_eq(c.op, good[i].op);
        ck_assert_int_eq(c.unit, good[i].unit);
        ck_assert_uint_eq(c.value, good[i].value);
        ck_assert_uint_eq(c.for_ns, good[i].for_ns);
        ck_assert(c.percentile == good[i].percentile);
        ck_assert_int_eq(c.uncorrected, strncmp(good[i].text, "un", 2) == 0 && i != 14);
    }
    struct condition c = make("rate<100/m for 1m");
    ck_assert(c.unit == CONDITION_RATE && c.rate.num == 5 && c.rate.den == 3);
    c = make("status.404>1");
    ck_assert(c.status == 404 && c.status_last == 404);
    c = make("status.4xx>1");
    ck_assert(c.status == 400 && c.status_last == 499);
    c = make("stage 12: errors>1");
    ck_assert(c.stage == 12 && c.name[0] == '\0');
    c = make(" GET a:b > c :errors>1");
    ck_assert(c.stage == 0);
    ck_assert_str_eq(c.name, "GET a:b > c");
    ck_assert_str_eq(c.text, "GET a:b > c :errors>1");
}
END_TEST

START_TEST(test_refused)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", ": accepted is METRIC > >= < or <= VALUE such as"},
        {"errors", "errors: accepted is METRIC > >= < or <= VALUE such as"},
        {"errors=5", "errors=5: accepted is METRIC"},
        {">5", ">5: accepted is METRIC"},
        {"p99>", "p99>: accepted is METRIC"},
        {"erors>5", "erors>5: accepted to be measured is one of p50 to p99.99"},
        {"p0>1s", "p0>1s: accepted to be measured is one of p50"},
        {"p100.1>1s", "p100.1>1s: accepted to be measured"},
        {"p99%>1s", "p99%>1s: accepted to be measured"},
        {"uncorrected.errors>1", "uncorrected.errors>1: accepted to be measured"},
        {"corrected.status.500>1", "corrected.status.500>1: accepted to be measured"},
        {"status.600>1", "status.600>1: accepted to be measured"},
        {"status.99>1", "status.99>1: accepted to be measured"},
        {"p99>2", "p99>2: 2: a unit is missing; accepted is a duration such as 500ms"},
        {"p99>5%", "p99>5%: 5%: unknown unit; accepted is a duration"},
        {"errors>1.5", "errors>1.5: 1.5: accepted is a whole number"},
        {"errors>5ms", "errors>5ms: 5ms: accepted is a whole number"},
        {"error-rate>5", "error-rate>5: accepted is a percentage such as 5%"},
        {"error-rate>-1%", "error-rate>-1%: -1%: accepted is a percentage"},
        {"rate<0", "rate<0: 0: accepted is a rate above 0"},
        {"rate>>5", "rate>>5: >5: accepted is a rate"},
        {"errors>100 for 10s", "errors>100 for 10s: a number counts up over the run"},
        {"p99>2s for 0s", "p99>2s for 0s: after \"for\" accepted is a time above 0"},
        {"p99>2s for ever", "p99>2s for ever: ever: accepted is a duration"},
        {":p99>2s", ":p99>2s: before the colon accepted is stage N or"},
        {"login:status.500>1", "login:status.500>1: status codes are counted for the whole run"},
        {"stage 1:connect-errors>1", "stage 1:connect-errors>1: connections are not of one"},
        {"errors>1\n", "errors>1?: control characters are not accepted"},
    };
    struct condition c;
    struct errmsg msg;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_int_ne(condition_parse(bad[i].text, &c, &msg), ERR_OK);
        const char *at = strstr(msg.text, bad[i].says);
        ck_assert_msg(at != NULL && at - msg.text <= 2, "%s", msg.text);
    }
    char longer[CONDITION_TEXT + 1];
    memset(longer, ' ', CONDITION_TEXT);
    longer[CONDITION_TEXT] = '\0';
    ck_assert_int_eq(condition_parse(longer, &c, &msg), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "too long"));
}
END_TEST

START_TEST(test_a_list_is_bounded_and_names_its_flag)
{
    struct condition_list l = {0};
    struct errmsg msg;
    for (int i = 0; i < CONDITIONS_MAX; i++)
        ck_assert_int_eq(condition_list_add(&l, "--abort-on", "errors>1", &msg), ERR_OK);
    ck_assert_int_eq(condition_list_add(&l, "--abort-on", "errors>1", &msg), ERR_RANGE);
    ck_assert_str_eq(msg.text, "--abort-on given too often: accepted are at most 32");
    ck_assert_uint_eq(l.n, CONDITIONS_MAX);
    condition_list_clear(&l);
    ck_assert_int_ne(condition_list_add(&l, "--slo", "nothing", &msg), ERR_OK);
    ck_assert_ptr_nonnull(strstr(msg.text, "--slo nothing: accepted is METRIC"));
    ck_assert_uint_eq(l.n, 0);
}
END_TEST

START_TEST(test_the_plan_must_have_it)
{
    struct plan p;
    struct plan_entry entry = {.name = "login", .url = "http://h/", .weight = 1};
    struct errmsg msg;
    struct condition stage = make("stage 2:p50>1s"), name = make("login:p50>1s");
    struct condition share = make("rate<90%"), rate = make("rate<90");
    plan_defaults(&p);
    ck_assert_int_ne(condition_check(&stage, &p, &msg), ERR_OK);
    ck_assert_ptr_nonnull(strstr(msg.text, "stage 2:p50>1s: there is no stage 2, the run has 0"));
    stage = make("stage 99999:p50>1s");
    ck_assert_int_ne(condition_check(&stage, &p, &msg), ERR_OK);
    ck_assert_ptr_nonnull(strstr(msg.text, "there is no stage 99999, the run has 0"));
    stage = make("stage 2:p50>1s");
    ck_assert_int_ne(condition_check(&name, &p, &msg), ERR_OK);
    ck_assert_ptr_nonnull(strstr(msg.text, "login:p50>1s: there is no request of that name"));
    ck_assert_int_ne(condition_check(&share, &p, &msg), ERR_OK);
    ck_assert_ptr_nonnull(strstr(msg.text, "rate<90%: without a rate there is none"));
    ck_assert_int_eq(condition_check(&rate, &p, &msg), ERR_OK);
    p.n_stages = 2;
    p.rate.num = 5;
    p.entries = &entry;
    p.n_entries = 1;
    ck_assert_int_eq(condition_check(&stage, &p, &msg), ERR_OK);
    ck_assert_int_eq(condition_check(&name, &p, &msg), ERR_OK);
    ck_assert_int_eq(condition_check(&share, &p, &msg), ERR_OK);
    struct condition lasting = make("p99>2s for 10s");
    ck_assert_int_eq(condition_check(&lasting, &p, &msg), ERR_OK);
    p.duration_ns = 10 * NS_PER_SEC;
    ck_assert_int_eq(condition_check(&lasting, &p, &msg), ERR_OK);
    p.duration_ns = 5 * NS_PER_SEC;
    ck_assert_int_ne(condition_check(&lasting, &p, &msg), ERR_OK);
    ck_assert_ptr_nonnull(strstr(msg.text, "p99>2s for 10s: the run is no longer than 5s, it cou"));
    rate = make("stage 1:rate<90");
    ck_assert_int_ne(condition_check(&rate, &p, &msg), ERR_OK);
    ck_assert_ptr_nonnull(strstr(msg.text, "a stage has no rate of its own; accepted is a perc"));
}
END_TEST

/* --- figures --- */

/* 100 due: 80 answered in 1 .. 80 ms (half a ms less from the send), 10 of them 503 and 5 404, 10
 * timeouts, 6 reset, 4 never sent. */
static struct snapshot *figures(void)
{
    struct snapshot *s = snapshot_new();
    struct series *one = snapshot_series(s, 0, "");
    one->counters = (struct counters){.scheduled = 100,
                                      .sent = 96,
                                      .completed = 80,
                                      .ok = 65,
                                      .http_errors = 15,
                                      .unexpected = 12,
                                      .timeouts = 10,
                                      .failed_read = 6,
                                      .unsent_no_connection = 3,
                                      .unsent_dropped = 1,
                                      .connects = 30,
                                      .connect_errors = 8,
                                      .handshake_errors = 2};
    s->status[200] = 65;
    s->status[503] = 10;
    s->status[404] = 5;
    for (uint64_t i = 1; i <= 80; i++) {
        hist_record(series_hist(one, HIST_CORRECTED), i * NS_PER_MS, 1);
        hist_record(series_hist(one, HIST_UNCORRECTED), i * NS_PER_MS - NS_PER_MS / 2, 1);
    }
    return s;
}

static bool holds(const char *text, const struct snapshot *s)
{
    struct condition c = make(text);
    struct condition_figure f;
    return condition_measure(&c, s, 0, 4 * NS_PER_SEC, &f) && condition_holds(&c, &f);
}

static const char *said(const char *text, const struct snapshot *s)
{
    static char buf[CONDITION_SAID];
    struct condition c = make(text);
    struct condition_figure f;
    return condition_measure(&c, s, 0, 4 * NS_PER_SEC, &f) ? condition_say(&c, &f, buf) : "nothing";
}

START_TEST(test_counts_and_shares)
{
    static const struct {
        const char *metric, *number, *less, *share, *said;
    } rows[] = {
        {"errors", "31", "30", "32.3%", "32.29% (31 of 96)"},
        {"http-errors", "15", "14", "15.7%", "15.62% (15 of 96)"},
        {"failed", "6", "5", "6.3%", "6.25% (6 of 96)"},
        {"timeouts", "10", "9", "10.5%", "10.42% (10 of 96)"},
        {"unexpected", "12", "11", "12.6%", "12.5% (12 of 96)"},
        {"connect-errors", "10", "9", "25.1%", "25% (10 of 40)"},
        {"unsent", "4", "3", "4.1%", "4% (4 of 100)"},
        {"status.503", "10", "9", "10.5%", "10.42% (10 of 96)"},
        {"status.5xx", "10", "9", "10.5%", "10.42% (10 of 96)"},
        {"status.4xx", "5", "4", "5.3%", "5.208% (5 of 96)"},
    };
    struct snapshot *s = figures();
    char text[64];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        static const char *const is[] = {">=", "<="}, *const not [] = {">", "<"};
        for (int k = 0; k < 2; k++) {
            snprintf(text, sizeof text, "%s%s%s", rows[i].metric, is[k], rows[i].number);
            ck_assert_msg(holds(text, s), "%s", text);
            ck_assert_str_eq(said(text, s), rows[i].number);
            snprintf(text, sizeof text, "%s%s%s", rows[i].metric, not [k], rows[i].number);
            ck_assert_msg(!holds(text, s), "%s", text);
        }
        snprintf(text, sizeof text, "%s>%s", rows[i].metric, rows[i].less);
        ck_assert_msg(holds(text, s), "%s", text);
        snprintf(text, sizeof text, "%s<%s", rows[i].metric, rows[i].share);
        ck_assert_msg(holds(text, s), "%s", text);
        ck_assert_str_eq(said(text, s), rows[i].said);
    }
    ck_assert(holds("error-rate>32%", s) && !holds("error-rate>32.3%", s));
    ck_assert(holds("failed>=6.25%", s) && holds("failed<=6.25%", s) && !holds("failed>6.25%", s));
    snapshot_free(s);
}
END_TEST

/* No response is infinitely late: of 100 requests the 81st and later have none. */
START_TEST(test_latencies)
{
    struct snapshot *s = figures();
    ck_assert(holds("p50>49ms", s) && holds("p50<51ms", s));
    ck_assert(holds("p80>79ms", s) && holds("p80<81ms", s));
    ck_assert(holds("p81>1h", s) && !holds("p81<1h", s));
    ck_assert(holds("p50>49.8ms", s) && !holds("uncorrected.p50>49.8ms", s));
    ck_assert_str_eq(said("p50>1s", s), "50.00ms");
    ck_assert_str_eq(said("p99>1s", s), "without an end, as 20 of 100 requests got no response");
    /* A closed loop has one clock only. */
    hist_reset(s->series[0].hists[HIST_CORRECTED]);
    hist_free(s->series[0].hists[HIST_CORRECTED]);
    s->series[0].hists[HIST_CORRECTED] = NULL;
    ck_assert(!holds("p50>49.8ms", s) && holds("p50>49ms", s));
    snapshot_free(s);
}
END_TEST

START_TEST(test_rates)
{
    struct snapshot *s = figures(); /* in 4 s */
    ck_assert(holds("rate>=20", s) && holds("rate<=20", s) && !holds("rate>20", s));
    ck_assert(holds("rate<=1200/m", s) && !holds("rate<1200/m", s));
    ck_assert(holds("rate>=80%", s) && !holds("rate>80%", s) && holds("rate<80.0000001%", s));
    ck_assert_str_eq(said("rate>1", s), "20/s");
    ck_assert_str_eq(said("rate>1%", s), "80% (80 of 100)");
    snapshot_free(s);
}
END_TEST

/* Where nothing was due, or nothing ended, there is no latency, no share and no rate. */
START_TEST(test_of_nothing)
{
    static const char *const none[] = {"p99>1ns",   "p99<1h",           "error-rate<5%",
                                       "errors<5%", "rate<1000/s",      "rate<99%",
                                       "unsent<5%", "connect-errors<5%"};
    struct snapshot *s = snapshot_new();
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        ck_assert_msg(!holds(none[i], s), "%s", none[i]);
    ck_assert(holds("errors<1", s) && !holds("errors>0", s));
    snapshot_free(s);
}
END_TEST

START_TEST(test_scopes)
{
    struct snapshot *s = snapshot_new();
    for (uint32_t stage = 0; stage < 2; stage++) {
        for (uint64_t k = 1; k < 3; k++) {
            struct series *one = snapshot_series(s, stage, k == 1 ? "a" : "b");
            one->counters.scheduled = one->counters.completed = 10;
            one->counters.http_errors = k << (4 * stage);
            hist_record(series_hist(one, HIST_CORRECTED), (k + 10 * stage) * NS_PER_SEC, 10);
        }
    }
    struct series *warm_up = snapshot_series(s, SERIES_STAGE_WARMUP, "a");
    warm_up->counters.completed = warm_up->counters.http_errors = 1000;
    hist_record(series_hist(warm_up, HIST_CORRECTED), 60 * NS_PER_SEC, 1000);
    ck_assert_str_eq(said("errors>0", s), "51"); /* 1, 2, 16, 32 */
    ck_assert_str_eq(said("stage 1:errors>0", s), "3");
    ck_assert_str_eq(said("stage 2:errors>0", s), "48");
    ck_assert_str_eq(said("a:errors>0", s), "17");
    ck_assert_str_eq(said("b:errors>0", s), "34");
    ck_assert_str_eq(said("stage 2:p100>1s", s), "12.00s");
    ck_assert_str_eq(said("a:p100>1s", s), "11.00s");
    ck_assert_str_eq(said("a:p50>1s", s), "1.00s");
    ck_assert_str_eq(said("c:p50>1s", s), "nothing");
    snapshot_free(s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("condition");
    TCase *t = tcase_create("condition");
    tcase_add_test(t, test_what_is_accepted);
    tcase_add_test(t, test_refused);
    tcase_add_test(t, test_a_list_is_bounded_and_names_its_flag);
    tcase_add_test(t, test_the_plan_must_have_it);
    tcase_add_test(t, test_counts_and_shares);
    tcase_add_test(t, test_latencies);
    tcase_add_test(t, test_rates);
    tcase_add_test(t, test_of_nothing);
    tcase_add_test(t, test_scopes);
    suite_add_tcase(s, t);
    return check_main(s);
}
