/* SPDX-License-Identifier: MIT */
/* Whole programs whose control side is abused by others: bytes that are no frames, strangers,
 * crowds, other versions, controllers that vanish. */
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "proto/plan.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/raw_control.h"
#include "tests/lib/report.h"

static struct target_process target;
static struct agent_process agent;

static void start_all(void)
{
    target_start(&target, NULL);
    agent_start(&agent, NULL);
}

static void stop_all(void)
{
    if (agent.process.pid != 0)
        agent_stop(&agent);
    if (target.process.pid != 0)
        target_stop(&target);
    memset(&agent, 0, sizeof agent);
    memset(&target, 0, sizeof target);
}

/* hammer-ctl run with one agent, 4 connections, JSON. */
static void start_run(struct process *p, const char *rate, const char *duration)
{
    const char *args[] = {"run", "--agents", agent.address, "-r", rate,     "-d",       duration,
                          "-c",  "4",        "-T",          "2s", "--json", target.url, NULL};
    process_start(p, "hammer-ctl", args);
}

/* Everything due was answered. */
static void expect_whole(struct process *p, int64_t requests)
{
    int code = process_wait(p, 20000);
    if (code != 0 && code != 4) {
        printf("%s%s", p->out, p->err);
        fflush(stdout);
        ck_abort_msg("exit code %d", code);
    }
    json_t *r = report_parse(p->out);
    report_check_ledger(r);
    ck_assert_int_eq(report_int(r, "totals.scheduled"), requests);
    ck_assert_int_eq(report_int(r, "totals.ok"), requests);
    json_decref(r);
    process_end(p);
}

static void wait_ms(uint64_t ms)
{
    clock_sleep_until(clock_mono_ns() + ms * NS_PER_MS);
}

/* The agent's log says so. */
static void wait_logged(const char *what)
{
    uint64_t until = clock_mono_ns() + 20 * NS_PER_SEC;
    for (bool said = false; !said; wait_ms(5)) {
        char *log = file_read(agent.process.err_path);
        said = log != NULL && strstr(log, what) != NULL;
        mem_free(log);
        ck_assert_msg(clock_mono_ns() < until, "the agent's log does not say: %s", what);
    }
}

/* The agent has given up a dead controller: after the lease of 3 s. */
static void wait_released(void)
{
    uint64_t began = clock_mono_ns();
    wait_logged("released (lease)");
    ck_assert_uint_lt(clock_mono_ns() - began, 6 * NS_PER_SEC);
}

/* --- bytes that are no frames --------------------------------------------------------------- */

static const struct {
    const char *bytes;
    size_t len;
} garbage[] = {
    {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27},
    {"\xff\xff\xff\xff", 4},                          /* 4 GiB */
    {"\0\0\x10\x01", 4},                              /* one byte more than a stranger may send */
    {"\0\0\0\0", 4},                                  /* no frame is empty */
    {"\0\0\0\1\xc1", 5},                              /* a byte that msgpack never uses */
    {"\0\0\0\3\x92\x01\x80", 7},                      /* HELLO without its fields */
    {"\0\0\0\6\x92\x01\xdf\xff\xff\xff\xff", 10},     /* a map of 2^32 entries */
    {"\0\0\0\3\x92\x10\x80", 7},                      /* STOP of nobody */
    {"\0\0\0\3\x92\x12\x80", 7},                      /* BYE of nobody */
    {"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", 11}, /* TLS */
};

static void throw_garbage(void)
{
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        struct raw_control r;
        raw_dial(&r, agent.address);
        raw_send_bytes(&r, garbage[i].bytes, garbage[i].len);
        raw_wait_closed(&r);
        raw_close(&r);
    }
}

/* A stranger who speaks the protocol: HELLO is refused by name, and commands without it change
 * nothing. */
