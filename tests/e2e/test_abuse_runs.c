/* SPDX-License-Identifier: MIT */
/* Whole programs that are stopped, killed, robbed of their output or asked for odd runs. */
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/raw_control.h"
#include "tests/lib/report.h"

#define WAIT_MS 30000

static struct target_process target;
static struct agent_process agents[3];
static char agent_list[256];

static void start_all(size_t n)
{
    target_start(&target, NULL);
    agents_start(agents, n, agent_list, sizeof agent_list);
}

static void stop_all(void)
{
    for (size_t i = 0; i < 3; i++) {
        process_signal(&agents[i].process, SIGCONT);
        if (agents[i].process.pid != 0)
            agent_stop(&agents[i]);
    }
    if (target.process.pid != 0)
        target_stop(&target);
    memset(agents, 0, sizeof agents);
    memset(&target, 0, sizeof target);
}

/* hammer-ctl run over the agents that are up, JSON. */
static void start_leased(struct process *p, const char *rate, const char *duration,
                         const char *lease)
{
    const char *args[] = {"run",    "--agents", agent_list, "-r", rate, "-d",
                          duration, "-c",       "6",        "-T", "2s", "--lease",
                          lease,    "--json",   target.url, NULL};
    process_start(p, "hammer-ctl", args);
}

static void start_run(struct process *p, const char *rate, const char *duration)
{
    start_leased(p, rate, duration, "10s");
}

static void done(struct process *p, json_t *r)
{
    json_decref(r);
    process_end(p);
}

/* Everything due was answered. */
static void expect_whole(struct process *p, int64_t requests)
{
    json_t *r = report_wait(p, 0, 4, WAIT_MS);
    ck_assert_int_eq(report_int(r, "totals.scheduled"), requests);
    ck_assert_int_eq(report_int(r, "totals.ok"), requests);
    done(p, r);
}

static void wait_ms(uint64_t ms)
{
    clock_sleep_until(clock_mono_ns() + ms * NS_PER_MS);
}

/* So many requests have been answered: the target writes its log once a second. */
static void wait_requests(size_t n)
{
    uint64_t until = clock_mono_ns() + 20 * NS_PER_SEC;
    for (size_t lines = 0; lines < n; wait_ms(5)) {
        char *text = file_read(target.log);
        lines = 0;
        for (const char *c = text; c != NULL && *c != '\0'; c++)
            lines += *c == '\n';
        mem_free(text);
        ck_assert_uint_lt(clock_mono_ns(), until);
    }
}

/* --- agents stopped and killed -------------------------------------------------------------- */

/* Frozen for two seconds, an agent sends late what fell due meanwhile, and says so. */
START_TEST(test_agent_pauses)
{
    struct process p;
    start_all(2);
    start_run(&p, "200", "4");
    wait_requests(50);
    process_signal(&agents[0].process, SIGSTOP);
    wait_ms(2000);
    process_signal(&agents[0].process, SIGCONT);
    json_t *r = report_wait(&p, 4, -1, WAIT_MS);
    ck_assert_int_eq(report_int(r, "totals.scheduled"), 800);
    ck_assert_int_eq(report_int(r, "totals.ok"), 800);
    ck_assert_int_gt(report_int(r, "latency.corrected.max"), 1500000000);
    ck_assert_str_eq(report_text_at(r, "verdict.status"), "generator-limited");
    done(&p, r);
}
END_TEST

START_TEST(test_controller_pauses)
{
    struct process p;
    start_all(2);
    start_run(&p, "200", "3");
    wait_requests(50);
    process_signal(&p, SIGSTOP);
    wait_ms(3000); /* it ends meanwhile */
    process_signal(&p, SIGCONT);
    expect_whole(&p, 600);
}
END_TEST

/* Frozen for ever: lost after the lease, the others are stopped, the report comes. */
START_TEST(test_agent_freezes)
{
    struct process p;
    start_all(2);
    start_leased(&p, "100", "60", "3s");
    wait_requests(50);
    process_signal(&agents[0].process, SIGSTOP);
    uint64_t begin_ns = clock_mono_ns();
    json_t *r = report_wait(&p, 3, -1, WAIT_MS);
    ck_assert_uint_lt(clock_mono_ns() - begin_ns, 9 * NS_PER_SEC);
    ck_assert_str_eq(report_text_at(r, "verdict.status"), "incomplete");
    ck_assert_str_eq(report_text_at(r, "agents.0.state"), "lost");
    ck_assert_str_eq(report_text_at(r, "agents.1.state"), "stopped");
    ck_assert_int_ge(report_int(r, "agents.1.totals.ok"), 170);
    done(&p, r);
}
END_TEST

