/* SPDX-License-Identifier: MIT */
/* A policy file in front of real runs: what it refuses is refused before a request left, the rule
 * is named to the user, and what it allows runs. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

#define AGENTS_MAX 2
#define ARGS_MAX   16

static struct target_process target;
static struct agent_process agents[AGENTS_MAX];
static size_t n_agents;
static char dir[64], agent_list[200], port[8];

static void setup(void)
{
    folder_make(dir);
    n_agents = 0;
    agent_list[0] = '\0';
    memset(&target, 0, sizeof target);
}

static void teardown(void)
{
    while (n_agents > 0)
        agent_stop(&agents[--n_agents]);
    if (target.process.pid != 0)
        target_stop(&target);
    folder_remove(dir);
}

static void start_target(const char *const *args)
{
    target_start(&target, args);
    snprintf(port, sizeof port, "%s", strrchr(target.address, ':') + 1);
}

/* An agent with this policy; "PORT" in it becomes the target's. NULL = without a file. */
static void start_agent(const char *policy)
{
    char path[96], text[2048];
    struct agent_process *a = &agents[n_agents];
    snprintf(path, sizeof path, "%s/p%zu.yml", dir, n_agents);
    const char *args[] = {policy != NULL ? "--policy" : NULL, path, NULL};
    if (policy != NULL) {
        const char *at = strstr(policy, "PORT");
        FILE *f = fopen(path, "w");
        ck_assert_ptr_nonnull(f);
        if (at != NULL)
            snprintf(text, sizeof text, "%.*s%s%s", (int)(at - policy), policy, port, at + 4);
        else
            snprintf(text, sizeof text, "%s", policy);
        fputs(text, f);
        fclose(f);
        ck_assert_int_eq(chmod(path, 0644), 0);
    }
    agent_start(a, args);
    size_t len = strlen(agent_list);
    snprintf(agent_list + len, sizeof agent_list - len, "%s%s", len > 0 ? "," : "", a->address);
    n_agents++;
}

static int run(struct process *p, const char *const *more, const char *url)
{
    const char *args[ARGS_MAX + 6] = {"run", "--agents", agent_list};
    size_t n = 3;
    bool connections = false;
    for (size_t i = 0; more[i] != NULL; i++) {
        args[n++] = more[i];
        connections = connections || strcmp(more[i], "-c") == 0;
    }
    if (!connections) {
        args[n++] = "-c";
        args[n++] = "4";
    }
    args[n] = url;
    return process_run(p, "hammer-ctl", args, 30000);
}

/* Lines of the target's log, which is whole once it has ended. */
static size_t requests_seen(void)
{
    process_signal(&target.process, SIGTERM);
    process_wait(&target.process, 10000);
    char *text = file_read(target.log);
    size_t n = 0;
    for (const char *p = text; p != NULL && *p != '\0'; p++)
        n += *p == '\n';
    mem_free(text);
    return n;
}

static const char strict[] = "targets:\n"
                             "  - cidr: 127.0.0.0/8\n"
                             "    ports: PORT\n"
                             "max_rate: 100/s\n"
                             "max_connections: 4\n"
                             "max_duration: 5s\n"
                             "max_body: 10\n"
                             "methods: [GET, POST]\n";

static const struct {
    const char *args[ARGS_MAX];
    const char *url; /* NULL = the target's */
    const char *want;
} refusals[] = {
    {{"-r", "101", "-d", "1"},
     NULL,
     "p0.yml:4: max_rate 100/s, the plan asks this agent for 101/s"},
    {{"-d", "1"}, NULL, "p0.yml:4: max_rate 100/s, the plan has no rate (closed loop); give -r"},
    {{"-r", "10", "-d", "1", "-c", "5"}, NULL, "p0.yml:5: max_connections 4, the plan asks"},
    {{"-r", "10", "-d", "6"}, NULL, "p0.yml:6: max_duration 5s, the plan takes 6s"},
    {{"-r", "10", "-n", "100"}, NULL, "p0.yml:6: max_duration 5s, the plan takes 9.9s"},
    {{"-r", "10", "--forever"}, NULL, "p0.yml:6: max_duration 5s, the plan has no known end"},
    {{"-r", "10", "-d", "1", "--data", "01234567890"}, NULL, "p0.yml:7: max_body 10 bytes"},
    {{"-r", "10", "-d", "1", "-m", "DELETE"}, NULL, "p0.yml:8: methods are GET POST, the plan"},
    {{"-r", "10", "-d", "1"}, "http://127.0.0.1:1/", "p0.yml: targets does not allow 127.0.0.1:1"},
    {{"-r", "10", "-d", "1"}, "http://[::1]:1/", "p0.yml: targets does not allow [::1]:1"},
    {{"-r", "10", "-d", "1"}, "http://192.0.2.1/", "p0.yml: targets does not allow 192.0.2.1:80"},
    {{"-r", "10", "-d", "1"}, "http://169.254.169.254/", "link-local and metadata addresses"},
};

START_TEST(test_refusals)
{
    struct process p;
    start_target(NULL);
    start_agent(strict);
    int code = run(&p, refusals[_i].args, refusals[_i].url != NULL ? refusals[_i].url : target.url);
    ck_assert_msg(code == 2, "exit code %d: %s", code, p.err);
    ck_assert_msg(strstr(p.err, refusals[_i].want) != NULL, "%s\n  want: %s", p.err,
                  refusals[_i].want);
    process_end(&p);
    ck_assert_uint_eq(requests_seen(), 0);
}
END_TEST

