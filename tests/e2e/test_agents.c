/* SPDX-License-Identifier: MIT */
/* hammer-ctl agents [check] against real agents, and against one that is of another version; the
 * preflight of run; the inventory file and the file of defaults. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/raw_control.h"
#include "tests/lib/report.h"

static struct target_process target;
static struct agent_process agents[2];
static char both[160];

static void setup(void)
{
    target_start(&target, NULL);
    agent_start(&agents[0], (const char *const[]){"--name", "a1", NULL});
    agent_start(&agents[1], (const char *const[]){"--name", "a2", NULL});
    snprintf(both, sizeof both, "%s,%s", agents[0].address, agents[1].address);
}

static void teardown(void)
{
    agent_stop(&agents[0]);
    agent_stop(&agents[1]);
    target_stop(&target);
}

static void expect(const struct process *p, int code, int want)
{
    if (code == want)
        return;
    printf("%s%s", p->out, p->err);
    fflush(stdout);
    ck_abort_msg("exit code %d instead of %d", code, want);
}

static void has(const char *text, const char *want)
{
    ck_assert_msg(strstr(text, want) != NULL, "'%s' is not in:\n%.3000s", want, text);
}

/* hammer-ctl with these words, which must end with that code. */
static void ctl(struct process *p, int want, const char *const *args)
{
    int code = process_run(p, "hammer-ctl", args, 30000);
    expect(p, code, want);
}

static const char *text_at(json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s != NULL ? s : "";
}

static json_t *list_parse(const char *text)
{
    json_t *root = json_loads(text, 0, NULL);
    ck_assert_msg(root != NULL, "not JSON: %.1000s", text);
    ck_assert_str_eq(text_at(root, "schema"), "hammer.agents/1");
    return root;
}

static json_t *agent_of(json_t *root, size_t i)
{
    json_t *a = json_array_get(json_object_get(root, "agents"), i);
    ck_assert_ptr_nonnull(a);
    return a;
}

/* --- what is shown -------------------------------------------------------------------------- */

START_TEST(test_idle_agents)
{
    struct process p;
    ctl(&p, 0, (const char *const[]){"agents", "--agents", both, "--target", target.url, NULL});
    has(p.out, "a1 (127.0.0.1:");
    has(p.out, "a2 (127.0.0.1:");
    has(p.out, "idle");
    has(p.out, "0 (same clock)");
    has(p.out, "target  reached in ");
    has(p.out, target.address);
    ck_assert_str_eq(p.err, "");
    for (const char *line = p.out; *line != '\0'; line = strchr(line, '\n') + 1)
        ck_assert_uint_le(strcspn(line, "\n"), 100);
    process_end(&p);
}
END_TEST

START_TEST(test_json)
{
    struct process p;
    ctl(&p, 0,
        (const char *const[]){"agents", "--json", "--agents", both, "--target", target.url, NULL});
    json_t *root = list_parse(p.out), *a = agent_of(root, 1), *clock, *reached;
    ck_assert_str_eq(text_at(a, "name"), "a2");
    ck_assert_str_eq(text_at(a, "state"), "idle");
    ck_assert(json_is_null(json_object_get(a, "holder")));
    ck_assert_int_gt(json_integer_value(json_object_get(a, "cores")), 0);
    ck_assert_int_gt(json_integer_value(json_object_get(a, "ports")), 0);
    ck_assert_int_gt(json_integer_value(json_object_get(a, "fds_used")), 3);
    ck_assert_int_lt(json_integer_value(json_object_get(a, "fds_used")), 100);
    clock = json_object_get(a, "clock");
    ck_assert(json_is_true(json_object_get(clock, "same")));
    reached = json_object_get(a, "target");
    ck_assert_str_eq(text_at(reached, "state"), "reached");
    ck_assert_str_eq(json_string_value(json_array_get(json_object_get(reached, "addresses"), 0)),
                     target.address);
    json_decref(root);
    process_end(&p);
}
END_TEST

/* One that is not there is told of once, and the others are shown all the same. */
START_TEST(test_unreachable_agent)
{
    struct process p;
    char list[256];
    snprintf(list, sizeof list, "%s,127.0.0.1:1", agents[0].address);
    ctl(&p, 2, (const char *const[]){"agents", "--agents", list, NULL});
    has(p.out, "a1 (127.0.0.1:");
    has(p.out, "unreachable");
    ck_assert_str_eq(p.err, "hammer-ctl: agent 127.0.0.1:1: connection refused\n");
    process_end(&p);
}
END_TEST

