/* SPDX-License-Identifier: MIT */
/* Whole runs against a target that is hostile as a whole: it does not accept, it closes at once, it
 * restarts, it speaks first, it is far too slow; and an agent that is out of descriptors. */
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/hostile_server.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

#define WAIT_MS 20000
#define OK_2    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

static struct target_process target;
static struct agent_process agent;
static char url[64];

static void stop_all(void)
{
    if (target.process.pid != 0)
        target_stop(&target);
    if (agent.process.pid != 0)
        agent_stop(&agent);
    memset(&target, 0, sizeof target);
    memset(&agent, 0, sizeof agent);
}

static void set_url(unsigned port)
{
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", port);
}

/* Listens on a free port, whose URL is then in `url`. */
static int listen_somewhere(int backlog)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert(fd >= 0 && bind(fd, (struct sockaddr *)&sa, sizeof sa) == 0 &&
              listen(fd, backlog) == 0 && getsockname(fd, (struct sockaddr *)&sa, &len) == 0);
    set_url(ntohs(sa.sin_port));
    return fd;
}

static int64_t total(json_t *r, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "totals.%s", name);
    return report_int(r, path);
}

static void done(struct process *p, json_t *r)
{
    json_decref(r);
    process_end(p);
}

static void wait_ms(uint64_t ms)
{
    clock_sleep_until(clock_mono_ns() + ms * NS_PER_MS);
}

/* The kernel completes two connections, the others never open, nobody ever answers. */
START_TEST(test_queue_never_accepted)
{
    struct process p;
    int fd = listen_somewhere(1);
    const char *args[] = {"run", "-r", "50", "-d",  "1",      "-c", "8",
                          "-t",  "1",  "-T", "400", "--json", url,  NULL};
    process_start(&p, "hammer-ctl", args);
    json_t *r = report_wait(&p, 3, -1, WAIT_MS);
    ck_assert_int_eq(total(r, "scheduled"), 50);
    ck_assert_int_eq(total(r, "completed"), 0);
    ck_assert_int_ge(total(r, "timeouts"), 1);
    ck_assert_int_eq(total(r, "sent"), total(r, "timeouts") + total(r, "unfinished"));
    ck_assert_int_eq(total(r, "unsent"), total(r, "unsent_by.no_connection"));
    ck_assert_int_ge(total(r, "errors.connect"), 6);
    close(fd);
    done(&p, r);
}
END_TEST

struct closer {
    int fd;
    atomic_uint_fast64_t accepted;
};

static void *close_each(void *arg)
{
    struct closer *c = arg;
    for (int fd; (fd = accept(c->fd, NULL, NULL)) >= 0; close(fd))
        atomic_fetch_add(&c->accepted, 1);
    return NULL;
}

/* A server that hangs up on everybody is not hammered with connections: each request may cost one,
 * and otherwise a slot tries ten times a second. */
