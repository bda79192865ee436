/* SPDX-License-Identifier: MIT */
/* An agent dies in the middle of a run: what is missing is named to the last request. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

#define AGENTS 3
#define RATE   300
#define TOTAL  (RATE * 8)

static struct target_process target;
static struct agent_process agents[AGENTS];
static char agent_list[256];

static void start(void)
{
    target_start(&target, NULL);
    agents_start(agents, AGENTS, agent_list, sizeof agent_list);
}

static void stop(void)
{
    for (size_t i = 0; i < AGENTS; i++)
        agent_stop(&agents[i]);
    target_stop(&target);
}

/* The target flushes its log once a second. */
static void wait_requests(struct process *ctl, size_t n)
{
    uint64_t until = clock_mono_ns() + 30 * NS_PER_SEC;
    while (target_logged(&target) < n) {
        ck_assert_msg(clock_mono_ns() < until && process_alive(ctl), "the run ended");
        nanosleep(&(struct timespec){0, 20000000}, NULL);
    }
}

/* The second agent is killed a second or two after the start. */
static json_t *run_with_a_death(const char *on_loss)
{
    struct process p;
    const char *args[] = {"run",
                          "--agents",
                          agent_list,
                          "-r",
                          "300",
                          "-d",
                          "8",
                          "-c",
                          "9",
                          "--lease",
                          "3",
                          "--json",
                          "--on-agent-loss",
                          on_loss,
                          "--interval",
                          "500ms",
                          target.url,
                          NULL};
    process_start(&p, "hammer-ctl", args);
    wait_requests(&p, RATE);
    process_signal(&agents[1].process, SIGKILL);
    int code = process_wait(&p, 40000);
    printf("%s", code == 3 ? "" : p.err);
    ck_assert_msg(code == 3, "exit code %d", code);
    json_t *r = report_parse(p.out);
    process_end(&p);
    return r;
}

static void check_lost(json_t *r)
{
    ck_assert_str_eq(report_text_at(r, "verdict.status"), "incomplete");
    ck_assert_str_eq(report_text_at(r, "agents.1.state"), "lost");
    ck_assert(json_is_null(report_at(r, "agents.0.loss")));
    ck_assert(json_is_true(report_at(r, "agents.0.checked")));
    ck_assert(json_is_true(report_at(r, "agents.2.checked")));
    ck_assert(json_is_false(report_at(r, "agents.1.loss.collected")));
    int64_t scheduled = report_int(r, "agents.1.loss.scheduled");
    ck_assert_int_eq(scheduled, report_int(r, "agents.1.totals.scheduled"));
    ck_assert_int_gt(scheduled, 0);
    /* The agent's own are 1, 4, 7 and so on: one worker or many, all until the interval's end. */
    ck_assert_int_eq(report_int(r, "agents.1.loss.first_index"), 3 * scheduled + 1);
    ck_assert_int_eq(scheduled * 3 * (int64_t)NS_PER_SEC / RATE,
                     report_int(r, "agents.1.loss.last_to_ns"));
    ck_assert_int_gt(report_int(r, "agents.1.loss.at_ns"),
                     report_int(r, "agents.1.loss.last_to_ns"));
}

START_TEST(test_the_others_go_on)
{
    start();
    json_t *r = run_with_a_death("continue");
    check_lost(r);
    int64_t scheduled = report_int(r, "agents.1.loss.scheduled");
    ck_assert_int_eq(report_int(r, "agents.0.totals.scheduled"), TOTAL / 3);
    ck_assert_int_eq(report_int(r, "agents.1.loss.count"), TOTAL / 3 - scheduled);
    ck_assert_int_eq(report_int(r, "totals.missing"), TOTAL / 3 - scheduled);
    ck_assert_int_eq(report_int(r, "agents.1.loss.last_index"), TOTAL - 2);
    ck_assert(json_is_null(report_at(r, "agents.1.loss.taken_over_from")));
    ck_assert_int_eq(report_int(r, "timeline.0.agents_lost"), 0);
    ck_assert_int_eq(report_int(r, "timeline.15.agents_lost"), 1);
    ck_assert_int_eq(report_int(r, "timeline.15.agents_reporting"), 2);
    json_decref(r);
    stop();
}
END_TEST

START_TEST(test_the_others_take_over)
{
    start();
    json_t *r = run_with_a_death("redistribute");
    check_lost(r);
    int64_t from = report_int(r, "agents.1.loss.taken_over_from");
    int64_t scheduled = report_int(r, "agents.1.loss.scheduled");
    int64_t count = report_int(r, "agents.1.loss.count");
    ck_assert_int_eq(count, (from + 1) / 3 - scheduled);
    ck_assert_int_eq(report_int(r, "totals.missing"), count);
    ck_assert_int_eq(report_int(r, "totals.scheduled") + count, TOTAL);
    ck_assert_int_lt(report_int(r, "agents.1.loss.last_index"), from);
    json_decref(r);
    stop();
}
END_TEST

/* Frozen for longer than its lease, then asked for what it did: the figures are exact. */
START_TEST(test_what_it_did_is_collected)
{
    struct process p;
    start();
    const char *args[] = {
        "run",          "--agents", agent_list,   "-r",      "300",      "-d",
        "11",           "-c",       "9",          "--lease", "3",        "--json",
        "-t",           "1",        "--interval", "500ms",   target.url, "--on-agent-loss",
        "redistribute", NULL};
    process_start(&p, "hammer-ctl", args);
    wait_requests(&p, RATE);
    process_signal(&agents[1].process, SIGSTOP);
    nanosleep(&(struct timespec){6, 0}, NULL);
    process_signal(&agents[1].process, SIGCONT);
    ck_assert_int_eq(process_wait(&p, 40000), 3);
    json_t *r = report_parse(p.out);
    report_check_ledger(r);
    ck_assert_str_eq(report_text_at(r, "agents.1.state"), "lost");
    ck_assert(json_is_true(report_at(r, "agents.1.loss.collected")));
    ck_assert(json_is_true(report_at(r, "agents.1.checked")));
    ck_assert_int_eq(report_int(r, "agents.1.loss.open"), 0);
    int64_t overlap = report_int(r, "agents.1.loss.overlap");
    int64_t count = report_int(r, "agents.1.loss.count");
    ck_assert_int_eq(report_int(r, "totals.scheduled") - overlap + count, 11 * RATE);
    ck_assert_int_eq(report_int(r, "totals.missing"), count);
    /* What it counted after its lease it has not sent. */
    ck_assert_int_le(overlap, report_int(r, "agents.1.totals.unsent"));
    json_decref(r);
    process_end(&p);
    stop();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("loss");
    TCase *t = tcase_create("loss");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_the_others_go_on);
    tcase_add_test(t, test_the_others_take_over);
    tcase_add_test(t, test_what_it_did_is_collected);
    suite_add_tcase(s, t);
    return check_main(s);
}