static void be_a_stranger(const struct process *holder)
{
    char pid[32];
    struct raw_control r;
    struct msg m;
    snprintf(pid, sizeof pid, ":%d", (int)holder->pid);
    raw_dial(&r, agent.address);
    ck_assert(raw_hello(&r, 7, MSG_VERSION_MAX) && raw_read(&r, &m));
    ck_assert_int_eq(m.type, MSG_REFUSE);
    ck_assert_int_eq(m.refuse.code, REFUSE_BUSY);
    ck_assert_ptr_nonnull(strstr(m.refuse.holder, pid));
    raw_wait_closed(&r);
    raw_close(&r);
    const struct msg commands[] = {{.type = MSG_STOP, .stop = {.command = 1}},
                                   {.type = MSG_BYE},
                                   {.type = MSG_ACK, .ack = {.ack_seq = 99}},
                                   {.type = MSG_ARM, .arm = {.command = 2, .at_ns = 1}},
                                   {.type = MSG_PING}};
    struct raw_control each[sizeof commands / sizeof commands[0]];
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        raw_dial(&each[i], agent.address);
        raw_send(&each[i], &commands[i]);
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        raw_wait_closed(&each[i]);
        raw_close(&each[i]);
    }
}

START_TEST(test_run_is_not_disturbed)
{
    struct process p;
    struct raw_control slow;
    start_run(&p, "300", "4");
    raw_dial(&slow, agent.address);
    raw_send_bytes(&slow, "\0\0\x10", 3); /* three bytes of four, and then nothing */
    wait_logged("preparing run");
    throw_garbage();
    be_a_stranger(&p);
    ck_assert(process_alive(&p));
    expect_whole(&p, 1200);
    raw_close(&slow);
}
END_TEST

/* --- crowds --------------------------------------------------------------------------------- */

struct crowd {
    atomic_bool stop;
    struct raw_control members[200];
};

/* 200 silent connections, each opened again as soon as the agent drops it. */
static void *keep_crowd(void *arg)
{
    struct crowd *c = arg;
    for (size_t i = 0; !atomic_load(&c->stop); i = (i + 1) % 200) {
        uint8_t byte;
        struct raw_control *r = &c->members[i];
        if (r->fd >= 0 && recv(r->fd, &byte, 1, MSG_DONTWAIT) == 0)
            raw_close(r);
        if (r->fd < 0)
            raw_dial(r, agent.address);
        wait_ms(2);
    }
    return NULL;
}

START_TEST(test_crowd_does_not_lock_out)
{
    static struct crowd c;
    pthread_t thread;
    struct process p;
    for (size_t i = 0; i < 200; i++)
        c.members[i].fd = -1;
    ck_assert_int_eq(pthread_create(&thread, NULL, keep_crowd, &c), 0);
    wait_ms(500);
    uint64_t begin_ns = clock_mono_ns();
    start_run(&p, "200", "500ms");
    expect_whole(&p, 100);
    uint64_t took_ns = clock_mono_ns() - begin_ns;
    atomic_store(&c.stop, true);
    pthread_join(thread, NULL);
    for (size_t i = 0; i < 200; i++)
        raw_close(&c.members[i]);
    if (!process_sanitized())
        ck_assert_uint_lt(took_ns, 4 * NS_PER_SEC);
}
END_TEST

/* No HELLO, no connection, though a byte comes now and then. */
START_TEST(test_trickle_is_dropped)
{
    struct raw_control r;
    uint64_t begin_ns = clock_mono_ns();
    raw_dial(&r, agent.address);
    raw_send_bytes(&r, "\0\0\x0f\xff", 4);
    uint8_t byte;
    ssize_t n;
    do {
        raw_send_bytes(&r, "x", 1);
        wait_ms(50);
        n = recv(r.fd, &byte, 1, MSG_DONTWAIT);
        ck_assert_uint_lt(clock_mono_ns() - begin_ns, 9 * NS_PER_SEC);
    } while (n < 0 && errno == EAGAIN);
    ck_assert_uint_gt(clock_mono_ns() - begin_ns, 4 * NS_PER_SEC);
    raw_close(&r);
}
END_TEST

/* --- versions ------------------------------------------------------------------------------- */

