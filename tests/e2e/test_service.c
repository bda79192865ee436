/* SPDX-License-Identifier: MIT */
/* hammer-agent as a service: what it tells systemd, what SIGHUP and SIGTERM do, who may come in. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/notify_socket.h"
#include "tests/lib/process.h"
#include "tests/lib/raw_control.h"
#include "tests/lib/report.h"

#define DRAIN_NS (2 * NS_PER_SEC)

static char dir[64], config[96];
static struct target_process target;
static struct agent_process agent;
static struct process run;
static struct notify_socket systemd;

static void setup(void)
{
    folder_make(dir);
    snprintf(config, sizeof config, "%s/agent.yml", dir);
}

static void teardown(void)
{
    process_signal(&run, SIGCONT);
    process_end(&run);
    if (agent.process.pid != 0)
        agent_stop(&agent);
    if (target.process.pid != 0)
        target_stop(&target);
    memset(&agent, 0, sizeof agent);
    memset(&target, 0, sizeof target);
    folder_remove(dir);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    ck_assert(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void start_agent(void)
{
    const char *args[] = {"--config", config, NULL};
    agent_start(&agent, args);
}

static void start_run(const char *agents, const char *rate, const char *duration)
{
    const char *args[] = {"run", "--agents", agents, "-r",  rate,     "-d",       duration,
                          "-c",  "4",        "-T",   "30s", "--json", target.url, NULL};
    process_start(&run, "hammer-ctl", args);
}

static void wait_ms(uint64_t ms)
{
    clock_sleep_until(clock_mono_ns() + ms * NS_PER_MS);
}

/* Until the agent's log has the text, beyond the first `skip` bytes; returns the log's length. */
static size_t wait_log(const char *text, size_t skip)
{
    uint64_t until = clock_mono_ns() + 20 * NS_PER_SEC;
    for (;; wait_ms(5)) {
        char *log = file_read(agent.process.err_path);
        size_t len = log != NULL ? strlen(log) : 0;
        bool found = len > skip && strstr(log + skip, text) != NULL;
        ck_assert_msg(found || clock_mono_ns() < until, "not logged: %s\n%s", text, log);
        mem_free(log);
        if (found)
            return len;
    }
}

/* --- systemd -------------------------------------------------------------------------------- */

#ifdef HAMMER_SYSTEMD
/* Everything that a unit of Type=notify relies on, in the order of a life. */
START_TEST(test_what_systemd_is_told)
{
    notify_socket_open(&systemd, dir);
    setenv("WATCHDOG_USEC", "200000", 1);
    write_file(config, "");
    target_start(&target, NULL);
    start_agent();
    const char *at = notify_socket_wait(&systemd, NULL, "READY=1", 10000);
    struct raw_control r;
    raw_dial(&r, agent.address); /* ready = it listens */
    raw_close(&r);
    at = notify_socket_wait(&systemd, at, "WATCHDOG=1", 5000);
    at = notify_socket_wait(&systemd, at + 1, "WATCHDOG=1", 5000);
    start_run(agent.address, "50", "2s");
    at = notify_socket_wait(&systemd, at, "STATUS=held by ", 10000);
    at = notify_socket_wait(&systemd, at, "STATUS=running run ", 10000);
    notify_socket_wait(&systemd, at, "WATCHDOG=1", 5000);
    at = notify_socket_wait(&systemd, at, "STATUS=idle", 10000);
    process_signal(&agent.process, SIGHUP);
    at = notify_socket_wait(&systemd, at, "RELOADING=1\nMONOTONIC_USEC=", 5000);
    at = notify_socket_wait(&systemd, at, "READY=1", 5000);
    process_signal(&agent.process, SIGTERM);
    notify_socket_wait(&systemd, at, "STOPPING=1", 5000);
    ck_assert_int_eq(process_wait(&agent.process, 5000), 0);
    unsetenv("WATCHDOG_USEC");
    notify_socket_close(&systemd);
}
END_TEST
#endif