/* Nobody answers there any more, which may be a moment's: it is lost after the lease. */
START_TEST(test_one_of_three_is_killed)
{
    struct process p;
    start_all(3);
    start_leased(&p, "300", "60", "3s");
    wait_requests(100);
    process_signal(&agents[1].process, SIGKILL);
    uint64_t begin_ns = clock_mono_ns();
    json_t *r = report_wait(&p, 3, -1, WAIT_MS);
    ck_assert_uint_lt(clock_mono_ns() - begin_ns, 9 * NS_PER_SEC);
    static const char *const states[] = {"stopped", "lost", "stopped"};
    for (size_t i = 0; i < 3; i++) {
        char path[32];
        snprintf(path, sizeof path, "agents.%zu.state", i);
        ck_assert_str_eq(report_text_at(r, path), states[i]);
    }
    done(&p, r);
}
END_TEST

/* An agent that is told to shut down in a run ends it properly: nothing of it is lost, though the
 * controller does not read for a moment. */
START_TEST(test_agent_is_terminated)
{
    struct process p;
    start_all(2);
    start_run(&p, "200", "60");
    wait_requests(50);
    process_signal(&p, SIGSTOP);
    process_signal(&agents[0].process, SIGTERM);
    wait_ms(80);
    process_signal(&p, SIGCONT);
    ck_assert_int_eq(process_wait(&agents[0].process, 5000), 0);
    json_t *r = report_wait(&p, 3, -1, WAIT_MS);
    ck_assert_str_eq(report_text_at(r, "agents.0.state"), "stopped");
    ck_assert_ptr_nonnull(strstr(report_text_at(r, "agents.0.problem"), "shut down"));
    ck_assert(json_is_true(report_at(r, "agents.0.checked")));
    ck_assert(json_is_true(report_at(r, "agents.1.checked")));
    ck_assert_str_eq(report_text_at(r, "verdict.status"), "incomplete");
    done(&p, r);
}
END_TEST

/* Killed after it has prepared and before the start. It could come back until the lease is over; it
 * does not, which ends what the other began. */
START_TEST(test_agent_dies_before_the_start)
{
    struct process p;
    start_all(2);
    start_leased(&p, "1k", "60", "3s");
    uint64_t until = clock_mono_ns() + 10 * NS_PER_SEC;
    for (bool prepared = false; !prepared; wait_ms(1)) {
        char *log = file_read(agents[1].process.err_path);
        prepared = log != NULL && strstr(log, "preparing") != NULL;
        mem_free(log);
        ck_assert_uint_lt(clock_mono_ns(), until);
    }
    wait_ms(60); /* connections are open; the start is 300 ms after that */
    process_signal(&agents[1].process, SIGKILL);
    int code = process_wait(&p, 15000);
    ck_assert_msg(code == 2 || code == 3, "exit code %d: %s", code, p.err);
    ck_assert_ptr_nonnull(strstr(p.err, agents[1].address));
    if (code == 3) {
        json_t *r = report_parse(p.out);
        report_check_ledger(r);
        ck_assert_str_eq(report_text_at(r, "agents.0.state"), "stopped");
        ck_assert_str_eq(report_text_at(r, "agents.1.state"), "lost");
        ck_assert_int_eq(report_int(r, "agents.1.totals.sent"), 0);
        json_decref(r);
    }
    process_end(&p);
}
END_TEST

/* Started again on its port right after a run, it serves the next one. */
START_TEST(test_agent_restarts_on_its_port)
{
    struct process p, again;
    char url[300];
    start_all(1);
    start_run(&p, "100", "100ms");
    expect_whole(&p, 10);
    process_signal(&agents[0].process, SIGKILL);
    process_wait(&agents[0].process, 5000);
    snprintf(url, sizeof url, "tcp://%s", agent_list);
    const char *args[] = {"--listen", url, NULL};
    process_start(&again, "hammer-agent", args);
    start_run(&p, "100", "100ms");
    expect_whole(&p, 10);
    process_end(&again);
}
END_TEST

/* --- the controller's signals and output ---------------------------------------------------- */

START_TEST(test_controller_signals)
{
    static const int signals[] = {SIGTERM, SIGHUP};
    struct process p;
    start_all(1);
    start_run(&p, "200", "30");
    wait_requests(50);
    process_signal(&p, SIGPIPE);
    wait_ms(50);
    ck_assert(process_alive(&p));
    process_signal(&p, signals[_i]);
    json_t *r = report_wait(&p, 130, -1, WAIT_MS);
    ck_assert_str_eq(report_text_at(r, "verdict.status"), "interrupted");
    ck_assert_int_ge(report_int(r, "totals.ok"), 50);
    done(&p, r);
    start_run(&p, "100", "100ms"); /* the agent is free */
    expect_whole(&p, 10);
}
END_TEST