START_TEST(test_targets_that_cannot_be)
{
    struct process p;
    ctl(&p, 2,
        (const char *const[]){"agents", "--agents", both, "--target", "http://192.0.2.1/", NULL});
    has(p.out, "target  refused: 192.0.2.1:80");
    has(p.out, "192.0.2.1");
    process_end(&p);
    ctl(&p, 2,
        (const char *const[]){"agents", "--agents", both, "--target", "http://127.0.0.1:1/", NULL});
    has(p.out, "target  unreachable: 127.0.0.1:1");
    has(p.out, "Connection refused");
    process_end(&p);
    ctl(&p, 2,
        (const char *const[]){"agents", "--agents", both, "--target", "http://169.254.169.254/",
                              NULL});
    has(p.out, "target  refused: 169.254.169.254:80");
    process_end(&p);
    ctl(&p, 1, (const char *const[]){"agents", "--agents", both, "--target", "ftp://x/", NULL});
    has(p.err, "--target ");
    process_end(&p);
}
END_TEST

/* --- a run is under way --------------------------------------------------------------------- */

static json_t *wait_running(void)
{
    for (int i = 0; i < 100; i++) {
        struct process p;
        ctl(&p, 0,
            (const char *const[]){"agents", "--json", "--agents", both, "--target", target.url,
                                  NULL});
        json_t *root = list_parse(p.out);
        process_end(&p);
        if (strcmp(text_at(agent_of(root, 1), "state"), "running") == 0)
            return root;
        json_decref(root);
    }
    ck_abort_msg("the agents do not run");
    return NULL;
}

START_TEST(test_asking_disturbs_no_run)
{
    struct process run, p;
    process_start(&run, "hammer-ctl",
                  (const char *const[]){"run", "--agents", both, "-r", "200", "-d", "4s", "-c", "8",
                                        "--json", target.url, NULL});
    json_t *root = wait_running(), *holder = json_object_get(agent_of(root, 0), "holder");
    char id[64];
    ck_assert_uint_eq(strlen(text_at(holder, "run")), 32);
    snprintf(id, sizeof id, "%s", text_at(holder, "run"));
    has(text_at(holder, "name"), "@");
    ck_assert_int_gt(json_integer_value(json_object_get(holder, "lease_left_ms")), 0);
    json_decref(root);
    ctl(&p, 0, (const char *const[]){"agents", "--agents", both, NULL});
    has(p.out, "held by ");
    has(p.out, "lease ends in ");
    process_end(&p);
    ctl(&p, 2,
        (const char *const[]){"agents", "check", "--agents", both, "-r", "10", target.url, NULL});
    has(p.out, "it is busy: held by ");
    process_end(&p);
    int code = process_wait(&run, 30000);
    ck_assert_msg(code == 0 || code == 4, "exit code %d: %s", code, run.err);
    json_t *r = report_parse(run.out);
    report_check_ledger(r);
    ck_assert_str_eq(text_at(json_object_get(r, "run"), "id"), id);
    ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(r, "totals"), "ok")), 800);
    json_decref(r);
    process_end(&run);
}
END_TEST

/* The agent waits for an owner that has no connection any more: it can still be asked, and by many.
 */
START_TEST(test_agent_whose_controller_was_killed)
{
    struct process run;
    process_start(&run, "hammer-ctl",
                  (const char *const[]){"run", "--agents", both, "-r", "100", "-d", "60s", "-c",
                                        "8", "--json", target.url, NULL});
    json_decref(wait_running());
    process_signal(&run, SIGKILL);
    ck_assert_int_eq(process_wait(&run, 5000), 137);
    process_end(&run);
    for (int i = 0; i < 3; i++) {
        struct process p;
        ctl(&p, 0, (const char *const[]){"agents", "--agents", both, NULL});
        process_end(&p);
    }
    ck_assert(process_alive(&agents[0].process) && process_alive(&agents[1].process));
}
END_TEST

/* --- by hand -------------------------------------------------------------------------------- */

static struct msg query(const char *where)
{
    struct msg m = {.type = MSG_QUERY,
                    .query = {.version_min = MSG_VERSION_MIN, .version_max = MSG_VERSION_MAX}};
    strcpy(m.query.scheme, "http");
    snprintf(m.query.target, sizeof m.query.target, "%s", where);
    return m;
}