/* --- SIGHUP --------------------------------------------------------------------------------- */

/* Reloads during a run, of good and of broken files, cost it nothing. */
START_TEST(test_reload_leaves_a_run_alone)
{
    write_file(config, "log-level: info\n");
    target_start(&target, NULL);
    start_agent();
    start_run(agent.address, "300", "3s");
    size_t skip = wait_log("preparing run", 0);
    for (int i = 0; i < 6; i++) {
        write_file(config, i % 2 == 0 ? "log-lebel: debug\n" : "allow-target: 192.0.2.0/24\n");
        process_signal(&agent.process, SIGHUP);
        skip = wait_log("reloaded", skip);
        wait_ms(200);
    }
    wait_log("agent.yml:1:1: unknown key log-lebel: did you mean log-level?; the old", 0);
    int code = process_wait(&run, 30000);
    ck_assert_msg(code == 0 || code == 4, "%d %s", code, run.err);
    json_t *r = report_parse(run.out);
    report_check_ledger(r);
    ck_assert_int_eq(report_int(r, "totals.scheduled"), 900);
    ck_assert_int_eq(report_int(r, "totals.ok"), 900);
    ck_assert(json_is_false(report_at(r, "agents.0.insecure")));
    json_decref(r);
}
END_TEST

static void signal_and_wait(const char *text)
{
    char *log = file_read(agent.process.err_path);
    size_t skip = strlen(log);
    mem_free(log);
    process_signal(&agent.process, SIGHUP);
    wait_log(text, skip);
}

static int run_once(void)
{
    start_run(agent.address, "100", "300ms");
    int code = process_wait(&run, 10000);
    process_end(&run);
    return code;
}

/* The file of --policy: a run that is under way keeps what it began with, the next one meets what
 * was read last, and a broken file changes nothing. */
START_TEST(test_reload_of_a_policy)
{
    char policy[96], text[160];
    snprintf(policy, sizeof policy, "%s/policy.yml", dir);
    snprintf(text, sizeof text, "policy: %s\n", policy);
    write_file(config, text);
    write_file(policy, "max_rate: 1000\n");
    target_start(&target, NULL);
    start_agent();
    start_run(agent.address, "200", "2s");
    wait_log("preparing run", 0);
    write_file(policy, "max_rate: 1\n");
    signal_and_wait("reloaded");
    int code = process_wait(&run, 20000);
    ck_assert_msg(code == 0 || code == 4, "%d %s", code, run.err);
    json_t *r = report_parse(run.out);
    ck_assert_int_eq(report_int(r, "totals.ok"), 400);
    json_decref(r);
    process_end(&run);
    ck_assert_int_eq(run_once(), 2);
    write_file(policy, "max_rate: 1000\nmax_speed: 1\n");
    signal_and_wait("policy.yml:2:1: ");
    wait_log("reloaded, but for what is said above", 0);
    ck_assert_int_eq(run_once(), 2);
    write_file(policy, "max_rate: 1000\n");
    signal_and_wait("reloaded");
    code = run_once();
    ck_assert(code == 0 || code == 4);
}
END_TEST

static size_t count(const char *path, const char *text)
{
    char *all = file_read(path);
    size_t n = 0;
    for (const char *p = all; p != NULL && (p = strstr(p, text)) != NULL; p++)
        n++;
    mem_free(all);
    return n;
}

/* What logrotate does: the file is moved away, SIGHUP, and the next lines are in a new one. */
START_TEST(test_audit_is_reopened)
{
    char audit[96], moved[96], text[160];
    snprintf(audit, sizeof audit, "%s/audit.jsonl", dir);
    snprintf(moved, sizeof moved, "%s/audit.1", dir);
    snprintf(text, sizeof text, "audit: %s\n", audit);
    write_file(config, text);
    target_start(&target, NULL);
    start_agent();
    run_once();
    ck_assert_uint_eq(count(audit, "\"begin\""), 1);
    ck_assert_int_eq(rename(audit, moved), 0);
    signal_and_wait("reloaded");
    run_once();
    ck_assert_uint_eq(count(moved, "\"begin\""), 1);
    ck_assert_uint_eq(count(audit, "\"begin\""), 1);
    ck_assert_uint_eq(count(audit, "\"end\""), 1);
}
END_TEST

