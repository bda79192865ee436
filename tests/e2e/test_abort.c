/* SPDX-License-Identifier: MIT */
/* --abort-on and --max-connect-failures: the run is stopped once it is so, all agents of it, and
 * the report says why. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

static struct target_process target;

static void teardown(void)
{
    if (target.process.pid != 0)
        target_stop(&target);
    memset(&target, 0, sizeof target);
}

/* 300/s for a minute on three agents, were it not for the condition. A busy machine may make it
 * generator-limited, which comes before aborted. */
static json_t *run(const char *condition, uint64_t *took_ns)
{
    struct process p;
    uint64_t from_ns = clock_mono_ns();
    const char *args[] = {"run", "--local", "3",          "-r",         "300",      "-d",
                          "60",  "-c",      "12",         "--interval", "200ms",    "--json",
                          "-T",  "1000ms",  "--abort-on", condition,    target.url, NULL};
    process_start(&p, "hammer-ctl", args);
    json_t *r = report_wait(&p, 99, 4, 60000);
    *took_ns = clock_mono_ns() - from_ns;
    bool noted = strstr(p.err, "; stopping the run") != NULL;
    ck_assert_msg(noted, "%.300s", p.err);
    process_end(&p);
    return r;
}

static void check_reason(json_t *r, const char *text)
{
    json_t *reasons = report_at(r, "verdict.reasons"), *one;
    size_t i;
    bool found = false;
    json_array_foreach(reasons, i, one) found =
        found || strstr(json_string_value(one), text) != NULL;
    ck_assert_msg(found, "%s", json_dumps(reasons, 0));
    if (report_int(r, "verdict.exit_code") == 99)
        ck_assert_str_eq(report_text_at(r, "verdict.status"), "aborted");
    for (int k = 0; k < 3; k++) {
        char state[] = "agents.0.state";
        state[7] = (char)('0' + k);
        ck_assert_str_eq(report_text_at(r, state), "stopped");
    }
}

START_TEST(test_errors)
{
    uint64_t took_ns;
    const char *args[] = {"--status", "10%:503", NULL};
    target_start(&target, args);
    json_t *r = run("errors>20", &took_ns);
    check_reason(r, "errors>20 was met ");
    ck_assert_int_gt(report_int(r, "totals.http_errors"), 20);
    ck_assert_int_lt(report_int(r, "totals.scheduled"), 300 * 30);
    ck_assert_str_eq(report_text_at(r, "plan.abort_on.0"), "errors>20");
    ck_assert_uint_lt(took_ns, 40 * NS_PER_SEC);
    json_decref(r);
}
END_TEST

START_TEST(test_latency_for_a_time)
{
    uint64_t took_ns;
    const char *args[] = {"--delay", "80ms", NULL};
    target_start(&target, args);
    json_t *r = run("p50>60ms for 1s", &took_ns);
    check_reason(r, "p50>60ms for 1s was met ");
    ck_assert_int_ge(report_int(r, "run.duration_ns"), (int64_t)NS_PER_SEC);
    ck_assert_int_lt(report_int(r, "run.duration_ns"), 30 * (int64_t)NS_PER_SEC);
    json_decref(r);
}
END_TEST

/* The condition that does not come true ends nothing. */
START_TEST(test_it_is_not_met)
{
    struct process p;
    target_start(&target, NULL);
    const char *args[] = {"run",
                          "-r",
                          "100",
                          "-n",
                          "100",
                          "-c",
                          "4",
                          "--json",
                          "--abort-on",
                          "errors>0",
                          "--max-connect-failures=0",
                          "--interval",
                          "200ms",
                          target.url,
                          NULL};
    process_start(&p, "hammer-ctl", args);
    json_t *r = report_wait(&p, 0, 4, 60000);
    ck_assert_int_eq(report_int(r, "totals.ok"), 100);
    ck_assert_str_eq(report_text_at(r, "plan.abort_on.1"), "connect-errors>0");
    json_decref(r);
    process_end(&p);
}
END_TEST