/* One agent that refuses is enough: the other one, which would, sends nothing either. */
START_TEST(test_one_refuses_for_all)
{
    struct process p;
    const char *args[] = {"-r", "300", "-d", "2", NULL};
    start_target(NULL);
    start_agent(NULL);
    start_agent(strict);
    ck_assert_int_eq(run(&p, args, target.url), 2);
    ck_assert_msg(strstr(p.err, "max_rate 100/s, the plan asks this agent for 150/s") != NULL, "%s",
                  p.err);
    process_end(&p);
    ck_assert_uint_eq(requests_seen(), 0);
}
END_TEST

/* Up to the caps, and not a request less. */
START_TEST(test_allowed)
{
    struct process p;
    const char *args[] = {"-r", "100", "-d", "5", "--data", "0123456789", "--json", NULL};
    start_target(NULL);
    start_agent(strict);
    int code = run(&p, args, target.url);
    ck_assert_msg(code == 0 || code == 4, "exit code %d: %s", code, p.err);
    json_t *r = report_parse(p.out);
    report_check_ledger(r);
    ck_assert_int_eq(report_int(r, "totals.sent"), 500);
    json_decref(r);
    process_end(&p);
    ck_assert_uint_eq(requests_seen(), 500);
}
END_TEST

/* A name does not open this machine: only its addresses do. */
START_TEST(test_names)
{
    struct process p;
    const char *args[] = {"-r", "50", "-d", "1", NULL};
    char url[64];
    start_target(NULL);
    snprintf(url, sizeof url, "http://localhost:%s/", port);
    start_agent("targets:\n  - host: localhost\n");
    ck_assert_int_eq(run(&p, args, url), 2);
    ck_assert_msg(strstr(p.err, "p0.yml:2: the name is allowed for public addresses only") != NULL,
                  "%s", p.err);
    process_end(&p);
    agent_stop(&agents[--n_agents]);
    agent_list[0] = '\0';
    start_agent("targets:\n  - {host: localhost, cidr: 127.0.0.0/8, ports: PORT}\n"
                "  - {host: localhost, cidr: '::1'}\n");
    int code = run(&p, args, url);
    ck_assert_msg(code == 0 || code == 4, "exit code %d: %s", code, p.err);
    process_end(&p);
    ck_assert_int_eq(run(&p, args, target.url), 2); /* the address without the name */
    process_end(&p);
    ck_assert_uint_eq(requests_seen(), 50);
}
END_TEST

/* The server is so slow that most requests are still waiting when the time is over: they are not
 * sent, by the agent's own clock, and the report says why. */
START_TEST(test_time_is_over)
{
    struct process p;
    const char *slow[] = {"--delay", "200ms", NULL};
    const char *args[] = {"-r", "100", "-d", "2", "-c", "2", "-T", "30s", "--json", NULL};
    start_target(slow);
    start_agent("max_duration: 2s\n");
    uint64_t t0 = clock_mono_ns();
    ck_assert_int_eq(run(&p, args, target.url), 3);
    ck_assert_uint_lt(clock_mono_ns() - t0, 15 * NS_PER_SEC);
    json_t *r = report_parse(p.out);
    report_check_ledger(r);
    ck_assert_int_ge(report_int(r, "totals.unsent_by.stopped"), 100);
    ck_assert_msg(strstr(p.out, "p0.yml:1: max_duration 2s was over before all was sent") != NULL,
                  "%.400s", p.out);
    int64_t sent = report_int(r, "totals.sent");
    json_decref(r);
    process_end(&p);
    ck_assert_int_eq((int64_t)requests_seen(), sent);
}
END_TEST

START_TEST(test_a_bad_file_is_no_policy)
{
    char path[96];
    struct process p;
    snprintf(path, sizeof path, "%s/bad.yml", dir);
    const char *args[] = {"--listen", "tcp://127.0.0.1:0", "--policy", path, NULL};
    FILE *f = fopen(path, "w");
    fputs("max_rate: 1\nmax_rat: 2\n", f);
    fclose(f);
    ck_assert_int_ne(process_run(&p, "hammer-agent", args, 10000), 0);
    ck_assert_msg(strstr(p.err, "bad.yml:2:1: unknown key max_rat: accepted are") != NULL, "%s",
                  p.err);
    process_end(&p);
    ck_assert_int_eq(chmod(path, 0666), 0);
    ck_assert_int_ne(process_run(&p, "hammer-agent", args, 10000), 0);
    ck_assert_msg(strstr(p.err, "chmod go-w") != NULL, "%s", p.err);
    process_end(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("policy");
    TCase *t = tcase_create("policy");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, test_refusals, 0, sizeof refusals / sizeof refusals[0]);
    tcase_add_test(t, test_one_refuses_for_all);
    tcase_add_test(t, test_allowed);
    tcase_add_test(t, test_names);
    tcase_add_test(t, test_time_is_over);
    tcase_add_test(t, test_a_bad_file_is_no_policy);
    suite_add_tcase(s, t);
    return check_main(s);
}
