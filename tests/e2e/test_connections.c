/* SPDX-License-Identifier: MIT */
/* How many connections a run opens, when, and what becomes of a request whose own one fails. */
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

#define WAIT_MS  20000
#define REQUESTS 60

static struct target_process target, other;

static void stop_one(struct target_process *t)
{
    if (t->process.pid != 0)
        target_stop(t);
    memset(t, 0, sizeof *t);
}

static void stop_all(void)
{
    stop_one(&target);
    stop_one(&other);
}

/* What it says at its end. */
static void count(struct target_process *t, uint64_t *requests, uint64_t *connections)
{
    unsigned long served, of, on;
    process_signal(&t->process, SIGTERM);
    process_wait(&t->process, 5000);
    const char *says = strstr(t->process.err, "served");
    ck_assert_msg(says != NULL, "%s", t->process.err);
    ck_assert_int_eq(
        sscanf(says, "served %lu of %lu requests on %lu connections", &served, &of, &on), 3);
    ck_assert_uint_eq(served, of);
    *requests = served;
    *connections = on;
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

static const struct {
    const char *flag, *value; /* NULL = none */
    uint64_t least, most;     /* connections for 60 requests on four of them */
} kept[] = {
    {NULL, NULL, 4, 4},
    {"--no-keepalive", NULL, REQUESTS, REQUESTS},
    {"--requests-per-connection", "1", REQUESTS, REQUESTS},
    {"--requests-per-connection", "5", REQUESTS / 5, REQUESTS / 5 + 4},
    {"--requests-per-connection", "1000", 4, 4},
};

START_TEST(test_connections_kept)
{
    struct process p;
    uint64_t requests, connections;
    target_start(&target, NULL);
    const char *args[] = {"run", "-r", "200",    "-n",       "60",          "-c",           "4",
                          "-t",  "1",  "--json", target.url, kept[_i].flag, kept[_i].value, NULL};
    process_start(&p, "hammer-ctl", args);
    json_t *r = report_wait(&p, 0, 4, WAIT_MS);
    ck_assert_int_eq(total(r, "ok"), REQUESTS);
    count(&target, &requests, &connections);
    ck_assert_uint_eq(requests, REQUESTS);
    ck_assert_uint_ge(connections, kept[_i].least);
    ck_assert_uint_le(connections, kept[_i].most);
    /* A replacement may just have been on its way when the run ended. */
    uint64_t unknown = connections - (uint64_t)total(r, "connects");
    ck_assert_uint_le(unknown, kept[_i].most - kept[_i].least);
    ck_assert_int_le(total(r, "reused"), REQUESTS - (int64_t)kept[_i].least);
    ck_assert_int_ge(total(r, "reused"), REQUESTS - (int64_t)kept[_i].most);
    ck_assert_int_eq(total(r, "head_bytes") + total(r, "body_bytes"), total(r, "bytes_in"));
    done(&p, r);
}
END_TEST

/* A closed loop at full speed on connections that are never kept. */
START_TEST(test_closed_loop_without_keepalive)
{
    struct process p;
    uint64_t requests, connections;
    target_start(&target, NULL);
    const char *args[] = {"run",    "-n",       "500", "-c", "4", "-t", "1", "--no-keepalive",
                          "--json", target.url, NULL};
    process_start(&p, "hammer-ctl", args);
    json_t *r = report_wait(&p, 0, 4, WAIT_MS);
    ck_assert_int_eq(total(r, "ok"), 500);
    count(&target, &requests, &connections);
    ck_assert_uint_eq(requests, 500);
    ck_assert_uint_eq(connections, 500);
    done(&p, r);
}
END_TEST

/* On a free port. */
static int somewhere(char url[64])
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert(fd >= 0 && bind(fd, (struct sockaddr *)&sa, sizeof sa) == 0 &&
              getsockname(fd, (struct sockaddr *)&sa, &len) == 0);
    snprintf(url, 64, "http://127.0.0.1:%u/", ntohs(sa.sin_port));
    return fd;
}