static bool probe(struct raw_control *c, uint32_t number)
{
    struct msg m = {.type = MSG_PROBE, .probe = {.t1_ns = number, .probe = number}}, r;
    return raw_send(c, &m) && raw_read(c, &r) && r.type == MSG_PROBE_REPLY &&
           r.probe_reply.probe == number;
}

START_TEST(test_an_asker_may_not_stay)
{
    struct raw_control c;
    struct msg q = query(""), m;
    raw_dial(&c, agents[0].address);
    ck_assert(raw_send(&c, &q) && raw_read(&c, &m));
    ck_assert_int_eq(m.type, MSG_INFO);
    ck_assert_str_eq(m.info.agent, "a1");
    ck_assert_uint_eq(m.info.target, INFO_TARGET_NONE);
    for (uint32_t i = 1; i <= 64; i++)
        ck_assert(probe(&c, i));
    ck_assert(!probe(&c, 65)); /* enough */
    raw_close(&c);
    raw_dial(&c, agents[0].address);
    ck_assert(raw_send(&c, &q) && raw_read(&c, &m));
    ck_assert(raw_send(&c, &q));
    raw_wait_closed(&c); /* one question a connection */
    raw_close(&c);
    raw_dial(&c, agents[0].address);
    m = (struct msg){.type = MSG_PROBE, .probe = {1, 1}};
    ck_assert(raw_send(&c, &m));
    raw_wait_closed(&c); /* who has not asked gets no probe */
    raw_close(&c);
    uint64_t begin = clock_mono_ns();
    raw_dial(&c, agents[0].address);
    ck_assert(raw_send(&c, &q) && raw_read(&c, &m));
    m = (struct msg){.type = MSG_HELLO};
    raw_wait_closed(&c);
    uint64_t took = clock_mono_ns() - begin;
    ck_assert_uint_gt(took, 8 * NS_PER_SEC);
    ck_assert_uint_lt(took, 13 * NS_PER_SEC);
    raw_close(&c);
}
END_TEST

/* More questions with targets than may be looked up at once, and no connection left to anybody: who
 * comes next is served all the same. */
START_TEST(test_flood_of_questions)
{
    enum {
        FLOOD = 80
    };
    static struct raw_control flood[FLOOD];
    struct msg q = query(target.address), m;
    struct process p;
    unsigned seen[INFO_TARGETS] = {0};
    for (size_t i = 0; i < FLOOD; i++) {
        raw_dial(&flood[i], agents[0].address);
        (void)raw_send(&flood[i], &q);
    }
    for (size_t i = 0; i < FLOOD; i++)
        if (raw_read(&flood[i], &m)) {
            ck_assert_int_eq(m.type, MSG_INFO);
            ck_assert(m.info.target == INFO_TARGET_REACHED || m.info.target == INFO_TARGET_BUSY);
            seen[m.info.target]++;
        }
    /* Who was pushed out by a later one got no answer; some did. */
    ck_assert_uint_gt(seen[INFO_TARGET_REACHED] + seen[INFO_TARGET_BUSY], 0);
    ctl(&p, 0,
        (const char *const[]){"agents", "--agents", agents[0].address, "--target", target.url,
                              NULL});
    process_end(&p);
    const char *run[] = {"run", "--agents", agents[0].address, "-n",     "10",
                         "-r",  "100",      target.url,        "--json", NULL};
    process_start(&p, "hammer-ctl", run);
    json_t *r = report_wait(&p, 0, 4, 30000); /* 4: this machine has other things to do */
    ck_assert_int_eq(report_int(r, "totals.completed"), 10);
    json_decref(r);
    process_end(&p);
    for (size_t i = 0; i < FLOOD; i++)
        raw_close(&flood[i]);
}
END_TEST

/* --- an agent of another version ------------------------------------------------------------ */

struct impostor {
    int listener;
    char address[64];
    pthread_t thread;
    bool answers;
};

static bool answer(const struct impostor *im, struct raw_control *c, const struct msg *m)
{
    struct msg r = {.type = MSG_INFO};
    if (!im->answers)
        return false;
    if (m->type == MSG_QUERY) {
        r.info = (struct msg_info){.version_min = MSG_VERSION_MIN,
                                   .version_max = MSG_VERSION_MAX,
                                   .cores = 4,
                                   .build = "9.9.9",
                                   .agent = "other"};
    } else if (m->type == MSG_HELLO) {
        r.type = MSG_WELCOME;
        r.welcome = (struct msg_welcome){.version = MSG_VERSION_MAX,
                                         .cores = 4,
                                         .lease_ms = 10000,
                                         .build = "9.9.9",
                                         .agent = "other"};
    } else if (m->type == MSG_PROBE) {
        uint64_t ahead = clock_mono_ns() + NS_PER_SEC;
        r.type = MSG_PROBE_REPLY;
        r.probe_reply = (struct msg_probe_reply){
            .t1_ns = m->probe.t1_ns, .t2_ns = ahead, .t3_ns = ahead, .probe = m->probe.probe};
    } else {
        return true;
    }
    return raw_send(c, &r);
}

