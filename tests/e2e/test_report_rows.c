/* SPDX-License-Identifier: MIT */
/* What the report has apart: stages, the warm-up, the clock from the send, where the time goes. */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

#define STAGES "1s@100,1s@200"
#define WARMUP "500ms" /* 50 requests of the first stage */

static struct target_process target;

static void setup(void)
{
    target_start(&target, NULL);
}

static void teardown(void)
{
    target_stop(&target);
}

static json_t *run(struct process *p, const char *const flags[])
{
    const char *args[32] = {"run", "--local", "2", "-c", "20", target.url, "--json"};
    size_t n = 7;
    for (size_t i = 0; flags[i] != NULL; i++)
        args[n++] = flags[i];
    process_start(p, "hammer-ctl", args);
    return report_wait(p, 0, 4, 30000);
}

/* Of all rows together. */
static int64_t sum(json_t *r, const char *rows, const char *what)
{
    json_t *all = report_at(r, rows);
    int64_t n = 0;
    for (size_t i = 0; i < json_array_size(all); i++)
        n += report_int(json_array_get(all, i), what);
    return n;
}

START_TEST(test_stages_and_the_warmup)
{
    struct process p;
    const char *flags[] = {"--stages", STAGES, "--warmup", WARMUP, "--latency", NULL};
    json_t *r = run(&p, flags);
    ck_assert_int_eq(report_int(r, "totals.scheduled"), 250);
    ck_assert_int_eq(report_int(r, "warmup.totals.scheduled"), 50);
    ck_assert_int_eq(report_int(r, "stages.0.totals.scheduled"), 50);
    ck_assert_int_eq(report_int(r, "stages.1.totals.scheduled"), 200);
    ck_assert_int_eq(sum(r, "stages", "totals.ok"), report_int(r, "totals.ok"));
    ck_assert_int_eq(sum(r, "stages", "latency.corrected.count"),
                     report_int(r, "latency.corrected.count"));
    ck_assert_int_eq(report_int(r, "status_codes.200"), report_int(r, "totals.ok"));
    ck_assert_int_eq(sum(r, "timeline", "completed"), report_int(r, "totals.completed"));
    ck_assert_int_eq(sum(r, "agents.0.stages", "requests") + sum(r, "agents.1.stages", "requests"),
                     250);
    ck_assert_int_eq(report_int(r, "phases.first_byte.count"), report_int(r, "totals.ok"));
    ck_assert_int_ge(report_int(r, "phases.connect.count"), 20);
    ck_assert_str_eq(report_text_at(r, "plan.options.warmup"), WARMUP);
    ck_assert_str_eq(report_text_at(r, "plan.options.stages"), STAGES);
    json_decref(r);
    process_end(&p);
}
END_TEST

START_TEST(test_the_clock_from_the_send)
{
    struct process p;
    const char *flags[] = {"-r", "200", "-d", "1", "--closed-loop", NULL};
    json_t *r = run(&p, flags);
    ck_assert_int_eq(report_int(r, "totals.scheduled"), 200);
    ck_assert_str_eq(report_text_at(r, "plan.stopwatch"), "send");
    ck_assert_str_eq(report_text_at(r, "plan.loop"), "open");
    ck_assert_int_eq(report_int(r, "latency.all_due.count"), 200);
    ck_assert(json_is_null(report_at(r, "phases")));
    json_decref(r);
    process_end(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("report_rows");
    TCase *t = tcase_create("report_rows");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_stages_and_the_warmup);
    tcase_add_test(t, test_the_clock_from_the_send);
    suite_add_tcase(s, t);
    return check_main(s);
}