static bool has_error(json_t *r, const char *says)
{
    char *text = json_dumps(r, 0);
    bool found = strstr(text, says) != NULL;
    free(text);
    return found;
}

/* Nobody listens: neither thousands of attempts nor none. In 2.5 s a slot tries at 0, 0.1, 0.3, 0.7
 * and 1.5 s, or a little later. */
START_TEST(test_dead_port)
{
    static const char *const rates[] = {"-r100", "-d2"}; /* the second one at full speed */
    struct process p;
    char url[64];
    int fd = somewhere(url);
    const char *args[] = {"run", rates[_i],        "-d",     "2", "-c", "4", "-t", "1", "-T",
                          "500", "--no-keepalive", "--json", url, NULL};
    process_start(&p, "hammer-ctl", args);
    json_t *r = report_wait(&p, 2, -1, WAIT_MS);
    int64_t attempts = total(r, "errors.own_connect");
    ck_assert_int_eq(total(r, "sent"), attempts);
    ck_assert_int_eq(total(r, "completed"), 0);
    ck_assert_int_ge(attempts, 4 * 3);
    ck_assert_int_le(attempts, 4 * 5);
    ck_assert_int_eq(total(r, "errors.connect"), 0);
    ck_assert(has_error(r, "connect: Connection refused"));
    close(fd);
    done(&p, r);
}
END_TEST

/* What a request's own connection met counts for the condition on connecting. */
START_TEST(test_dead_port_ends_the_run)
{
    struct process p;
    char url[64];
    int fd = somewhere(url);
    const char *args[] = {"run", "-r",  "100",    "-d", "60",
                          "-c",  "4",   "-t",     "1",  "--no-keepalive",
                          "-T",  "500", "--json", url,  "--max-connect-failures=3",
                          NULL};
    uint64_t begin_ns = clock_mono_ns();
    process_start(&p, "hammer-ctl", args);
    json_t *r = report_wait(&p, 2, 99, WAIT_MS);
    ck_assert_uint_lt(clock_mono_ns() - begin_ns, 15 * NS_PER_SEC);
    ck_assert_int_ge(total(r, "errors.own_connect"), 4);
    close(fd);
    done(&p, r);
}
END_TEST

/* It goes away in the middle and comes back: what was to be opened then has failed, the rest has
 * not. */
START_TEST(test_refused_in_the_middle)
{
    struct process p, again;
    target_start(&target, NULL);
    const char *args[] = {"run",    "-r",       "100", "-d", "3",  "-c",
                          "4",      "-t",       "1",   "-T", "5s", "--no-keepalive",
                          "--json", target.url, NULL};
    process_start(&p, "hammer-ctl", args);
    clock_sleep_until(clock_mono_ns() + NS_PER_SEC);
    process_signal(&target.process, SIGKILL);
    process_wait(&target.process, 5000);
    clock_sleep_until(clock_mono_ns() + 300 * NS_PER_MS);
    const char *restart[] = {"--listen", target.address, "--lifetime", "60s", NULL};
    process_start(&again, "hammer-target", restart);
    json_t *r = report_wait(&p, 0, 4, WAIT_MS);
    int64_t failed = total(r, "errors.own_connect");
    ck_assert_int_eq(total(r, "scheduled"), 300);
    ck_assert_int_eq(total(r, "sent"), 300);
    ck_assert_int_ge(failed, 1);
    ck_assert_int_le(failed, 4 * 4);
    ck_assert_int_le(total(r, "errors.read") + total(r, "errors.write"), 4);
    ck_assert_int_ge(total(r, "ok"), 300 - 4 * 5);
    done(&p, r);
    process_end(&again);
}
END_TEST