static bool has_child(const struct process *p)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)p->pid, (int)p->pid);
    char *text = file_read(path);
    bool any = text != NULL && text[0] != '\0';
    mem_free(text);
    return any;
}

/* The first local agents are there, the others not yet: all are cleaned up, and the report says
 * why. */
START_TEST(test_interrupt_while_agents_start)
{
    struct process p;
    start_all(0);
    const char *args[] = {"run", "-r", "100", "--local", "16", "--json", target.url, NULL};
    process_start(&p, "hammer-ctl", args);
    uint64_t until = clock_mono_ns() + 10 * NS_PER_SEC;
    for (; !has_child(&p); wait_ms(1))
        ck_assert_uint_lt(clock_mono_ns(), until);
    process_signal(&p, SIGINT);
    json_t *r = report_wait(&p, 130, -1, WAIT_MS);
    ck_assert_str_eq(report_text_at(r, "verdict.status"), "interrupted");
    ck_assert_int_eq(report_int(r, "totals.sent"), 0);
    done(&p, r);
}
END_TEST

/* Ctrl-C while the report is being written comes when the fleet is gone already. */
START_TEST(test_interrupt_during_the_report)
{
    char command[512], line[64], sink[4096];
    int full = 0;
    start_all(1);
    snprintf(command, sizeof command,
             "echo $$; HAMMER_NO_SAVE=1 exec %s/hammer-ctl run --agents %.64s -r 100 -d 100ms -c 4 "
             "--json %s",
             TEST_BIN_DIR, agent_list, target.url);
    FILE *f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    int size = fcntl(fileno(f), F_SETPIPE_SZ, 4096); /* less than a report */
    ck_assert_int_gt(size, 0);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, f));
    uint64_t until = clock_mono_ns() + 20 * NS_PER_SEC;
    for (; full < size; wait_ms(2)) {
        ck_assert_int_eq(ioctl(fileno(f), FIONREAD, &full), 0);
        ck_assert_uint_lt(clock_mono_ns(), until);
    }
    kill((pid_t)strtol(line, NULL, 10), SIGINT);
    while (fread(sink, 1, sizeof sink, f) > 0)
        ;
    int status = pclose(f);
    ck_assert(WIFEXITED(status));
    ck_assert_msg(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 4, "exit code %d",
                  WEXITSTATUS(status));
}
END_TEST

/* The shell's `hammer-ctl run ... REDIRECTION`; stderr goes to a file whose text is returned. */
static int run_in_shell(const char *flags, const char *redirection, char **err)
{
    char command[1024], path[] = "/tmp/hammer-err-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    snprintf(command, sizeof command,
             "HAMMER_NO_SAVE=1 %s/hammer-ctl run --agents %s -r 100 -d 100ms -c 4 %s %s 2>%s %s "
             "</dev/null",
             TEST_BIN_DIR, agent_list, flags, target.url, path, redirection);
    int status = system(command);
    *err = file_read(path);
    unlink(path);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* A report that cannot be written is an error and says so; it never goes somewhere else. */
START_TEST(test_output_is_lost)
{
    static const char *const redirections[] = {">&-", ">/dev/full"};
    static const char *const formats[] = {"--json", "--latency"};
    start_all(1);
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < 2; k++) {
            char *err;
            int code = run_in_shell(formats[i], redirections[k], &err);
            ck_assert_msg(code == 2 || code == 4, "%s: exit code %d", redirections[k], code);
            ck_assert_msg(strstr(err, "could not be written") != NULL, "%s: %s", redirections[k],
                          err);
            mem_free(err);
        }
    }
    struct process p;
    start_run(&p, "100", "100ms"); /* no byte of it confused the agent */
    expect_whole(&p, 10);
}
END_TEST

/* Where a report cannot go is known before the run. */
START_TEST(test_output_folder_is_missing)
{
    struct process p;
    start_all(1);
    const char *bad[] = {"/nonexistent/folder/x.json", "/dev/null/x.txt",
                         "/x/../nonexistent/x.json"};
    for (size_t i = 0; i < 3; i++) {
        const char *args[] = {"run", "--agents", agent_list, "-r",       "100", "-d",
                              "10",  "-o",       bad[i],     target.url, NULL};
        ck_assert_int_eq(process_run(&p, "hammer-ctl", args, 5000), 1);
        ck_assert_msg(strstr(p.err, "--output") != NULL && strstr(p.err, bad[i]) != NULL, "%s",
                      p.err);
        process_end(&p);
    }
    process_signal(&target.process, SIGTERM);
    process_wait(&target.process, 5000);
    char *log = file_read(target.log);
    ck_assert_str_eq(log, "");
    mem_free(log);
}
END_TEST