START_TEST(test_closed_at_accept)
{
    struct process p;
    pthread_t thread;
    struct closer c = {.fd = listen_somewhere(128)};
    ck_assert_int_eq(pthread_create(&thread, NULL, close_each, &c), 0);
    const char *args[] = {"run", "-r", "100", "-d",  "1",      "-c", "4",
                          "-t",  "1",  "-T",  "300", "--json", url,  NULL};
    uint64_t begin_ns = clock_mono_ns();
    process_start(&p, "hammer-ctl", args);
    int code = process_wait(&p, 20000);
    uint64_t tenths = (clock_mono_ns() - begin_ns) / (100 * NS_PER_MS) + 1;
    ck_assert_msg(code == 2 || code == 3, "exit code %d: %s", code, p.err);
    json_t *r = report_parse(p.out);
    report_check_ledger(r);
    ck_assert_int_eq(total(r, "completed"), 0);
    ck_assert_uint_le(atomic_load(&c.accepted), (uint64_t)total(r, "sent") + 4 * tenths);
    shutdown(c.fd, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(c.fd);
    done(&p, r);
}
END_TEST

/* A hundred answers that nobody asked for, on each connection. Those that are there before the
 * request fail it; whatever becomes of the others, the figures agree, the report says why, and it
 * ends. */
START_TEST(test_server_speaks_first)
{
    static char hundred[100 * sizeof OK_2];
    for (int i = 0; i < 100; i++)
        memcpy(hundred + (size_t)i * (sizeof OK_2 - 1), OK_2, sizeof OK_2);
    const struct hostile_step script[] = {
        {HOSTILE_SEND, hundred, 0}, {HOSTILE_HANG, NULL, 0}, {HOSTILE_END, NULL, 0}};
    const struct hostile_step *scripts[] = {script};
    struct hostile_server *h = hostile_start(scripts, 1);
    struct process p;
    set_url(hostile_port(h));
    const char *args[] = {"run", "-r", "50", "-n",  "25",     "-c", "2",
                          "-t",  "1",  "-T", "300", "--json", url,  NULL};
    process_start(&p, "hammer-ctl", args);
    int code = process_wait(&p, 20000);
    ck_assert_msg(code == 0 || (code >= 2 && code <= 4), "exit code %d: %s", code, p.err);
    json_t *r = report_parse(p.out);
    report_check_ledger(r);
    ck_assert_int_eq(total(r, "timeouts"), 0);
    ck_assert_int_eq(total(r, "failed"), total(r, "errors.protocol"));
    ck_assert(strstr(p.out, "bytes after the end") != NULL ||
              strstr(p.out, "bytes of a response before the request") != NULL);
    done(&p, r);
    hostile_stop(h);
}
END_TEST

/* Killed and started again on its port: requests in flight fail, those that fall due meanwhile wait
 * and are sent, none is forgotten. */
START_TEST(test_target_restarts)
{
    struct process p, again;
    target_start(&target, NULL);
    const char *args[] = {"run", "-r", "200", "-d",     "2",        "-c",
                          "4",   "-T", "5s",  "--json", target.url, NULL};
    process_start(&p, "hammer-ctl", args);
    wait_ms(1000);
    process_signal(&target.process, SIGKILL);
    process_wait(&target.process, 5000);
    wait_ms(300);
    const char *restart[] = {"--listen", target.address, "--lifetime", "60s", NULL};
    process_start(&again, "hammer-target", restart);
    json_t *r = report_wait(&p, 0, 4, WAIT_MS);
    ck_assert_int_eq(total(r, "scheduled"), 400);
    ck_assert_int_eq(total(r, "sent"), 400);
    ck_assert_int_le(total(r, "errors.read") + total(r, "errors.write"), 4);
    ck_assert_int_ge(total(r, "ok"), 396);
    ck_assert_int_ge(total(r, "errors.connect"), 1);
    ck_assert_int_ge(report_int(r, "latency.corrected.max"), 200000000);
    done(&p, r);
    process_end(&again);
}
END_TEST

/* Far more than the target can do: the backlog of nearly a hundred thousand is held, counted and
 * given up in time. */
START_TEST(test_overload)
{
    static const char *const slow[] = {"--delay", "100ms", NULL};
    struct process p;
    target_start(&target, slow);
    const char *args[] = {"run", "-r", "100k", "-d",     "1",        "-c",
                          "4",   "-T", "500",  "--json", target.url, NULL};
    uint64_t begin_ns = clock_mono_ns();
    process_start(&p, "hammer-ctl", args);
    json_t *r = report_wait(&p, 0, 4, WAIT_MS);
    ck_assert_uint_lt(clock_mono_ns() - begin_ns, 8 * NS_PER_SEC);
    ck_assert_int_eq(total(r, "scheduled"), 100000);
    ck_assert_int_ge(total(r, "ok"), 20);
    ck_assert_int_le(total(r, "ok"), 80);
    ck_assert_int_eq(total(r, "unsent_by.no_connection"), total(r, "unsent"));
    ck_assert(json_is_true(report_at(r, "verdict.server_limited")));
    ck_assert(json_is_null(report_at(r, "latency.all_due.percentiles.50")));
    done(&p, r);
}
END_TEST

static void limit_descriptors(rlim_t n)
{
    struct rlimit limit = {n, n};
    ck_assert_int_eq(prlimit(agent.process.pid, RLIMIT_NOFILE, &limit, NULL), 0);
}

/* What cannot be opened is refused before anything is sent, and the agent is free afterwards. */
START_TEST(test_too_few_descriptors_are_refused)
{
    struct process p;
    target_start(&target, NULL);
    agent_start(&agent, NULL);
    limit_descriptors(100);
    const char *many[] = {"run", "--agents", agent.address, "-r",       "100", "-n",
                          "10",  "-c",       "50",          target.url, NULL};
    ck_assert_int_eq(process_run(&p, "hammer-ctl", many, 20000), 2);
    ck_assert_msg(strstr(p.err, "50 connections need") != NULL && strstr(p.err, "100") != NULL,
                  "%s", p.err);
    process_end(&p);
    const char *few[] = {"run", "--agents", agent.address, "-r",       "100",    "-n",
                         "40",  "-c",       "36",          target.url, "--json", NULL};
    process_start(&p, "hammer-ctl", few);
    json_t *r = report_wait(&p, 0, 4, WAIT_MS);
    ck_assert_int_eq(total(r, "ok"), 40);
    ck_assert_int_eq(total(r, "generator_faults.fd_limit"), 0);
    done(&p, r);
}
END_TEST

/* Descriptors run out in the middle: the generator's fault, said so, and the ledger holds. */
START_TEST(test_descriptors_run_out)
{
    static const char *const closing[] = {"--close-every", "1", NULL};
    struct process p;
    target_start(&target, closing);
    agent_start(&agent, NULL);
    const char *args[] = {"run", "--agents", agent.address, "-r",  "100",    "-d",       "2",
                          "-c",  "4",        "-T",          "500", "--json", target.url, NULL};
    process_start(&p, "hammer-ctl", args);
    wait_ms(1200);
    limit_descriptors(3);
    json_t *r = report_wait(&p, 4, -1, WAIT_MS);
    ck_assert_int_eq(total(r, "scheduled"), 200);
    ck_assert_int_ge(total(r, "ok"), 20);
    ck_assert_int_ge(total(r, "unsent_by.no_connection"), 50);
    ck_assert_int_ge(total(r, "generator_faults.fd_limit"), 4);
    ck_assert_int_eq(total(r, "errors.connect"), 0);
    ck_assert_str_eq(report_text_at(r, "verdict.status"), "generator-limited");
    done(&p, r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hostile_runs");
    TCase *t = tcase_create("hostile_runs");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, NULL, stop_all);
    tcase_add_test(t, test_queue_never_accepted);
    tcase_add_test(t, test_closed_at_accept);
    tcase_add_test(t, test_server_speaks_first);
    tcase_add_test(t, test_target_restarts);
    tcase_add_test(t, test_overload);
    tcase_add_test(t, test_too_few_descriptors_are_refused);
    tcase_add_test(t, test_descriptors_run_out);
    suite_add_tcase(s, t);
    return check_main(s);
}
