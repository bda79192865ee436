/* SPDX-License-Identifier: MIT */
/* Whole runs of the three programs on loopback. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

static struct target_process target;
static struct agent_process agents[3];
static char agent_list[256];

static void start_target(const char *const *args)
{
    target_start(&target, args);
}

static void start_agents(size_t n)
{
    agents_start(agents, n, agent_list, sizeof agent_list);
}

static void stop_all(void)
{
    for (size_t i = 0; i < sizeof agents / sizeof agents[0]; i++)
        if (agents[i].process.pid != 0)
            agent_stop(&agents[i]);
    if (target.process.pid != 0)
        target_stop(&target);
    memset(agents, 0, sizeof agents);
    memset(&target, 0, sizeof target);
}

static void nap(void)
{
    struct timespec ts = {0, 5000000};
    nanosleep(&ts, NULL);
}

/* Requests the target answered, after it has ended and flushed its log. */
static size_t served(void)
{
    process_signal(&target.process, SIGTERM);
    process_wait(&target.process, 10000);
    return target_logged(&target);
}

/* Prints what the process said when it did not end as it should: check refuses long messages. */
static void expect(const struct process *p, bool ok)
{
    if (ok)
        return;
    printf("%s%s", p->out, p->err);
    fflush(stdout);
    ck_abort_msg("exit code %d", p->code);
}

static void wait_requests(struct process *ctl, size_t n)
{
    uint64_t until = clock_mono_ns() + 30 * NS_PER_SEC;
    for (; target_logged(&target) < n; nap())
        ck_assert_msg(clock_mono_ns() < until && process_alive(ctl), "%s", ctl->err);
}

START_TEST(test_local_agent)
{
    start_target(NULL);
    struct process p;
    const char *args[] = {"run", "-r", "500", "-d", "2", "-c", "8", target.url, "--json", NULL};
    int code = process_run(&p, "hammer-ctl", args, 20000);
    expect(&p, code == 0 || code == 4);
    json_t *r = report_parse(p.out);
    report_check_ledger(r);
    ck_assert_int_eq(report_int(r, "totals.scheduled"), 1000);
    ck_assert_int_eq(report_int(r, "totals.ok"), 1000);
    ck_assert_int_eq(report_int(r, "status_codes.200"), 1000);
    ck_assert_int_eq(report_int(r, "agents.0.clock.offset_ns"), 0);
    ck_assert_uint_eq(served(), 1000);
    json_decref(r);
    process_end(&p);
}
END_TEST

START_TEST(test_two_weighted_agents)
{
    start_target(NULL);
    start_agents(2);
    strcat(agent_list, "*2");
    struct process p;
    const char *args[] = {"run", "--agents", agent_list, "-r",       "600",    "-d",
                          "2",   "-c",       "9",        target.url, "--json", NULL};
    int code = process_run(&p, "hammer-ctl", args, 20000);
    expect(&p, code == 0 || code == 4);
    json_t *r = report_parse(p.out);
    report_check_ledger(r);
    ck_assert_int_eq(report_int(r, "agents.0.totals.scheduled"), 400);
    ck_assert_int_eq(report_int(r, "agents.1.totals.scheduled"), 800);
    ck_assert_int_eq(report_int(r, "agents.1.weight"), 2);
    ck_assert_uint_eq(served(), 1200);
    json_decref(r);
    process_end(&p);
}
END_TEST

/* Every global index is sent exactly once, over three agents and odd weights. */
START_TEST(test_each_index_once)
{
    enum {
        N = 1001
    };
    setenv("HAMMER_TEST_INDEX", "1", 1);
    start_target(NULL);
    start_agents(3);
    strcat(agent_list, "*3");
    char url[160];
    snprintf(url, sizeof url, "%sr/{i}", target.url);
    struct process p;
    const char *args[] = {"run",  "--agents", agent_list, "-r", "2k",     "-n",
                          "1001", "-c",       "12",       url,  "--json", NULL};
    int code = process_run(&p, "hammer-ctl", args, 20000);
    expect(&p, code == 0 || code == 4);
    ck_assert_uint_eq(served(), N);
    static uint8_t seen[N];
    memset(seen, 0, sizeof seen);
    char *text = file_read(target.log), *save = NULL;
    for (char *l = strtok_r(text, "\n", &save); l != NULL; l = strtok_r(NULL, "\n", &save)) {
        const char *at = strstr(l, "/r/");
        ck_assert_ptr_nonnull(at);
        unsigned long i = strtoul(at + 3, NULL, 10);
        ck_assert_uint_lt(i, N);
        ck_assert_uint_eq(seen[i]++, 0);
    }
    mem_free(text);
    process_end(&p);
}
END_TEST

