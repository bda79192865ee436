/* SPDX-License-Identifier: MIT */
/* --slo: real runs against a server that answers after 20 ms, or with errors. A closed loop, so
 * that a busy machine cannot make it generator-limited, which comes before the objectives. */
#include <jansson.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

static struct target_process target;

static void stop(void)
{
    if (target.process.pid > 0)
        target_stop(&target);
    memset(&target, 0, sizeof target);
}

static json_t *run(const char *first, const char *second, int want)
{
    struct process p;
    const char *args[] = {"run",    "--local", "2",   "-n",    "200",  "-c",       "8", "-q",
                          "--json", "--slo",   first, "--slo", second, target.url, NULL};
    int code = process_run(&p, "hammer-ctl", args, 60000);
    ck_assert_msg(code == want, "exit code %d, not %d: %.400s", code, want, p.err);
    json_t *r = report_parse(p.out);
    process_end(&p);
    return r;
}

START_TEST(test_held)
{
    const char *args[] = {"--delay", "20ms", NULL};
    target_start(&target, args);
    json_t *r = run("p50>=20ms", "errors<0.1%", 0);
    ck_assert(json_is_true(report_at(r, "slo.0.held")) && json_is_true(report_at(r, "slo.1.held")));
    ck_assert_str_eq(report_text_at(r, "slo.0.objective"), "p50>=20ms");
    json_decref(r);
}
END_TEST

START_TEST(test_too_slow)
{
    const char *args[] = {"--delay", "20ms", NULL};
    target_start(&target, args);
    json_t *r = run("p50<20ms", "errors<0.1%", 99);
    ck_assert_str_eq(report_text_at(r, "verdict.status"), "slo-failed");
    ck_assert(json_is_false(report_at(r, "slo.0.held")) &&
              json_is_true(report_at(r, "slo.1.held")));
    json_decref(r);
}
END_TEST

START_TEST(test_errors)
{
    const char *args[] = {"--status", "10%:503", NULL};
    target_start(&target, args);
    json_t *r = run("p50<1h", "status.503<5%", 99);
    ck_assert(json_is_true(report_at(r, "slo.0.held")) &&
              json_is_false(report_at(r, "slo.1.held")));
    json_decref(r);
}
END_TEST

static const struct {
    const char *slo, *says;
} bad[] = {
    {"p99<fast", "hammer-ctl: --slo p99<fast: "},
    {"p99<1s for 10s", "hammer-ctl: --slo p99<1s for 10s: 'for' is for --abort-on"},
    {"nobody: p99<1s", "hammer-ctl: --slo nobody: p99<1s: "},
};

START_TEST(test_refused)
{
    struct process p;
    const char *args[] = {"run", "-n", "1", "--slo", bad[_i].slo, "http://127.0.0.1:1/", NULL};
    int code = process_run(&p, "hammer-ctl", args, 20000);
    ck_assert_msg(code == 1, "exit code %d: %s", code, p.err);
    ck_assert_msg(strstr(p.err, bad[_i].says) != NULL, "%s", p.err);
    process_end(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("slo");
    TCase *t = tcase_create("slo");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, NULL, stop);
    tcase_add_test(t, test_held);
    tcase_add_test(t, test_too_slow);
    tcase_add_test(t, test_errors);
    tcase_add_loop_test(t, test_refused, 0, (int)(sizeof bad / sizeof bad[0]));
    suite_add_tcase(s, t);
    return check_main(s);
}
