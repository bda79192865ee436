/* SPDX-License-Identifier: MIT */
/* What --dispatch-quantum changes in a run, and what it does not. */
#include <stdio.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

#define ATTEMPTS 3
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RATE     "500" /* slow themselves, and beside other tests */
#define REQUESTS 500
#else
#define RATE     "5000"
#define REQUESTS 5000
#endif

static struct target_process target;

static void start(void)
{
    target_start(&target, NULL);
}

static void stop(void)
{
    target_stop(&target);
}

/* One second at RATE. 0 is the default: the same run without the option. */
static int64_t context_switches(const char *quantum, int64_t quantum_ns)
{
    struct process p;
    const char *args[] = {"run",   "-r",     RATE,       "-d", "1s",
                          "-t",    "1",      "-c",       "20", "--dispatch-quantum",
                          quantum, "--json", target.url, NULL};
    int code = process_run(&p, "hammer-ctl", args, 60000);
    ck_assert_msg(code == 0 || code == 4, "exit code %d: %.500s", code, p.err);
    json_t *r = report_parse(p.out);
    report_check_ledger(r);
    ck_assert_int_eq(report_int(r, "plan.dispatch_quantum_ns"), quantum_ns);
    ck_assert_int_eq(report_int(r, "totals.scheduled"), REQUESTS);
    ck_assert_int_eq(report_int(r, "totals.ok"), REQUESTS);
    if (quantum_ns > 0)
        ck_assert(json_number_value(report_at(r, "agents.0.health.spin_share")) == 0);
    int64_t n = report_int(r, "agents.0.health.context_switches");
    json_decref(r);
    process_end(&p);
    return n;
}

/* Five requests in one wake-up instead of five wake-ups: the measured ratio is 4 to 5, and on a
 * busy machine, where several requests are overdue at each wake-up anyway, less. */
START_TEST(test_everything_is_sent_with_fewer_wake_ups)
{
    int64_t with = 0, without = 0;
    bool fewer = false;
    for (int i = 0; i < ATTEMPTS && !fewer; i++) {
        without = context_switches("0", 0);
        with = context_switches("1ms", 1000000);
        /* A sanitized build shows that everything is sent, beside other tests. */
        fewer = without * 2 >= with * 3 || process_sanitized();
    }
    ck_assert_msg(fewer, "context switches: %lld without, %lld with a quantum", (long long)without,
                  (long long)with);
}
END_TEST

START_TEST(test_the_text_states_it)
{
    struct process p;
    const char *args[] = {"run",   "-r",       "1000", "-n",
                          "100",   "-c",       "10",   "--dispatch-quantum",
                          "250us", target.url, NULL};
    int code = process_run(&p, "hammer-ctl", args, 60000);
    ck_assert_msg(code == 0 || code == 4, "exit code %d: %.500s", code, p.err);
    ck_assert_msg(strstr(p.out, "open loop @ 1000 req/s, dispatch quantum 250us\n") != NULL,
                  "%.500s", p.out);
    process_end(&p);
}
END_TEST

START_TEST(test_one_that_is_too_long_is_refused)
{
    struct process p;
    const char *args[] = {"run", "-r",       "50000", "-c", "50", "--dispatch-quantum",
                          "1ms", target.url, NULL};
    ck_assert_int_eq(process_run(&p, "hammer-ctl", args, 10000), 1);
    ck_assert_msg(strstr(p.err, "--dispatch-quantum 1ms with --rate 50000/s on 50 connections: "
                                "accepted is 0, or 50us to 500us") != NULL,
                  "%s", p.err);
    process_end(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("quantum");
    TCase *t = tcase_create("quantum");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, start, stop);
    tcase_add_test(t, test_everything_is_sent_with_fewer_wake_ups);
    tcase_add_test(t, test_the_text_states_it);
    tcase_add_test(t, test_one_that_is_too_long_is_refused);
    suite_add_tcase(s, t);
    return check_main(s);
}