/* No rate: full speed, exactly -n requests over two agents, one clock, nothing invented. */
START_TEST(test_closed_loop)
{
    start_target(NULL);
    start_agents(2);
    struct process p;
    const char *args[] = {"run", "--agents", agent_list, "-n",       "5001",
                          "-c",  "8",        "--json",   target.url, NULL};
    int code = process_run(&p, "hammer-ctl", args, 30000);
    expect(&p, code == 0 || code == 4);
    json_t *r = report_parse(p.out);
    ck_assert_int_eq(report_int(r, "totals.scheduled"), 5001);
    ck_assert_int_eq(report_int(r, "totals.ok"), 5001);
    ck_assert_int_eq(report_int(r, "latency.uncorrected.count"), 5001);
    ck_assert_int_eq(report_int(r, "latency.corrected.count"), 0);
    ck_assert(json_is_null(report_at(r, "latency.corrected.percentiles.50")));
    ck_assert(json_is_null(report_at(r, "rate.target")));
    ck_assert_uint_eq(served(), 5001);
    json_decref(r);
    process_end(&p);
}
END_TEST

START_TEST(test_unreachable_agent_is_named)
{
    start_target(NULL);
    start_agents(1);
    char list[300];
    snprintf(list, sizeof list, "%s,127.0.0.1:1", agent_list);
    struct process p;
    const char *args[] = {"run", "--agents", list, "-r",       "100", "-d",
                          "1",   "-c",       "4",  target.url, NULL};
    ck_assert_int_eq(process_run(&p, "hammer-ctl", args, 30000), 2);
    ck_assert_ptr_nonnull(strstr(p.err, "127.0.0.1:1"));
    ck_assert_uint_eq(served(), 0); /* nothing left before every agent was prepared */
    process_end(&p);
}
END_TEST

START_TEST(test_busy_agent_names_its_holder)
{
    start_target(NULL);
    start_agents(1);
    struct process first, second;
    const char *args[] = {"run", "--agents", agent_list, "-r",       "100",    "-d",
                          "3",   "-c",       "4",        target.url, "--json", NULL};
    process_start(&first, "hammer-ctl", args);
    wait_requests(&first, 1);
    ck_assert_int_eq(process_run(&second, "hammer-ctl", args, 20000), 2);
    ck_assert_ptr_nonnull(strstr(second.err, "busy"));
    char holder[64];
    snprintf(holder, sizeof holder, ":%d", (int)first.pid);
    ck_assert_msg(strstr(second.err, holder) != NULL, "%s", second.err);
    int code = process_wait(&first, 20000);
    ck_assert(code == 0 || code == 4);
    json_t *r = report_parse(first.out);
    ck_assert_int_eq(report_int(r, "totals.ok"), 300);
    json_decref(r);
    process_end(&first);
    process_end(&second);
}
END_TEST

START_TEST(test_target_down)
{
    struct process p;
    const char *args[] = {"run",    "-r", "100", "-d", "1", "-c", "4", "http://127.0.0.1:1/",
                          "--json", NULL};
    ck_assert_int_eq(process_run(&p, "hammer-ctl", args, 30000), 2);
    json_t *r = report_parse(p.out);
    report_check_ledger(r);
    ck_assert_str_eq(report_text_at(r, "verdict.status"), "unreachable");
    json_decref(r);
    process_end(&p);
}
END_TEST