/* The target goes away in the middle: every attempt to connect fails from then on. */
START_TEST(test_the_target_dies)
{
    struct process p;
    char at[] = "30";
    target_start(&target, NULL);
    const char *args[] = {"run",
                          "--local",
                          "2",
                          "-r",
                          "200",
                          "-d",
                          "60",
                          "-c",
                          "4",
                          "--json",
                          "--interval",
                          "200ms",
                          "--max-connect-failures",
                          at,
                          target.url,
                          NULL};
    process_start(&p, "hammer-ctl", args);
    uint64_t until_ns = clock_mono_ns() + 30 * NS_PER_SEC;
    while (target_logged(&target) < 100)
        ck_assert(clock_mono_ns() < until_ns && process_alive(&p));
    process_signal(&target.process, SIGKILL);
    json_t *r = report_wait(&p, 99, 4, 60000);
    ck_assert_int_gt(report_int(r, "totals.errors.connect"), 30);
    ck_assert_int_lt(report_int(r, "run.duration_ns"), 40 * (int64_t)NS_PER_SEC);
    ck_assert_msg(strstr(p.err, "connect-errors>30 was met ") != NULL, "%.300s", p.err);
    json_decref(r);
    process_end(&p);
}
END_TEST

/* Nothing ever opened: nothing was sent, exit 2 comes before the condition. */
START_TEST(test_a_dead_port)
{
    struct process p;
    const char *args[] = {"run", "-r",
                          "100", "-d",
                          "60",  "-c",
                          "4",   "--max-connect-failures",
                          "0",   "http://127.0.0.1:1/",
                          NULL};
    ck_assert_int_eq(process_run(&p, "hammer-ctl", args, 30000), 2);
    ck_assert_ptr_nonnull(strstr(p.out, "no connection to the target ever opened"));
    process_end(&p);
}
END_TEST

START_TEST(test_the_text_says_why)
{
    struct process p;
    const char *args[] = {"--status", "404", NULL};
    target_start(&target, args);
    const char *ctl[] = {"run",
                         "-r",
                         "200",
                         "-d",
                         "60",
                         "-c",
                         "4",
                         "--interval",
                         "200ms",
                         "--abort-on",
                         "error-rate>50%",
                         "--abort-on",
                         "p99>10s",
                         target.url,
                         NULL};
    int code = process_run(&p, "hammer-ctl", ctl, 60000);
    ck_assert_msg(code == 99 || code == 4, "%d: %.500s", code, p.err);
    ck_assert_msg(strstr(p.out, "  Abort on          error-rate>50%, p99>10s\n") != NULL, "%.500s",
                  p.out);
    ck_assert_msg(strstr(p.out, "- error-rate>50% was met ") != NULL, "%.1500s", p.out);
    ck_assert(code == 4 || strstr(p.out, "Verdict           aborted (exit code 99)") != NULL);
    process_end(&p);
}
END_TEST

START_TEST(test_refused)
{
    static const char *const rows[][3] = {
        {"--abort-on", "erors>5", "hammer-ctl: --abort-on erors>5: accepted to be measured is one"},
        {"--abort-on", "stage 2:errors>5", "hammer-ctl: --abort-on stage 2:errors>5: there is no"},
        {"--max-connect-failures", "-1", "hammer-ctl: --max-connect-failures -1: accepted is"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct process p;
        const char *args[] = {"run", rows[i][0], rows[i][1], "http://127.0.0.1:1/", NULL};
        ck_assert_int_eq(process_run(&p, "hammer-ctl", args, 30000), 1);
        ck_assert_msg(strncmp(p.err, rows[i][2], strlen(rows[i][2])) == 0, "%.300s", p.err);
        process_end(&p);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("abort");
    TCase *t = tcase_create("abort");
    tcase_add_checked_fixture(t, NULL, teardown);
    tcase_set_timeout(t, 240);
    tcase_add_test(t, test_errors);
    tcase_add_test(t, test_latency_for_a_time);
    tcase_add_test(t, test_it_is_not_met);
    tcase_add_test(t, test_the_target_dies);
    tcase_add_test(t, test_a_dead_port);
    tcase_add_test(t, test_the_text_says_why);
    tcase_add_test(t, test_refused);
    suite_add_tcase(s, t);
    return check_main(s);
}