/* SYNs are dropped: the limit for connecting ends the attempt, the request's timeout would not. */
START_TEST(test_connect_timeout)
{
    struct process p;
    char url[64];
    int fd = somewhere(url), filler[3];
    struct sockaddr_in sa;
    socklen_t len = sizeof sa;
    ck_assert(listen(fd, 0) == 0 && getsockname(fd, (struct sockaddr *)&sa, &len) == 0);
    for (int i = 0; i < 3; i++) {
        filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)connect(filler[i], (struct sockaddr *)&sa, len);
    }
    const char *args[] = {"run",    "-r",   "20",
                          "-d",     "1",    "-c",
                          "4",      "-t",   "1",
                          "-T",     "1500", "--no-keepalive",
                          "--json", url,    _i == 1 ? "--connect-timeout=100ms" : NULL,
                          NULL};
    process_start(&p, "hammer-ctl", args);
    json_t *r = report_wait(&p, 2, 3, WAIT_MS);
    if (_i == 1) {
        ck_assert_int_ge(total(r, "errors.own_connect"), 4);
        ck_assert_int_eq(total(r, "timeouts"), 0);
        ck_assert(has_error(r, "connect: Connection timed out"));
    } else {
        ck_assert_int_eq(total(r, "errors.own_connect"), 0);
        ck_assert_int_ge(total(r, "timeouts"), 1);
    }
    for (int i = 0; i < 3; i++)
        close(filler[i]);
    close(fd);
    done(&p, r);
}
END_TEST

static const struct {
    const char *connections, *flag;
    uint64_t least, most; /* connections of each */
} hosts[] = {
    {"40", NULL, 20, 20}, /* enough for a burst after a stall */
    {"2", "--requests-per-connection=10", 3, REQUESTS / 2},
    {"4", "--no-keepalive", REQUESTS / 2, REQUESTS / 2},
    {"1", NULL, REQUESTS / 2, REQUESTS / 2 + 1}, /* changes sides each time */
};

/* Every second request to the other one, and none to the wrong one. */
START_TEST(test_two_hosts)
{
    struct process p;
    uint64_t requests, connections;
    char dir[64], path[96];
    target_start(&target, NULL);
    target_start(&other, NULL);
    folder_make(dir);
    snprintf(path, sizeof path, "%s/urls", dir);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fprintf(f, "%s\n%s\n", target.url, other.url);
    ck_assert_int_eq(fclose(f), 0);
    const char *args[] = {
        "run", "-r", "50",     "-n", "60",     "-c",           hosts[_i].connections,
        "-t",  "1",  "--urls", path, "--json", hosts[_i].flag, NULL};
    process_start(&p, "hammer-ctl", args);
    json_t *r = report_wait(&p, 0, 4, WAIT_MS);
    ck_assert_int_eq(total(r, "ok"), REQUESTS);
    uint64_t opened = 0;
    struct target_process *both[] = {&target, &other};
    for (size_t i = 0; i < 2; i++) {
        count(both[i], &requests, &connections);
        ck_assert_uint_eq(requests, REQUESTS / 2);
        ck_assert_uint_ge(connections, hosts[_i].least);
        ck_assert_uint_le(connections, hosts[_i].most);
        opened += connections;
    }
    ck_assert_int_le(total(r, "connects"), (int64_t)opened);
    ck_assert_int_ge(total(r, "connects"), (int64_t)opened - 2); /* on their way at the end */
    folder_remove(dir);
    done(&p, r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("connections");
    TCase *t = tcase_create("connections");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, NULL, stop_all);
    tcase_add_loop_test(t, test_connections_kept, 0, (int)(sizeof kept / sizeof kept[0]));
    tcase_add_test(t, test_closed_loop_without_keepalive);
    tcase_add_loop_test(t, test_dead_port, 0, 2);
    tcase_add_test(t, test_dead_port_ends_the_run);
    tcase_add_test(t, test_refused_in_the_middle);
    tcase_add_loop_test(t, test_connect_timeout, 0, 2);
    tcase_add_loop_test(t, test_two_hosts, 0, (int)(sizeof hosts / sizeof hosts[0]));
    suite_add_tcase(s, t);
    return check_main(s);
}