/* A server that accepts and never answers: a report without data, never exit 0. */
START_TEST(test_silent_target_is_no_data)
{
    static const char *const frozen[] = {"--delay", "60s", NULL};
    start_target(frozen);
    struct process p;
    const char *args[] = {"run", "-r", "50",  "-d",       "1",      "-c",
                          "60",  "-T", "300", target.url, "--json", NULL};
    int code = process_run(&p, "hammer-ctl", args, 30000);
    expect(&p, code == 3);
    json_t *r = report_parse(p.out);
    report_check_ledger(r);
    ck_assert_str_eq(report_text_at(r, "verdict.status"), "no-data");
    ck_assert_int_eq(report_int(r, "totals.scheduled"), 50);
    ck_assert(json_is_null(report_at(r, "latency.all_due.percentiles.50")));
    json_decref(r);
    process_signal(&target.process, SIGKILL); /* it sleeps in its freeze */
    process_end(&p);
}
END_TEST

START_TEST(test_policy_refuses_before_anything_is_sent)
{
    start_agents(1);
    struct process p;
    const char *args[] = {"run", "--agents", agent_list,          "-r", "10", "-d", "1",
                          "-c",  "4",        "http://192.0.2.1/", NULL};
    ck_assert_int_eq(process_run(&p, "hammer-ctl", args, 20000), 2);
    ck_assert_msg(strstr(p.err, "policy") != NULL && strstr(p.err, "192.0.2.1") != NULL, "%s",
                  p.err);
    process_end(&p);
}
END_TEST

START_TEST(test_interrupt_prints_partial_report)
{
    start_target(NULL);
    start_agents(2);
    struct process p;
    const char *args[] = {"run", "--agents", agent_list, "-r",       "200",    "-d",
                          "30",  "-c",       "8",        target.url, "--json", NULL};
    process_start(&p, "hammer-ctl", args);
    wait_requests(&p, 200);
    uint64_t t0 = clock_mono_ns();
    process_signal(&p, SIGINT);
    ck_assert_int_eq(process_wait(&p, 10000), 130);
    ck_assert_uint_lt((clock_mono_ns() - t0) / NS_PER_MS, 5000);
    json_t *r = report_parse(p.out);
    report_check_ledger(r);
    ck_assert_str_eq(report_text_at(r, "verdict.status"), "interrupted");
    ck_assert_int_ge(report_int(r, "totals.ok"), 200);
    ck_assert_int_eq((int64_t)served(), report_int(r, "totals.sent"));
    json_decref(r);
    process_end(&p);
}
END_TEST

/* No request may arrive once the load must have ended: the log stands still for a second. */
static void check_silent(void)
{
    uint64_t until = clock_mono_ns() + 10 * NS_PER_SEC, still_since = clock_mono_ns();
    size_t last = target_logged(&target);
    while (clock_mono_ns() - still_since < 2500 * NS_PER_MS) {
        ck_assert_msg(clock_mono_ns() < until, "requests still arrive");
        nap();
        size_t n = target_logged(&target);
        if (n != last)
            still_since = clock_mono_ns();
        last = n;
    }
}

START_TEST(test_second_interrupt_and_kill_stop_the_load)
{
    for (int way = 0; way < 2; way++) {
        start_target(NULL);
        start_agents(2);
        struct process p;
        const char *args[] = {"run", "--agents", agent_list, "-r", "200",      "-d", "60",
                              "-c",  "8",        "--lease",  "3s", target.url, NULL};
        process_start(&p, "hammer-ctl", args);
        wait_requests(&p, 100);
        process_signal(&p, way == 0 ? SIGINT : SIGKILL);
        /* One Ctrl-C and then impatience: two signals close together count as one. */
        uint64_t until = clock_mono_ns() + 5 * NS_PER_SEC;
        for (; way == 0 && process_alive(&p) && clock_mono_ns() < until; nap())
            process_signal(&p, SIGINT);
        int code = process_wait(&p, 5000);
        ck_assert_int_eq(code, way == 0 ? 130 : 137);
        check_silent();
        process_end(&p);
        stop_all();
    }
}
END_TEST

