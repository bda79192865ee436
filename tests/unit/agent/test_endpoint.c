/* SPDX-License-Identifier: MIT */
#include "agent/service/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "proto/link.h"
#include "proto/msg.h"
#include "proto/plan.h"
#include "tests/lib/check_main.h"

static int dial(const char *url)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    sa.sin_port = htons((uint16_t)strtoul(strrchr(url, ':') + 1, NULL, 10));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&sa, sizeof sa), 0);
    return fd;
}

static void wake(void *arg)
{
    (void)arg; /* it only ends the turn */
}

static bool closed_by_peer(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN);
}

/* Half a frame, then a byte now and then: never silent, never HELLO. */
START_TEST(test_trickling_is_not_hello)
{
    struct loop *loop;
    struct endpoint *s;
    struct policy policy;
    link_block_signals();
    policy_loopback_only(&policy);
    ck_assert_int_eq(loop_new(&loop, NULL), ERR_OK);
    struct endpoint_config cfg = {
        .loop = loop, .policy = &policy, .url = "tcp://127.0.0.1:0", .name = "a1"};
    ck_assert_int_eq(endpoint_new(&cfg, &s, NULL), ERR_OK);
    struct loop_timer *timer = loop_timer_new(loop, wake, NULL);
    int fd = dial(endpoint_url(s));
    uint64_t start = clock_mono_ns(), limit = start + 8 * NS_PER_SEC;
    ck_assert_int_eq(send(fd, "\0\0\1\0", 4, MSG_NOSIGNAL), 4);
    for (uint64_t next = start; !closed_by_peer(fd);) {
        ck_assert_msg(clock_mono_ns() < limit, "still open after 8 s");
        loop_timer_at(timer, next);
        loop_turn(loop, 1);
        if (clock_mono_ns() < next)
            continue;
        (void)send(fd, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        next += 200 * NS_PER_MS;
    }
    ck_assert_uint_ge(clock_mono_ns() - start, 4 * NS_PER_SEC);
    close(fd);
    loop_timer_free(timer);
    endpoint_free(s);
    loop_finish(loop);
    loop_free(loop);
}
END_TEST

/* Whatever was thought of the URL: what is bound decides, and only who says so is open to all. */
START_TEST(test_reach)
{
    static const struct {
        const char *url;
        bool insecure;
        enum err e;
    } rows[] = {
        {"tcp://127.0.0.1:0", false, ERR_OK}, {"tcp://127.9.9.9:0", false, ERR_OK},
        {"tcp://localhost:0", false, ERR_OK}, {"tcp://0.0.0.0:0", false, ERR_REFUSED},
        {"tcp://*:0", false, ERR_REFUSED},    {"tcp://[::ffff:127.0.0.1]:0", false, ERR_OK},
        {"tcp://[::]:0", false, ERR_REFUSED}, {"tcp://0.0.0.0:0", true, ERR_OK},
    };
    struct loop *loop;
    struct policy policy;
    link_block_signals();
    policy_loopback_only(&policy);
    ck_assert_int_eq(loop_new(&loop, NULL), ERR_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct endpoint *s = NULL;
        struct errmsg msg = {{0}};
        if (strchr(rows[i].url, '[') != NULL && access("/proc/net/if_inet6", R_OK) != 0)
            continue;
        struct endpoint_config cfg = {.loop = loop,
                                      .policy = &policy,
                                      .url = rows[i].url,
                                      .insecure = rows[i].insecure,
                                      .name = "a1"};
        enum err e = endpoint_new(&cfg, &s, &msg);
        ck_assert_msg(e == rows[i].e, "%s: %s: %s", rows[i].url, err_str(e), msg.text);
        ck_assert(e == ERR_OK || strstr(msg.text, rows[i].url) != NULL);
        endpoint_free(s);
    }
    loop_finish(loop);
    loop_free(loop);
}
END_TEST

/* --- a controller that does not read -----------------------------------------------------------
 */

#define SNAPSHOTS 40
#define WAIT_NS   (15 * NS_PER_SEC)

/* The run that was prepared last: it does what the test says. */
static struct {
    run_fn fn;
    void *arg;
} script;

static enum err scripted_prepare(const struct run_env *env, const struct plan *plan,
                                 const struct plan_part *part, run_fn fn, void *arg,
                                 struct run **out, struct errmsg *msg)
{
    (void)env, (void)plan, (void)part, (void)msg;
    script.fn = fn;
    script.arg = arg;
    *out = mem_calloc(1, 1);
    return ERR_OK;
}

static void scripted_free(struct run *r)
{
    mem_free(r);
}

static void ignore_ns(struct run *r, uint64_t ns)
{
    (void)r, (void)ns;
}

static const struct run_ops scripted = {.prepare = scripted_prepare,
                                        .arm = ignore_ns,
                                        .halt = ignore_ns,
                                        .lease = ignore_ns,
                                        .free = scripted_free};

struct controller {
    struct loop *loop;
    struct endpoint *endpoint;
    int fd;
    uint8_t buf[1 << 20];
    size_t have;
};

static void say(struct controller *c, const struct msg *m)
{
    uint8_t *frame, head[4];
    size_t len;
    ck_assert_int_eq(msg_encode(m, &frame, &len), ERR_OK);
    for (size_t i = 0; i < 4; i++)
        head[i] = (uint8_t)(len >> (8 * (3 - i)));
    ck_assert_int_eq(send(c->fd, head, 4, MSG_NOSIGNAL), 4);
    ck_assert_int_eq(send(c->fd, frame, len, MSG_NOSIGNAL), (ssize_t)len);
    mem_free(frame);
}

static bool next_message(struct controller *c, struct msg *m, size_t *used)
{
    uint32_t len;
    memcpy(&len, c->buf, sizeof len);
    len = ntohl(len);
    if (c->have < sizeof len || c->have - sizeof len < len)
        return false;
    *used = sizeof len + len;
    ck_assert_int_eq(msg_decode(c->buf + sizeof len, len, m), ERR_OK);
    return true;
}

/* Reads until the agent says that; returns how many snapshots came before. */
static size_t hear(struct controller *c, enum msg_type want)
{
    struct msg m;
    size_t used, snapshots = 0;
    uint64_t until_ns = clock_mono_ns() + WAIT_NS;
    for (;;) {
        while (next_message(c, &m, &used)) {
            enum msg_type type = m.type;
            c->have -= used;
            memmove(c->buf, c->buf + used, c->have);
            if (type == want)
                return snapshots;
            snapshots += type == MSG_SNAPSHOT;
        }
        ck_assert_msg(clock_mono_ns() < until_ns, "waited in vain for %s", msg_type_name(want));
        loop_turn(c->loop, 0);
        ssize_t n = recv(c->fd, c->buf + c->have, sizeof c->buf - c->have, MSG_DONTWAIT);
        ck_assert(n > 0 || (n < 0 && errno == EAGAIN));
        c->have += n > 0 ? (size_t)n : 0;
    }
}

static void prepare(struct controller *c)
{
    struct plan plan = {0};
    uint8_t *blob;
    size_t len;
    plan_defaults(&plan);
    plan.url = mem_strdup("http://127.0.0.1:8080/");
    plan.rate = (struct rate){100, 1};
    plan.rate_set = plan.duration_set = true;
    plan.duration_ns = NS_PER_SEC;
    ck_assert_int_eq(plan_check(&plan, NULL), ERR_OK);
    ck_assert_int_eq(plan_encode(&plan, &blob, &len), ERR_OK);
    struct msg m = {.type = MSG_PREPARE};
    m.prepare.command = 1;
    m.prepare.plan = (struct wire_blob){blob, len};
    m.prepare.total = m.prepare.weight = m.prepare.connections = m.prepare.threads = 1;
    say(c, &m);
    mem_free(blob);
    plan_clear(&plan);
}

static void start(struct controller *c)
{
    struct msg hello = {.type = MSG_HELLO, .hello = {.version_min = 1, .version_max = 1}};
    hello.hello.owner[0] = 1;
    say(c, &hello);
    hear(c, MSG_WELCOME);
    prepare(c);
    while (script.fn == NULL)
        loop_turn(c->loop, 1);
    script.fn(script.arg, RUN_PREPARED, &(struct run_info){.connections = 1, .threads = 1});
    hear(c, MSG_PREPARED);
    say(c, &(struct msg){.type = MSG_ARM,
                         .arm = {.command = 2, .at_ns = clock_mono_ns() + NS_PER_SEC}});
    hear(c, MSG_ARMED);
    script.fn(script.arg, RUN_STARTED, &(struct run_info){.started_ns = clock_mono_ns()});
    hear(c, MSG_STARTED);
}

/* Some 60 kB: what the kernel holds is a few of them. */
static struct snapshot *large_snapshot(uint64_t k)
{
    struct snapshot *s = snapshot_new();
    struct series *one = snapshot_series(s, 0, "");
    struct hist *h = series_hist(one, HIST_CORRECTED);
    for (uint64_t v = 1; v < HIST_HIGHEST / 2; v += 1 + v / 1000)
        hist_record(h, v, 1 + v % 7);
    one->counters.completed = one->counters.ok = hist_count(h);
    s->intervals = 1;
    s->from_ns = k * NS_PER_SEC;
    s->to_ns = (k + 1) * NS_PER_SEC;
    return s;
}

/* A PONG comes after the few snapshots that were on their way, not after all there are; these are
 * then sent as there is room. */
START_TEST(test_snapshots_do_not_hold_up_a_pong)
{
    static struct controller c;
    struct policy policy;
    char path[64], url[80];
    snprintf(path, sizeof path, "/tmp/hammer-endpoint-%d", (int)getpid());
    snprintf(url, sizeof url, "ipc://%s", path);
    link_block_signals();
    policy_loopback_only(&policy);
    ck_assert_int_eq(loop_new(&c.loop, NULL), ERR_OK);
    struct endpoint_config cfg = {
        .loop = c.loop, .policy = &policy, .url = url, .name = "a1", .run = &scripted};
    ck_assert_int_eq(endpoint_new(&cfg, &c.endpoint, NULL), ERR_OK);
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    snprintf(sa.sun_path, sizeof sa.sun_path, "%s", path);
    c.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(c.fd, (const struct sockaddr *)&sa, sizeof sa), 0);
    start(&c);
    for (uint64_t k = 0; k < SNAPSHOTS; k++)
        script.fn(script.arg, RUN_SNAPSHOT, &(struct run_info){.snapshot = large_snapshot(k)});
    for (int i = 0; i < 3; i++)
        loop_turn(c.loop, 1); /* as much as the kernel takes is with it */
    say(&c, &(struct msg){.type = MSG_PING, .ping = {.t1_ns = 1}});
    for (int i = 0; i < 10; i++)
        loop_turn(c.loop, 1);
    size_t before = hear(&c, MSG_PONG);
    ck_assert_msg(before >= 8 && before <= 20, "%zu snapshots came before PONG", before);
    say(&c, &(struct msg){.type = MSG_STOP, .stop = {.command = 3}});
    script.fn(script.arg, RUN_ENDED,
              &(struct run_info){.snapshot = snapshot_new(), .ended_ns = clock_mono_ns()});
    ck_assert_uint_eq(before + hear(&c, MSG_FINAL), SNAPSHOTS);
    close(c.fd);
    endpoint_free(c.endpoint);
    loop_finish(c.loop);
    loop_free(c.loop);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("endpoint");
    TCase *t = tcase_create("endpoint");
    tcase_set_timeout(t, 20);
    tcase_add_test(t, test_trickling_is_not_hello);
    tcase_add_test(t, test_reach);
    tcase_add_test(t, test_snapshots_do_not_hold_up_a_pong);
    suite_add_tcase(s, t);
    return check_main(s);
}