static void *impostor_main(void *arg)
{
    const struct impostor *im = arg;
    for (;;) {
        struct raw_control c = {.fd = accept(im->listener, NULL, NULL)};
        struct msg m;
        int on = 1;
        if (c.fd < 0)
            return NULL;
        setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        while (raw_read(&c, &m) && answer(im, &c, &m))
            ;
        raw_close(&c);
    }
}

static void impostor_start(struct impostor *im, bool answers)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;
    im->answers = answers;
    im->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(im->listener, (struct sockaddr *)&sa, sizeof sa), 0);
    ck_assert_int_eq(listen(im->listener, 8), 0);
    ck_assert_int_eq(getsockname(im->listener, (struct sockaddr *)&sa, &len), 0);
    snprintf(im->address, sizeof im->address, "127.0.0.1:%u", ntohs(sa.sin_port));
    ck_assert_int_eq(pthread_create(&im->thread, NULL, impostor_main, im), 0);
}

static void impostor_stop(struct impostor *im)
{
    shutdown(im->listener, SHUT_RDWR);
    pthread_join(im->thread, NULL);
    close(im->listener);
}

START_TEST(test_mixed_versions)
{
    struct impostor im;
    struct process p;
    char list[256];
    impostor_start(&im, true);
    snprintf(list, sizeof list, "%s,%s", agents[0].address, im.address);
    ctl(&p, 0, (const char *const[]){"agents", "--json", "--agents", list, NULL});
    json_t *root = list_parse(p.out), *other = agent_of(root, 1);
    json_t *clock = json_object_get(other, "clock");
    ck_assert_str_eq(text_at(other, "version"), "9.9.9");
    int64_t wrong = json_integer_value(json_object_get(clock, "offset_ns")) - (int64_t)NS_PER_SEC;
    int64_t error = json_integer_value(json_object_get(clock, "error_ns"));
    ck_assert_int_eq(json_integer_value(json_object_get(clock, "probes")), 32);
    ck_assert_int_le(wrong < 0 ? -wrong : wrong, error + 1);
    json_decref(root);
    process_end(&p);
    ctl(&p, 2,
        (const char *const[]){"agents", "check", "--agents", list, "-r", "10", target.url, NULL});
    has(p.out, "refused  ");
    has(p.out, "it is version 9.9.9, this hammer-ctl ");
    has(p.out, "preflight failed");
    process_end(&p);
    ctl(&p, 2,
        (const char *const[]){"run", "--agents", list, "-r", "10", "-d", "1", target.url, NULL});
    has(p.err, "it is version 9.9.9, this hammer-ctl ");
    has(p.err, "install the same version on both");
    process_end(&p);
    impostor_stop(&im);
}
END_TEST

START_TEST(test_an_agent_that_does_not_know_the_question)
{
    struct impostor im;
    struct process p;
    impostor_start(&im, false);
    ctl(&p, 2, (const char *const[]){"agents", "--agents", im.address, NULL});
    has(p.err, "it hung up without an answer");
    process_end(&p);
    impostor_stop(&im);
}
END_TEST

/* --- the preflight -------------------------------------------------------------------------- */

static size_t log_size(void)
{
    struct stat st;
    return stat(target.log, &st) == 0 ? (size_t)st.st_size : 0;
}