START_TEST(test_lost_agent_is_reported)
{
    start_target(NULL);
    start_agents(2);
    struct process p;
    const char *args[] = {"run", "--agents", agent_list, "-r",       "200",    "-d",
                          "30",  "-c",       "8",        target.url, "--json", NULL};
    process_start(&p, "hammer-ctl", args);
    wait_requests(&p, 400);
    process_signal(&agents[1].process, SIGKILL);
    int code = process_wait(&p, 20000);
    expect(&p, code == 3);
    json_t *r = report_parse(p.out);
    report_check_ledger(r);
    ck_assert_str_eq(report_text_at(r, "verdict.status"), "incomplete");
    ck_assert_str_eq(report_text_at(r, "agents.1.state"), "lost");
    ck_assert_str_eq(report_text_at(r, "agents.0.state"), "stopped");
    ck_assert_int_ge(report_int(r, "agents.1.totals.sent"), 1);
    ck_assert_msg(strstr(p.out, agents[1].address) != NULL, "%s", p.out);
    json_decref(r);
    process_end(&p);
    check_silent();
}
END_TEST

/* SIGTERM ends an agent's part of the run and its results still arrive whole; impatience (a signal
 * every few ms, while its last frames leave) must not hurt it. */
START_TEST(test_terminated_agent_delivers)
{
    for (int way = 0; way < 2; way++) {
        start_target(NULL);
        start_agents(2);
        struct process p;
        const char *args[] = {"run", "--agents", agent_list, "-r",       "200",    "-d",
                              "30",  "-c",       "8",        target.url, "--json", NULL};
        process_start(&p, "hammer-ctl", args);
        wait_requests(&p, 400);
        do {
            process_signal(&agents[1].process, SIGTERM);
            nap();
        } while (way == 1 && process_alive(&agents[1].process));
        int code = process_wait(&agents[1].process, 10000);
        ck_assert(code == 0 || (way == 1 && code == 128 + SIGTERM)); /* met it on its way out */
        code = process_wait(&p, 20000);
        expect(&p, code == 3);
        json_t *r = report_parse(p.out);
        report_check_ledger(r);
        if (way == 0) {
            ck_assert_str_eq(report_text_at(r, "agents.1.state"), "stopped");
            ck_assert(json_is_true(report_at(r, "agents.1.checked")));
        }
        json_decref(r);
        process_end(&p);
        stop_all();
    }
}
END_TEST

static long peak_kib(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    char *text = file_read(path), *at = text != NULL ? strstr(text, "VmHWM:") : NULL;
    long kib = at != NULL ? strtol(at + 6, NULL, 10) : -1;
    mem_free(text);
    return kib;
}

/* An agent serves run after run, and its peak of memory does not grow with the requests: 80000 more
 * may not cost 2 MiB. */
START_TEST(test_memory_does_not_grow)
{
    if (process_sanitized()) {
        printf("memory is not compared: sanitizers keep what is freed\n");
        return;
    }
    start_target(NULL);
    start_agents(1);
    long first = 0;
    for (int round = 0; round < 4; round++) {
        struct process p;
        const char *n = round == 0 ? "4000" : "40000";
        const char *args[] = {"run", "--agents", agent_list, "-r",       "5k", "-n",
                              n,     "-c",       "10",       target.url, NULL};
        int code = process_run(&p, "hammer-ctl", args, 60000);
        expect(&p, code == 0 || code == 4);
        process_end(&p);
        long now = peak_kib(agents[0].process.pid);
        ck_assert_int_gt(now, 0);
        if (round == 1)
            first = now;
        if (round > 1)
            ck_assert_msg(now <= first + 2048, "%ld KiB, then %ld KiB", first, now);
    }
}
END_TEST