START_TEST(test_other_version_is_refused)
{
    struct raw_control r;
    struct msg m;
    raw_dial(&r, agent.address);
    ck_assert(raw_hello(&r, 1, 99) && raw_read(&r, &m));
    ck_assert_int_eq(m.type, MSG_REFUSE);
    ck_assert_int_eq(m.refuse.code, REFUSE_VERSION);
    ck_assert_uint_eq(m.refuse.version_max, MSG_VERSION_MAX);
    ck_assert_ptr_nonnull(strstr(m.refuse.text, "99"));
    raw_wait_closed(&r);
    raw_close(&r);
    struct process p;
    start_run(&p, "100", "200ms"); /* it is free */
    expect_whole(&p, 20);
}
END_TEST

/* --- vanishing controllers ------------------------------------------------------------------ */

/* A loopback port where connections hang: the queue of a listener that does not accept is full. */
struct black_hole {
    int listener, fillers[8];
    char url[64];
};

static void hole_open(struct black_hole *b)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;
    b->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert(bind(b->listener, (struct sockaddr *)&sa, sizeof sa) == 0 &&
              listen(b->listener, 0) == 0 &&
              getsockname(b->listener, (struct sockaddr *)&sa, &len) == 0);
    for (size_t i = 0; i < 8; i++) {
        b->fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(b->fillers[i], (struct sockaddr *)&sa, sizeof sa);
    }
    snprintf(b->url, sizeof b->url, "http://127.0.0.1:%u/", (unsigned)ntohs(sa.sin_port));
}

static void hole_close(struct black_hole *b)
{
    for (size_t i = 0; i < 8; i++)
        close(b->fillers[i]);
    close(b->listener);
}

/* The agent is connecting to nowhere for its dead controller, which could come back while its lease
 * lasts: free for the next one after that. */
START_TEST(test_controller_dies_while_preparing)
{
    struct black_hole hole;
    struct process p;
    hole_open(&hole);
    const char *args[] = {"run", "--agents", agent.address, "-r",      "100", "-d",     "1", "-c",
                          "20",  "-T",       "30s",         "--lease", "3s",  hole.url, NULL};
    process_start(&p, "hammer-ctl", args);
    wait_logged("preparing run");
    ck_assert(process_alive(&p));
    process_signal(&p, SIGKILL);
    ck_assert_int_eq(process_wait(&p, 5000), 137);
    process_end(&p);
    wait_released();
    start_run(&p, "100", "200ms");
    expect_whole(&p, 20);
    hole_close(&hole);
}
END_TEST

/* Ctrl-C at that moment ends it as well, and the agent is free. */
START_TEST(test_interrupt_while_preparing)
{
    struct black_hole hole;
    struct process p;
    hole_open(&hole);
    const char *args[] = {"run", "--agents", agent.address, "-r",  "100",    "-d", "1",
                          "-c",  "20",       "-T",          "30s", hole.url, NULL};
    process_start(&p, "hammer-ctl", args);
    wait_ms(500);
    process_signal(&p, SIGINT);
    ck_assert_int_eq(process_wait(&p, 3000), 130);
    process_end(&p);
    start_run(&p, "100", "200ms");
    expect_whole(&p, 20);
    hole_close(&hole);
}
END_TEST

START_TEST(test_two_controllers_race)
{
    struct process a, b;
    start_run(&a, "100", "1");
    start_run(&b, "100", "1");
    int code = process_wait(&a, 20000), other = process_wait(&b, 20000);
    struct process *loser = code == 2 ? &a : &b, *winner = code == 2 ? &b : &a;
    ck_assert_msg(code == 2 || other == 2, "exit codes %d, %d", code, other);
    ck_assert_ptr_nonnull(strstr(loser->err, "busy"));
    process_end(loser);
    expect_whole(winner, 100);
}
END_TEST

/* --- many owners ---------------------------------------------------------------------------- */

static size_t count_descriptors(void)
{
    char path[64];
    size_t n = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)agent.process.pid);
    DIR *dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

static long resident_kib(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)agent.process.pid);
    char *text = file_read(path), *at = text != NULL ? strstr(text, "VmRSS:") : NULL;
    long kib = at != NULL ? strtol(at + 6, NULL, 10) : -1;
    mem_free(text);
    return kib;
}