/* The log level changes with a good file; a broken one, or a broken policy in it, leaves the old
 * one in force. */
START_TEST(test_reload_takes_effect)
{
    write_file(config, "");
    target_start(&target, NULL);
    start_agent();
    write_file(config, "log-level: debug\n");
    process_signal(&agent.process, SIGHUP);
    size_t skip = wait_log("reloaded", 0);
    start_run(agent.address, "100", "300ms");
    process_wait(&run, 10000);
    process_end(&run);
    skip = wait_log("debug: ", skip);
    write_file(config, "log-level: error\nallow-target: 10.0.0.0/99\n");
    process_signal(&agent.process, SIGHUP);
    skip = wait_log("the old policy stays in use", skip);
    write_file(config, "log-level: [\n");
    process_signal(&agent.process, SIGHUP);
    wait_log("the old configuration stays in use", skip);
    char *log = file_read(agent.process.err_path);
    skip = strlen(log);
    mem_free(log);
    start_run(agent.address, "100", "300ms");
    process_wait(&run, 10000);
    log = file_read(agent.process.err_path);
    ck_assert_str_eq(log + skip, "");
    mem_free(log);
}
END_TEST

/* --- SIGTERM -------------------------------------------------------------------------------- */

static uint64_t end_agent(void)
{
    uint64_t start = clock_mono_ns();
    process_signal(&agent.process, SIGTERM);
    ck_assert_int_eq(process_wait(&agent.process, 10000), 0);
    uint64_t took = clock_mono_ns() - start;
    ck_assert_msg(took <= DRAIN_NS * (process_sanitized() ? 4 : 1), "%lu ms",
                  (unsigned long)(took / NS_PER_MS));
    return took;
}

/* Nobody answers a single request: what is in flight is given up and counted. */
START_TEST(test_terminate_with_a_hung_target)
{
    static const char *const hung[] = {"--delay", "60s", NULL};
    write_file(config, "");
    target_start(&target, hung);
    start_agent();
    start_run(agent.address, "50", "60s");
    wait_log("preparing run", 0);
    wait_ms(1000);
    end_agent();
    int code = process_wait(&run, 30000);
    ck_assert_msg(code == 3 || code == 2, "%d: %s", code, run.err);
    json_t *r = report_parse(run.out);
    report_check_ledger(r);
    ck_assert_int_gt(report_int(r, "totals.unfinished"), 0);
    json_decref(r);
    process_end(&target.process); /* it holds its answers back for a minute */
    target.process.pid = 0;
    folder_remove(target.dir);
}
END_TEST

/* The one who should hear the last figures does not listen. */
START_TEST(test_terminate_with_a_hung_controller)
{
    write_file(config, "");
    target_start(&target, NULL);
    start_agent();
    start_run(agent.address, "50", "60s");
    wait_log("preparing run", 0);
    wait_ms(1000);
    process_signal(&run, SIGSTOP);
    end_agent();
    process_signal(&run, SIGKILL);
}
END_TEST

/* --- the local socket ----------------------------------------------------------------------- */

static void start_local(char path[108])
{
    char url[128];
    snprintf(path, 108, "%.60s/agent.sock", dir);
    snprintf(url, sizeof url, "ipc://%s", path);
    const char *args[] = {"--listen", url, NULL};
    process_start(&agent.process, "hammer-agent", args);
    wait_log("listens on", 0);
}

