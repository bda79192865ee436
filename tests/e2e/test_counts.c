/* SPDX-License-Identifier: MIT */
/* -n, -d, both, --forever and --rate-per-agent: how many requests the server gets. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

#define AGENTS   3
#define LOAD_MAX 8

static struct target_process target;
static struct agent_process agents[AGENTS];
static char list[256];

static void setup(void)
{
    target_start(&target, NULL);
    agents_start(agents, AGENTS, list, sizeof list);
    strcat(list, "*2"); /* the last one */
}

static void teardown(void)
{
    for (size_t i = 0; i < AGENTS; i++)
        agent_stop(&agents[i]);
    target_stop(&target);
}

/* A run over all three with two threads each. What the server got is what the report says. */
static json_t *run(const char *const *load, const char *agent_list)
{
    struct process p;
    const char *args[PROCESS_ARGS_MAX] = {"run", "--agents", agent_list, "-t",      "2",
                                          "-c",  "13",       "--json",   target.url};
    size_t n = 9;
    for (; *load != NULL; load++)
        args[n++] = *load;
    int code = process_run(&p, "hammer-ctl", args, 60000);
    ck_assert_msg(code == 0 || code == 4, "exit code %d: %.500s", code, p.err);
    json_t *r = report_parse(p.out);
    if (strcmp(report_text_at(r, "plan.loop"), "open") == 0) /* a closed one has no due times */
        report_check_ledger(r);
    process_end(&p);
    return r;
}

static void check_server(json_t *r)
{
    process_signal(&target.process, SIGTERM); /* writes its log */
    process_wait(&target.process, 10000);
    ck_assert_uint_eq(target_logged(&target), (size_t)report_int(r, "totals.sent"));
}

static const struct {
    int64_t n;
    const char *load[LOAD_MAX];
} rows[] = {
    {1, {"-n", "1"}},
    {2, {"-n", "2", "-r", "100"}},
    {1001, {"-n", "1001"}}, /* closed loop */
    {1001, {"-n", "1001", "-r", "2500"}},
    {997, {"-n", "997", "--stages", "200ms@1000,1h@1000..2000"}},
    {501, {"-n", "501", "-r", "1000", "--arrivals", "poisson"}},
    {501, {"-n", "501", "-r", "1000", "--jitter", "100%"}},
    {20011, {"-n", "20011", "-r", "1G", "-T", "30s"}}, /* all at once */
    {501, {"-d", "500ms", "-r", "1001"}},
    {501, {"-d", "500ms", "-r", "1001", "--jitter", "0.1%"}},
    {100, {"-d", "10", "-n", "100", "-r", "1000"}},
    {300, {"-d", "300ms", "-n", "100000", "-r", "1000"}},
    {1, {"-d", "300ms", "-r", "1/h"}},
    {400, {"-d", "1", "--rate-per-agent", "100"}}, /* of weights 1, 1 and 2 */
    {3, {"-n", "3", "--rate-per-agent", "1/s"}},
};

START_TEST(test_exactly_as_many)
{
    json_t *r = run(rows[_i].load, list);
    ck_assert_int_eq(report_int(r, "totals.scheduled"), rows[_i].n);
    ck_assert_int_eq(report_int(r, "totals.ok"), rows[_i].n);
    check_server(r);
    json_decref(r);
}
END_TEST

/* Of those that take part: the third is not there, and its weight of 5 does not count. */
START_TEST(test_the_rate_of_those_that_are_there)
{
    char some[300];
    const char *const load[] = {
        "-d", "1", "--rate-per-agent", "50", "--min-agents", "2", "--wait-agents", "500ms", NULL};
    snprintf(some, sizeof some, "%s,%s*3,127.0.0.1:1*5", agents[0].address, agents[1].address);
    json_t *r = run(load, some);
    ck_assert_int_eq(report_int(r, "totals.scheduled"), 200);
    ck_assert_int_eq(report_int(r, "agents.1.totals.scheduled"), 150);
    ck_assert_str_eq(report_text_at(r, "plan.rate"), "200/s");
    ck_assert_str_eq(report_text_at(r, "plan.rate_per_agent"), "50/s");
    ck_assert(json_number_value(report_at(r, "rate.target")) == 200);
    check_server(r);
    json_decref(r);
}
END_TEST

START_TEST(test_for_ever)
{
    struct process p;
    const char *args[] = {"run", "--agents", list,       "-r",        "200", "-c",
                          "13",  "--json",   target.url, "--forever", NULL};
    process_start(&p, "hammer-ctl", args);
    uint64_t until_ns = clock_mono_ns() + 30 * NS_PER_SEC;
    while (target_logged(&target) < 250)
        ck_assert(clock_mono_ns() < until_ns && process_alive(&p));
    process_signal(&p, SIGINT);
    json_t *r = report_wait(&p, 130, 130, 20000);
    ck_assert_int_ge(report_int(r, "totals.sent"), 250);
    ck_assert(json_is_null(report_at(r, "plan.duration_ns")));
    check_server(r);
    json_decref(r);
    process_end(&p);
}
END_TEST

START_TEST(test_refused)
{
    static const struct {
        const char *words[6];
        const char *says;
    } bad[] = {
        {{"--rate-per-agent", "5", "-r", "7"}, "--rate-per-agent 5/s with -r/--rate 7/s: accepted"},
        {{"--rate-per-agent", "5", "--stages", "1s@2"},
         "--rate-per-agent 5/s with --stages: those"},
        {{"--rate-per-agent", "0"}, "--rate-per-agent 0: accepted is"},
        {{"--rate-per-agent", "600M", "--local", "2"}, "--rate-per-agent 600000000/s on agents of"},
        {{"--forever", "-n", "5"}, "--forever with -n/--requests 5: accepted is one of the two"},
        {{"--forever", "-d", "5"}, "--forever with -d/--duration 5s: accepted is one of the two"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct process p;
        const char *args[PROCESS_ARGS_MAX] = {"run", target.url};
        for (size_t k = 0; k < 6; k++)
            args[2 + k] = bad[i].words[k];
        ck_assert_int_eq(process_run(&p, "hammer-ctl", args, 30000), 1);
        ck_assert_msg(strstr(p.err, bad[i].says) != NULL, "%.300s", p.err);
        process_end(&p);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("counts");
    TCase *t = tcase_create("counts");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, test_exactly_as_many, 0, sizeof rows / sizeof rows[0]);
    tcase_add_test(t, test_the_rate_of_those_that_are_there);
    tcase_add_test(t, test_for_ever);
    tcase_add_test(t, test_refused);
    suite_add_tcase(s, t);
    return check_main(s);
}
