/* SPDX-License-Identifier: MIT */
/* Does a run know whose fault it was? A core taken from the workers, a server that stands still,
 * and what waiting for the due time costs. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/core_thief.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

#define MS ((int64_t)NS_PER_MS)

static struct target_process target;
static struct agent_process agent;
static struct core_thief thief;
static int core; /* the workers' own; everything else is kept off it */

static void stop_all(void)
{
    core_thief_stop(&thief);
    if (agent.process.pid != 0)
        agent_stop(&agent);
    if (target.process.pid != 0)
        target_stop(&target);
    memset(&agent, 0, sizeof agent);
    memset(&target, 0, sizeof target);
}

/* false = this machine has one core only: nothing can be taken away from anybody. */
static bool start(const char *const *target_args)
{
    core = core_spare();
    if (core < 0) {
        printf("only one CPU: not tested\n");
        return false;
    }
    char cpu[16];
    snprintf(cpu, sizeof cpu, "%d", core);
    const char *args[] = {"--cpu", cpu, NULL};
    target_start(&target, target_args);
    agent_start(&agent, args);
    core_avoid(target.process.pid, core);
    return true;
}

static json_t *run(const char *duration, const char *spin)
{
    struct process p;
    const char *args[] = {"run",   "--agents", agent.address, "-r",     "500",      "-t",
                          "1",     "-c",       "20",          "-d",     duration,   "--interval",
                          "100ms", "--spin",   spin,          "--json", target.url, NULL};
    int code = process_run(&p, "hammer-ctl", args, 60000);
    ck_assert_msg(code == 0 || code == 4, "exit code %d: %.500s", code, p.err);
    json_t *r = report_parse(p.out);
    ck_assert_int_eq(code, report_int(r, "verdict.exit_code"));
    report_check_ledger(r);
    process_end(&p);
    return r;
}

static bool status_is(json_t *r, const char *status)
{
    return strcmp(report_text_at(r, "verdict.status"), status) == 0;
}

static double real_at(json_t *r, const char *path)
{
    return json_number_value(report_at(r, path));
}

/* The workers are made nice too, so that ordinary thieves are enough where real-time ones are not
 * allowed; the threads inherit it from the one that will start them. */
START_TEST(test_a_stolen_core_is_the_generators_fault)
{
    if (!start(NULL))
        return;
    setpriority(PRIO_PROCESS, (id_t)agent.process.pid, 19);
    core_thief_start(&thief, core);
    json_t *r = run("2s", "auto");
    core_thief_stop(&thief);
    ck_assert_str_eq(report_text_at(r, "verdict.status"), "generator-limited");
    ck_assert_int_eq(report_int(r, "verdict.exit_code"), 4);
    ck_assert_int_gt(report_int(r, "lag.send.percentiles.99"), MS);
    ck_assert_int_gt(report_int(r, "agents.0.health.context_switches"), 0);
    ck_assert_int_eq(report_int(r, "totals.scheduled"), 1000); /* all of it counts */
    json_decref(r);
}
END_TEST

/* Would the intervals away from the freeze have been enough for the verdict? Then it was this
 * machine, which is busy. */
static bool noise_explains(json_t *r, int64_t from_ns, int64_t to_ns)
{
    json_t *rows = report_at(r, "timeline"), *row;
    size_t i, judged = 0, over = 0;
    json_array_foreach(rows, i, row)
    {
        if (report_int(row, "sent") == 0)
            continue;
        judged++;
        json_t *p50 = report_at(row, "corrected.p50");
        int64_t quarter = json_is_integer(p50) ? json_integer_value(p50) / 4 : 0;
        int64_t bound = quarter > MS ? quarter : MS;
        bool away = report_int(row, "to_ns") <= from_ns || report_int(row, "from_ns") >= to_ns;
        over += away && (report_int(row, "send_p99") > bound ||
                         report_int(row, "receive_p99") > bound || real_at(row, "cpu_peak") > 0.8);
    }
    return over * 10 >= judged;
}

/* The server stands still for 700 ms: every request due then waits for it, and none of that may be
 * taken for our own delay. */
START_TEST(test_a_frozen_server_is_not)
{
    static const char *const freeze[] = {"--freeze-at", "1s", "--freeze-for", "700ms", NULL};
    bool blameless = false;
    for (int attempt = 0; attempt < 3 && !blameless; attempt++) {
        if (!start(freeze))
            return;
        json_t *r = run("3s", "auto");
        ck_assert_int_gt(report_int(r, "lag.wait.max"), 500 * MS);
        ck_assert_int_lt(report_int(r, "lag.send.max"), 350 * MS);
        ck_assert_int_lt(report_int(r, "lag.receive.max"), 350 * MS);
        ck_assert(json_is_true(report_at(r, "verdict.server_limited")));
        blameless = status_is(r, "server-limited") || noise_explains(r, 900 * MS, 2000 * MS);
        json_decref(r);
        stop_all();
    }
    ck_assert(blameless);
}
END_TEST

START_TEST(test_the_cost_of_spinning_is_told)
{
    static const struct {
        const char *spin;
        double least, most;
    } rows[] = {{"0", 0, 0}, {"auto", 1e-9, 0.055}, {"1ms", 0.06, 1}};
    if (!start(NULL))
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *r = run("1s", rows[i].spin);
        double share = real_at(r, "agents.0.health.spin_share");
        double cpu = real_at(r, "agents.0.health.cpu");
        if (!process_sanitized()) {
            ck_assert_msg(share >= rows[i].least && share <= rows[i].most, "--spin %s: %g",
                          rows[i].spin, share);
            ck_assert_msg(cpu >= share * 0.8 && cpu <= 1.05, "--spin %s: CPU %g, spinning %g",
                          rows[i].spin, cpu, share);
        }
        json_decref(r);
    }
}
END_TEST

/* What cannot be had is a warning, and the run goes on without it. */
START_TEST(test_a_refused_placement_is_a_warning)
{
    const char *args[] = {"--cpu", "1023", "--realtime", NULL};
    target_start(&target, NULL);
    agent_start(&agent, args);
    json_t *r = run("300ms", "auto");
    ck_assert_int_eq(report_int(r, "totals.ok"), 150);
    json_decref(r);
    process_signal(&agent.process, SIGTERM);
    process_wait(&agent.process, 10000);
    ck_assert_msg(strstr(agent.process.err, "CPU 1023") != NULL, "%s", agent.process.err);
}
END_TEST

START_TEST(test_a_bad_placement_is_refused)
{
    struct process p;
    const char *args[] = {"--listen", "tcp://127.0.0.1:0", "--cpu", "1,x", NULL};
    ck_assert_int_eq(process_run(&p, "hammer-agent", args, 10000), 1);
    ck_assert_msg(strstr(p.err, "--cpu 1,x: accepted is") != NULL, "%s", p.err);
    process_end(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("health");
    TCase *t = tcase_create("health");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, NULL, stop_all);
    if (!process_sanitized()) { /* they judge times, and the machine must be theirs */
        tcase_add_test(t, test_a_stolen_core_is_the_generators_fault);
        tcase_add_test(t, test_a_frozen_server_is_not);
    }
    tcase_add_test(t, test_the_cost_of_spinning_is_told);
    tcase_add_test(t, test_a_refused_placement_is_a_warning);
    tcase_add_test(t, test_a_bad_placement_is_refused);
    suite_add_tcase(s, t);
    return check_main(s);
}