static void encode_plan(struct wire_blob *blob)
{
    struct plan plan;
    struct errmsg msg = {{0}};
    uint8_t *bytes;
    plan_defaults(&plan);
    plan.url = mem_strdup(target.url);
    plan.rate = (struct rate){.num = 100, .den = 1};
    ck_assert_msg(plan_check(&plan, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_int_eq(plan_encode(&plan, &bytes, &blob->len), ERR_OK);
    blob->data = bytes;
    plan_clear(&plan);
}

static void say_bye(struct raw_control *r)
{
    struct msg bye = {.type = MSG_BYE};
    raw_send(r, &bye);
    raw_wait_closed(r);
    raw_close(r);
}

/* Owns the agent, lets it prepare, arms it for the far future, and goes in one of several ways:
 * with BYE, or without, to come back for that on another connection. */
static void own_once(const struct wire_blob *plan, unsigned way)
{
    struct raw_control r;
    struct msg m;
    struct msg prepare = {
        .type = MSG_PREPARE,
        .prepare = {
            .command = 1, .plan = *plan, .total = 1, .weight = 1, .connections = 8, .threads = 2}};
    struct msg arm = {.type = MSG_ARM, .arm = {.command = 2, .at_ns = UINT64_MAX - 1}};
    struct msg stop = {.type = MSG_STOP, .stop = {.command = 3, .drain_ns = UINT64_MAX}};
    raw_dial(&r, agent.address);
    ck_assert(raw_hello(&r, (uint8_t)(way + 1), MSG_VERSION_MAX) && raw_read(&r, &m));
    ck_assert_int_eq(m.type, MSG_WELCOME);
    ck_assert(raw_send(&r, &prepare) && raw_send(&r, &prepare));
    if (way % 4 > 0) {
        ck_assert(raw_read(&r, &m));
        ck_assert_int_eq(m.type, MSG_PREPARED);
        ck_assert_uint_eq(m.prepared.connections, 8);
    }
    if (way % 4 > 1)
        ck_assert(raw_send(&r, &arm));
    if (way % 4 > 2)
        ck_assert(raw_send(&r, &stop));
    if (way % 3 == 0) {
        raw_close(&r);
        raw_dial(&r, agent.address);
        ck_assert(raw_hello(&r, (uint8_t)(way + 1), MSG_VERSION_MAX) && raw_read(&r, &m));
        ck_assert_int_eq(m.type, MSG_WELCOME);
    }
    say_bye(&r);
}

/* Owners of every kind, one after the other: no descriptor and no memory stays behind. */
START_TEST(test_nothing_is_left_behind)
{
    struct wire_blob plan = {0};
    struct process p;
    size_t before = 0;
    long kib = 0;
    encode_plan(&plan);
    for (unsigned i = 0; i < 108; i++) {
        own_once(&plan, i);
        if (i % 12 == 0) {
            start_run(&p, "100", "100ms");
            expect_whole(&p, 10);
        }
        if (i == 36) {
            before = count_descriptors();
            kib = resident_kib();
        }
    }
    wait_ms(50);
    ck_assert_uint_le(count_descriptors(), before);
    if (!process_sanitized()) /* sanitizers keep freed memory */
        ck_assert_msg(resident_kib() <= kib + 2048, "%ld KiB, then %ld KiB", kib, resident_kib());
    mem_free((void *)(uintptr_t)plan.data);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("abuse");
    TCase *t = tcase_create("abuse");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, start_all, stop_all);
    tcase_add_test(t, test_run_is_not_disturbed);
    tcase_add_test(t, test_crowd_does_not_lock_out);
    tcase_add_test(t, test_trickle_is_dropped);
    tcase_add_test(t, test_other_version_is_refused);
    tcase_add_test(t, test_controller_dies_while_preparing);
    tcase_add_test(t, test_interrupt_while_preparing);
    tcase_add_test(t, test_two_controllers_race);
    tcase_add_test(t, test_nothing_is_left_behind);
    suite_add_tcase(s, t);
    return check_main(s);
}