static bool dial_local(struct raw_control *r, const char *path)
{
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    snprintf(sa.sun_path, sizeof sa.sun_path, "%s", path);
    *r = (struct raw_control){.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    struct timeval limit = {.tv_sec = 10};
    setsockopt(r->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return connect(r->fd, (const struct sockaddr *)&sa, sizeof sa) == 0;
}

START_TEST(test_local_socket)
{
    char path[108];
    struct stat st;
    struct raw_control r;
    struct msg m;
    start_local(path);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0660);
    ck_assert(dial_local(&r, path));
    ck_assert(raw_hello(&r, 1, MSG_VERSION_MAX));
    ck_assert(raw_read(&r, &m));
    ck_assert_int_eq(m.type, MSG_WELCOME);
    ck_assert_uint_eq(m.welcome.insecure, 0);
    raw_close(&r);
}
END_TEST

/* Permissions that somebody loosened do not help a stranger, who is told why. */
START_TEST(test_stranger_is_refused)
{
    char path[108];
    struct raw_control r;
    struct msg m;
    start_local(path);
    ck_assert_int_eq(chmod(path, 0666), 0);
    ck_assert_int_eq(chmod(dir, 0755), 0);
    ck_assert_int_eq(seteuid(3999999), 0);
    bool up = dial_local(&r, path);
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert(up);
    ck_assert(raw_read(&r, &m));
    ck_assert_int_eq(m.type, MSG_REFUSE);
    ck_assert_int_eq((int)m.refuse.code, REFUSE_POLICY);
    ck_assert_msg(strstr(m.refuse.text, "uid 3999999 may not command this agent") != NULL, "%s",
                  m.refuse.text);
    ck_assert(!raw_read(&r, &m)); /* closed */
    raw_close(&r);
    wait_log("uid 3999999 may not command", 0);
}
END_TEST

/* --- without TLS ---------------------------------------------------------------------------- */

START_TEST(test_insecure_is_told_everywhere)
{
    char port_file[96], address[64];
    snprintf(port_file, sizeof port_file, "%s/port", dir);
    const char *args[] = {"--listen",    "tcp://0.0.0.0:0", "--insecure-listen",
                          "--port-file", port_file,         NULL};
    process_start(&agent.process, "hammer-agent", args);
    char *line = file_wait_line(port_file, 10000);
    snprintf(address, sizeof address, "127.0.0.1:%s", strrchr(line, ':') + 1);
    mem_free(line);
    wait_log("--insecure-listen: whoever reaches tcp://0.0.0.0:", 0);
    target_start(&target, NULL);
    start_run(address, "50", "300ms");
    process_wait(&run, 10000);
    json_t *r = report_parse(run.out);
    ck_assert(json_is_true(report_at(r, "agents.0.insecure")));
    json_decref(r);
}
END_TEST

/* --- --check-config ------------------------------------------------------------------------- */

static void check_config(const char *text, int code, const char *says)
{
    struct process p;
    const char *args[] = {"--check-config", "--config", config, NULL};
    write_file(config, text);
    int got = process_run(&p, "hammer-agent", args, 10000);
    ck_assert_msg(got == code, "%d: %s%s", got, p.out, p.err);
    const char *where = code == 0 ? p.out : p.err;
    ck_assert_msg(strstr(where, says) != NULL, "%s", where);
    process_end(&p);
}

START_TEST(test_check_config)
{
    check_config("", 0, "listen   ipc:///run/hammer/agent.sock");
    check_config("listen: tcp://127.0.0.1:0\n", 0, "tcp://127.0.0.1:0 (this machine only)");
    check_config("listen: tcp://192.0.2.1:7400\n", 1, "hammer-ctl pki init");
    check_config("listen: tcp://192.0.2.1:7400\ninsecure-listen: true\n", 0, "--insecure-listen");
    check_config("lissen: x\n", 1, "agent.yml:1:1: unknown key lissen");
    check_config("once: true\n", 1, "unknown key once");
    check_config("cpu: a\n", 1, "--cpu");
    check_config("allow-target: [10.0.0.0/33]\n", 1, "10.0.0.0/33");
    check_config("allow-target: [10.0.0.0/8]\n", 0, "policy   targets loopback, 10.0.0.0/8");
    check_config("policy: /nowhere.yml\n", 1, "/nowhere.yml");
}
END_TEST

/* --- TLS ------------------------------------------------------------------------------------ */

static void make_pki(char agent_dir[96])
{
    char ca[96];
    struct process p;
    snprintf(ca, sizeof ca, "%s/ca", dir);
    snprintf(agent_dir, 96, "%s/pki", dir);
    const char *init[] = {"pki", "init", "--dir", ca, NULL};
    const char *issue[] = {"pki", "agent", "load-1", "--dir", ca, "--out", agent_dir, NULL};
    ck_assert_msg(process_run(&p, "hammer-ctl", init, 10000) == 0, "%s", p.err);
    process_end(&p);
    ck_assert_msg(process_run(&p, "hammer-ctl", issue, 10000) == 0, "%s", p.err);
    process_end(&p);
}

static void tls_config(char *text, size_t cap, const char *pki)
{
    snprintf(text, cap,
             "listen: tls+tcp://127.0.0.1:0\ntls-ca: %s/ca.crt\ntls-cert: %s/agent.crt\n"
             "tls-key: %s/agent.key\ntls-crl: %s/crl.pem\n",
             pki, pki, pki, pki);
}

START_TEST(test_check_config_of_tls)
{
    char pki[96], text[640], path[128];
    check_config("listen: tls+tcp://127.0.0.1:0\ntls-cert: /nowhere/agent.crt\n", 1,
                 "hammer-ctl pki agent NAME --out DIR");
    make_pki(pki);
    tls_config(text, sizeof text, pki);
    check_config(text, 0, "tls      ");
    snprintf(path, sizeof path, "%s/agent.key", pki);
    ck_assert_int_eq(chmod(path, 0640), 0);
    check_config(text, 1, "agent.key: a private key with mode 0640");
    ck_assert_int_eq(chmod(path, 0600), 0);
    snprintf(path, sizeof path, "%s/agent.crt", pki);
    write_file(path, "no certificate\n");
    check_config(text, 1, "agent.crt");
}
END_TEST

/* A broken file keeps the certificates that work. */
START_TEST(test_reload_of_certificates)
{
    char pki[96], text[640], path[128], port_file[96];
    make_pki(pki);
    tls_config(text, sizeof text, pki);
    write_file(config, text);
    snprintf(port_file, sizeof port_file, "%s/port", dir);
    const char *args[] = {"--config", config, "--port-file", port_file, NULL};
    process_start(&agent.process, "hammer-agent", args);
    mem_free(file_wait_line(port_file, 10000));
    signal_and_wait("reloaded");
    snprintf(path, sizeof path, "%s/crl.pem", pki);
    write_file(path, "no list\n");
    signal_and_wait("crl.pem");
    wait_log("the old certificates stay in use", 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("service");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
#ifdef HAMMER_SYSTEMD
    tcase_add_test(t, test_what_systemd_is_told);
#endif
    tcase_add_test(t, test_reload_leaves_a_run_alone);
    tcase_add_test(t, test_reload_takes_effect);
    tcase_add_test(t, test_reload_of_a_policy);
    tcase_add_test(t, test_audit_is_reopened);
    tcase_add_test(t, test_terminate_with_a_hung_target);
    tcase_add_test(t, test_terminate_with_a_hung_controller);
    tcase_add_test(t, test_local_socket);
    if (geteuid() == 0)
        tcase_add_test(t, test_stranger_is_refused);
    tcase_add_test(t, test_insecure_is_told_everywhere);
    tcase_add_test(t, test_check_config);
    tcase_add_test(t, test_check_config_of_tls);
    tcase_add_test(t, test_reload_of_certificates);
    suite_add_tcase(s, t);
    return check_main(s);
}
