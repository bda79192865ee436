/* SPDX-License-Identifier: MIT */
/* Whole runs over tls+tcp:// with the certificates that hammer-ctl pki makes. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

#define AGENTS 2

static const char *const names[AGENTS] = {"load1", "load2.example.org"};

static char home[64];
static char pki[96]; /* hammer-ctl pki's default folder */
static struct target_process target;
static struct agent_process agents[AGENTS];

static void ctl_ok(const char *a, const char *b, const char *c, const char *d, const char *e)
{
    struct process p;
    const char *args[] = {a, b, c, d, e, NULL};
    int code = process_run(&p, "hammer-ctl", args, 20000);
    ck_assert_msg(code == 0, "hammer-ctl %s %s: %s", a, b, p.err);
    process_end(&p);
}

/* What an operator copies to the host of agent i: a folder of its own. */
static const char *folder_of(size_t i, const char *file)
{
    static char bufs[8][160];
    static unsigned next;
    char *buf = bufs[next++ % 8];
    snprintf(buf, sizeof bufs[0], "%s/%s%s%s", home, names[i], *file != '\0' ? "/" : "", file);
    return buf;
}

static void start_agent(size_t i)
{
    const char *args[] = {
        "--listen",  "tls+tcp://127.0.0.1:0",   "--name",     names[i],
        "--tls-ca",  folder_of(i, "ca.crt"),    "--tls-cert", folder_of(i, "agent.crt"),
        "--tls-key", folder_of(i, "agent.key"), "--tls-crl",  folder_of(i, "crl.pem"),
        NULL};
    agent_start(&agents[i], args);
}

static void set_up(void)
{
    folder_make(home);
    snprintf(pki, sizeof pki, "%s/hammer/pki", home);
    setenv("XDG_CONFIG_HOME", home, 1);
    ctl_ok("pki", "init", NULL, NULL, NULL);
    ctl_ok("pki", "controller", "desk", NULL, NULL);
    for (size_t i = 0; i < AGENTS; i++) {
        ctl_ok("pki", "agent", names[i], "--out", folder_of(i, ""));
        start_agent(i);
    }
    target_start(&target, NULL);
}

static void tear_down(void)
{
    for (size_t i = 0; i < AGENTS; i++)
        agent_stop(&agents[i]);
    target_stop(&target);
    struct process p;
    const char *args[] = {"-rf", home, NULL};
    ck_assert_int_eq(process_run(&p, "/bin/rm", args, 10000), 0);
    process_end(&p);
}

/* A short run against `list`; further flags in `more`. */
static int run(struct process *p, const char *list, const char *const *more)
{
    const char *args[PROCESS_ARGS_MAX] = {"run", "--agents", list, "-r", "600",
                                          "-d",  "1",        "-c", "6",  "--json"};
    size_t n = 10;
    for (; more != NULL && *more != NULL; more++)
        args[n++] = *more;
    args[n] = target.url;
    return process_run(p, "hammer-ctl", args, 60000);
}

static void check_good(const char *list, const char *const *more)
{
    struct process p;
    int code = run(&p, list, more);
    ck_assert_msg(code == 0 || code == 4, "%d %s", code, p.err);
    process_end(&p);
}

/* hammer-ctl tries for 10 s unless told otherwise, as an agent may still be on its way up. */
static void check_refused(const char *list, const char *const *more, const char *said)
{
    struct process p;
    const char *args[8] = {"--wait-agents", "3s"};
    for (size_t n = 2; more != NULL && *more != NULL; more++)
        args[n++] = *more;
    int code = run(&p, list, args);
    ck_assert_msg(code == 2, "%d %s", code, p.err);
    ck_assert_msg(strstr(p.err, said) != NULL, "\"%s\" is not in: %s", said, p.err);
    process_end(&p);
}

static const char *agent_at(size_t name, size_t place)
{
    static char buf[160];
    snprintf(buf, sizeof buf, "%s@%s", names[name], agents[place].address);
    return buf;
}

START_TEST(test_two_agents)
{
    struct process p;
    char list[256], address[96];
    snprintf(list, sizeof list, "%s@%s,%s@tls+tcp://%s*2", names[0], agents[0].address, names[1],
             agents[1].address);
    int code = run(&p, list, NULL);
    ck_assert_msg(code == 0 || code == 4, "%d %s", code, p.err);
    json_t *r = report_parse(p.out);
    report_check_ledger(r);
    ck_assert_int_eq(report_int(r, "totals.scheduled"), 600);
    ck_assert_int_eq(report_int(r, "agents.0.totals.scheduled"), 200);
    ck_assert_int_eq(report_int(r, "agents.1.totals.scheduled"), 400);
    for (size_t i = 0; i < AGENTS; i++) {
        char path[32];
        snprintf(path, sizeof path, "agents.%zu.address", i);
        snprintf(address, sizeof address, "tls+tcp://%s", agents[i].address);
        ck_assert_str_eq(report_text_at(r, path), address);
    }
    json_decref(r);
    process_end(&p);
}
END_TEST