/* --- odd runs ------------------------------------------------------------------------------- */

START_TEST(test_unknown_name)
{
    /* A label of 64 characters: no resolver asks the network for it. */
    static const char *const url =
        "http://aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbccccccccccccccccdddddddddddddddd.invalid/";
    struct process p;
    const char *args[] = {"run", "-r", "10", "-d", "1", url, NULL};
    int code = process_run(&p, "hammer-ctl", args, 20000);
    ck_assert_msg(code == 1 || code == 2, "exit code %d: %s", code, p.err);
    ck_assert_msg(strstr(p.err, "dddd.invalid") != NULL, "%s", p.err);
    ck_assert_str_eq(p.out, "");
    process_end(&p);
}
END_TEST

/* A fake agent from the future: refused by name and version. */
START_TEST(test_agent_of_another_version)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;
    struct process p;
    struct raw_control r = {.fd = -1};
    struct msg m;
    char address[64];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert(bind(fd, (struct sockaddr *)&sa, sizeof sa) == 0 && listen(fd, 8) == 0 &&
              getsockname(fd, (struct sockaddr *)&sa, &len) == 0);
    snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)ntohs(sa.sin_port));
    const char *args[] = {"run", "--agents", address, "-r", "10", "http://127.0.0.1:1/", NULL};
    process_start(&p, "hammer-ctl", args);
    r.fd = accept(fd, NULL, NULL);
    ck_assert(raw_read(&r, &m));
    ck_assert_int_eq(m.type, MSG_HELLO);
    m = (struct msg){.type = MSG_WELCOME,
                     .welcome = {.version = 99, .cores = 1, .lease_ms = 10000}};
    strcpy(m.welcome.agent, "future");
    strcpy(m.welcome.build, "9.9");
    ck_assert(raw_send(&r, &m));
    ck_assert_int_eq(process_wait(&p, 15000), 2);
    ck_assert_msg(strstr(p.err, "99") != NULL && strstr(p.err, address) != NULL, "%s", p.err);
    process_end(&p);
    raw_close(&r);
    close(fd);
}
END_TEST

static const struct {
    const char *args[8];
    int64_t requests;
} shapes[] = {
    {{"-r", "100", "-d", "0.2"}, 20},
    {{"-r", "10", "-n", "1"}, 1},
    {{"-r", "1/h", "-d", "1"}, 1},
    {{"-r", "1k", "-d", "1", "--interval", "100ms"}, 1000},
    {{"-r", "7", "-d", "1ms"}, 1},
    {{"-r", "640", "-d", "1", "--local", "64"}, 640},
    {{"-r", "3", "-d", "1", "--local", "8"}, 3},
};

START_TEST(test_shape)
{
    struct process p;
    const char *args[16] = {"run", "--json"};
    size_t n = 2;
    start_all(0);
    for (size_t i = 0; i < 8 && shapes[_i].args[i] != NULL; i++)
        args[n++] = shapes[_i].args[i];
    args[n++] = target.url;
    process_start(&p, "hammer-ctl", args);
    json_t *r = report_wait(&p, 0, 4, WAIT_MS);
    ck_assert_int_eq(report_int(r, "totals.scheduled"), shapes[_i].requests);
    ck_assert_int_eq(report_int(r, "totals.ok"), shapes[_i].requests);
    done(&p, r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("abuse_runs");
    TCase *t = tcase_create("abuse_runs");
    tcase_set_timeout(t, 90);
    tcase_add_checked_fixture(t, NULL, stop_all);
    tcase_add_test(t, test_agent_pauses);
    tcase_add_test(t, test_controller_pauses);
    tcase_add_test(t, test_agent_freezes);
    tcase_add_test(t, test_one_of_three_is_killed);
    tcase_add_test(t, test_agent_is_terminated);
    tcase_add_test(t, test_agent_dies_before_the_start);
    tcase_add_test(t, test_agent_restarts_on_its_port);
    tcase_add_loop_test(t, test_controller_signals, 0, 2);
    tcase_add_test(t, test_interrupt_while_agents_start);
    tcase_add_test(t, test_interrupt_during_the_report);
    tcase_add_test(t, test_output_is_lost);
    tcase_add_test(t, test_output_folder_is_missing);
    tcase_add_test(t, test_unknown_name);
    tcase_add_test(t, test_agent_of_another_version);
    tcase_add_loop_test(t, test_shape, 0, (int)(sizeof shapes / sizeof shapes[0]));
    suite_add_tcase(s, t);
    return check_main(s);
}