/* check and run say the same, and the target hears nothing. */
START_TEST(test_what_cannot_work_is_refused)
{
    static const char want[] = "connections to one address need as many local ports";
    struct process p;
    ctl(&p, 2,
        (const char *const[]){"agents", "check", "--agents", both, "-c", "1000000", "-r", "10",
                              target.url, NULL});
    has(p.out, "refused  agent 127.0.0.1:");
    has(p.out, "net.ipv4.ip_local_port_range");
    process_end(&p);
    ctl(&p, 2,
        (const char *const[]){"run", "--agents", both, "-c", "1000000", "-r", "10", target.url,
                              NULL});
    has(p.err, want);
    has(p.err, "widen it");
    ck_assert_str_eq(p.out, "");
    process_end(&p);
    ctl(&p, 2,
        (const char *const[]){"run", "--agents", both, "-H", "Connection: close", "-r", "1M", "-d",
                              "2", target.url, NULL});
    has(p.err, "each closed after 1 request");
    has(p.err, "TIME_WAIT");
    process_end(&p);
    ctl(&p, 0,
        (const char *const[]){"agents", "check", "--agents", both, "-r", "10", target.url, NULL});
    has(p.out, "preflight passed");
    process_end(&p);
    ctl(&p, 1,
        (const char *const[]){"agents", "check", "--agents", both, "-H",
                              "Authorization: Basic c2VjcmV0", target.url, NULL});
    has(p.err, "Authorization");
    ck_assert_ptr_null(strstr(p.err, "c2VjcmV0"));
    process_end(&p);
    ck_assert_uint_eq(log_size(), 0);
}
END_TEST

/* --- files ---------------------------------------------------------------------------------- */

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/hammer", folder);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/hammer/%s", folder, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

static void expect_rate(const char *const *args, const char *rate, size_t n_agents)
{
    struct process p;
    int code = process_run(&p, "hammer-ctl", args, 30000);
    ck_assert_msg(code == 0 || code == 4, "exit code %d: %s", code, p.err);
    json_t *r = report_parse(p.out);
    ck_assert_str_eq(text_at(json_object_get(r, "plan"), "rate"), rate);
    ck_assert_uint_eq(json_array_size(json_object_get(r, "agents")), n_agents);
    json_decref(r);
    process_end(&p);
}

START_TEST(test_inventory_and_defaults)
{
    char folder[64], text[512], where[128];
    struct process p;
    folder_make(folder);
    setenv("XDG_CONFIG_HOME", folder, 1);
    ctl(&p, 1, (const char *const[]){"agents", NULL});
    has(p.err, "no agents: accepted is --agents LIST, or an inventory file (/");
    process_end(&p);
    snprintf(text, sizeof text,
             "agents:\n  - {address: 'tcp://%s', groups: [one]}\n"
             "  - {address: '%s', weight: 3, groups: [big]}\n",
             agents[0].address, agents[1].address);
    write_file(folder, "agents.yml", text);
    ctl(&p, 0, (const char *const[]){"agents", NULL});
    has(p.out, "a1 (");
    has(p.out, "a2 (");
    process_end(&p);
    write_file(folder, "ctl.yml", "agents: '@big'\nrate: 20\nrequests: 2\njson: true\n");
    expect_rate((const char *const[]){"run", target.url, NULL}, "20/s", 1);
    setenv("HAMMER_RATE", "30", 1);
    expect_rate((const char *const[]){"run", target.url, NULL}, "30/s", 1);
    expect_rate((const char *const[]){"run", "-r", "40", "--agents", "@all", target.url, NULL},
                "40/s", 2);
    expect_rate((const char *const[]){"run", "--local", "2", target.url, NULL}, "30/s", 2);
    unsetenv("HAMMER_RATE");
    ctl(&p, 1, (const char *const[]){"run", "--agents", "@small", target.url, NULL});
    has(p.err, "accepted are @all, @one, @big");
    process_end(&p);
    write_file(folder, "ctl.yml", "rate: fast\n");
    snprintf(where, sizeof where, "%s/hammer/ctl.yml:1:7: ", folder);
    ctl(&p, 1, (const char *const[]){"run", target.url, NULL});
    has(p.err, where);
    process_end(&p);
    ctl(&p, 1, (const char *const[]){"agents", NULL});
    has(p.err, where);
    process_end(&p);
    unsetenv("XDG_CONFIG_HOME");
    folder_remove(folder);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("agents");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 90);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_idle_agents);
    tcase_add_test(t, test_json);
    tcase_add_test(t, test_unreachable_agent);
    tcase_add_test(t, test_targets_that_cannot_be);
    tcase_add_test(t, test_asking_disturbs_no_run);
    tcase_add_test(t, test_agent_whose_controller_was_killed);
    tcase_add_test(t, test_an_asker_may_not_stay);
    tcase_add_test(t, test_flood_of_questions);
    tcase_add_test(t, test_mixed_versions);
    tcase_add_test(t, test_an_agent_that_does_not_know_the_question);
    tcase_add_test(t, test_what_cannot_work_is_refused);
    tcase_add_test(t, test_inventory_and_defaults);
    return check_main(s);
}