START_TEST(test_text_report)
{
    struct process p;
    char want[128];
    const char *args[] = {"run", "--agents", agent_at(0, 0), "-r", "100", "-d", "1",
                          "-c",  "2",        target.url,     NULL};
    int code = process_run(&p, "hammer-ctl", args, 30000);
    ck_assert_msg(code == 0 || code == 4, "%d %s", code, p.err);
    snprintf(want, sizeof want, "%s (%s)", names[0], agents[0].address);
    ck_assert_msg(strstr(p.out, want) != NULL, "%s", p.out);
    process_end(&p);
}
END_TEST

/* hammer-ctl agents dials as run does. */
START_TEST(test_agents_command)
{
    struct process p;
    const char *good[] = {"agents", "--agents", agent_at(0, 0), "--json", NULL};
    int code = process_run(&p, "hammer-ctl", good, 30000);
    ck_assert_msg(code == 0, "%d %s", code, p.err);
    json_t *r = json_loads(p.out, 0, NULL);
    ck_assert_ptr_nonnull(r);
    json_t *agent = json_array_get(json_object_get(r, "agents"), 0);
    ck_assert(json_is_true(json_object_get(agent, "tls")));
    json_decref(r);
    process_end(&p);
    const char *bad[] = {"agents", "--agents", agent_at(0, 1), NULL};
    code = process_run(&p, "hammer-ctl", bad, 30000);
    ck_assert_msg(code == 2, "%d %s", code, p.err);
    ck_assert_msg(strstr(p.err, "not for the name \"load1\"") != NULL, "%s", p.err);
    process_end(&p);
    const char *plain[] = {"agents", "--agents", agents[0].address, NULL};
    code = process_run(&p, "hammer-ctl", plain, 30000);
    ck_assert_msg(code == 2, "%d %s", code, p.err);
    ck_assert_msg(strstr(p.err, "an agent that wants TLS (NAME@HOST)") != NULL, "%s", p.err);
    process_end(&p);
}
END_TEST

/* The host's name counts where no name@ is given; "localhost" is in nobody's certificate. */
START_TEST(test_wrong_name)
{
    char list[160];
    check_good(agent_at(0, 0), NULL);
    check_refused(agent_at(0, 1), NULL, "not for the name \"load1\"");
    snprintf(list, sizeof list, "tls+tcp://localhost%s", strchr(agents[0].address, ':'));
    check_refused(list, NULL, "not for the name \"localhost\"");
    check_good(agent_at(0, 0), NULL);
}
END_TEST

/* The agents learn of a revocation by SIGHUP; a new certificate works at once. */
START_TEST(test_revoked_controller)
{
    char cert[160], key[160], crl[160];
    snprintf(cert, sizeof cert, "%s/controllers/desk2.crt", pki);
    snprintf(key, sizeof key, "%s/controllers/desk2.key", pki);
    snprintf(crl, sizeof crl, "%s/crl.pem", pki);
    const char *second[] = {"--tls-cert", cert, "--tls-key", key, NULL};
    ctl_ok("pki", "controller", "desk2", NULL, NULL);
    check_good(agent_at(0, 0), NULL);
    check_good(agent_at(0, 0), second);
    ctl_ok("pki", "revoke", "desk", NULL, NULL);
    check_refused(agent_at(0, 0), NULL, "controller.crt: the certificate is revoked by ");
    struct process p;
    const char *copy[] = {crl, folder_of(0, "crl.pem"), NULL};
    ck_assert_int_eq(process_run(&p, "/bin/cp", copy, 10000), 0);
    process_end(&p);
    process_signal(&agents[0].process, SIGHUP);
    /* A thief has the key and not our list. */
    char stale[160];
    snprintf(stale, sizeof stale, "%s", folder_of(1, "crl.pem"));
    const char *thief[] = {"--tls-crl", stale, NULL};
    check_refused(agent_at(0, 0), thief, "refuses ours");
    check_good(agent_at(0, 0), second);
}
END_TEST

START_TEST(test_our_own_files)
{
    char key[160];
    snprintf(key, sizeof key, "%s/controller.key", pki);
    const char *none[] = {"--tls-cert", "/nowhere/me.crt", NULL};
    check_refused(agent_at(0, 0), none, "/nowhere/me.crt: no such file");
    ck_assert_int_eq(chmod(key, 0640), 0);
    check_refused(agent_at(0, 0), NULL, "a private key with mode 0640: ");
    ck_assert_int_eq(chmod(key, 0600), 0);
    setenv("XDG_CONFIG_HOME", "/nowhere", 1);
    check_refused(agent_at(0, 0), NULL, "hammer-ctl pki init");
    setenv("XDG_CONFIG_HOME", home, 1);
    check_good(agent_at(0, 0), NULL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tls");
    TCase *t = tcase_create("tls");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, test_two_agents);
    tcase_add_test(t, test_text_report);
    tcase_add_test(t, test_agents_command);
    tcase_add_test(t, test_wrong_name);
    tcase_add_test(t, test_revoked_controller);
    tcase_add_test(t, test_our_own_files);
    suite_add_tcase(s, t);
    return check_main(s);
}