static const struct {
    const char *args[10];
    const char *expect[3];
} bad_input[] = {
    {{"run"}, {"URL", "accepted"}},
    {{"run", "-r", "0", "http://127.0.0.1/"}, {"--rate", "0", "accepted"}},
    {{"run", "-r", "-5", "http://127.0.0.1/"}, {"--rate", "-5", "accepted"}},
    {{"run", "-r", "12x", "http://127.0.0.1/"}, {"--rate", "12x", "accepted"}},
    {{"run", "-r", "10", "-d", "0", "http://127.0.0.1/"}, {"--duration", "0", "accepted"}},
    {{"run", "-r", "10", "-d", "tomorrow", "http://127.0.0.1/"},
     {"--duration", "tomorrow", "accepted"}},
    {{"run", "-r", "10", "-c", "0", "http://127.0.0.1/"}, {"--connections", "0", "accepted"}},
    {{"run", "-r", "10", "-c", "2", "-t", "4", "http://127.0.0.1/"}, {"--connections", "2"}},
    {{"run", "-r", "10", "-T", "never", "http://127.0.0.1/"}, {"--timeout", "never", "accepted"}},
    {{"run", "-r", "10", "--conections", "3", "http://127.0.0.1/"},
     {"--conections", "--connections"}},
    {{"run", "-r", "10", "-H", "no colon", "http://127.0.0.1/"},
     {"--header", "no colon", "accepted"}},
    {{"run", "-r", "10", "-m", "GE T", "http://127.0.0.1/"}, {"--method", "GE T", "accepted"}},
    {{"run", "-r", "10", "--body", "/nonexistent", "http://127.0.0.1/"},
     {"--body", "/nonexistent"}},
    {{"run", "-r", "10", "ftp://127.0.0.1/"}, {"ftp", "accepted"}},
    {{"run", "-r", "10", "httpss://127.0.0.1/"}, {"scheme", "https"}},
    {{"run", "-r", "10", "http://127.0.0.1/", "http://127.0.0.2/"}, {"127.0.0.2"}},
    {{"run", "-r", "10", "--agents", "a,,b", "http://127.0.0.1/"}, {"--agents"}},
    {{"run", "-r", "10", "--agents", "127.0.0.1:99999", "http://127.0.0.1/"}, {"99999"}},
    {{"run", "-r", "10", "-o", "report.pdf", "http://127.0.0.1/"}, {"--output", "report.pdf"}},
    {{"run", "-r", "10", "--interval", "1ms", "http://127.0.0.1/"},
     {"--interval", "1ms", "accepted"}},
    {{"hammer-time"}, {"hammer-time", "accepted"}},
};

START_TEST(test_bad_input)
{
    struct process p;
    int code = process_run(&p, "hammer-ctl", bad_input[_i].args, 20000);
    ck_assert_msg(code == 1, "row %d: exit %d: %s", _i, code, p.err);
    for (size_t k = 0; k < 3 && bad_input[_i].expect[k] != NULL; k++)
        ck_assert_msg(strstr(p.err, bad_input[_i].expect[k]) != NULL, "row %d misses %s: %s", _i,
                      bad_input[_i].expect[k], p.err);
    ck_assert_str_eq(p.out, "");
    process_end(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("run");
    TCase *t = tcase_create("run");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, NULL, stop_all);
    tcase_add_test(t, test_local_agent);
    tcase_add_test(t, test_two_weighted_agents);
    tcase_add_test(t, test_each_index_once);
    tcase_add_test(t, test_closed_loop);
    tcase_add_test(t, test_unreachable_agent_is_named);
    tcase_add_test(t, test_busy_agent_names_its_holder);
    tcase_add_test(t, test_target_down);
    tcase_add_test(t, test_silent_target_is_no_data);
    tcase_add_test(t, test_policy_refuses_before_anything_is_sent);
    tcase_add_test(t, test_interrupt_prints_partial_report);
    tcase_add_test(t, test_second_interrupt_and_kill_stop_the_load);
    tcase_add_test(t, test_lost_agent_is_reported);
    tcase_add_test(t, test_terminated_agent_delivers);
    tcase_add_test(t, test_memory_does_not_grow);
    tcase_add_loop_test(t, test_bad_input, 0, (int)(sizeof bad_input / sizeof bad_input[0]));
    suite_add_tcase(s, t);
    return check_main(s);
}
