/* SPDX-License-Identifier: MIT */
/* What a worker does on its own when the policy says no: nobody tells it to stop. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/client/client_h1.h"
#include "agent/client/client_null.h"
#include "agent/engine/recorder.h"
#include "agent/engine/worker.h"
#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/echo_client.h"
#include "tests/lib/h1_rig.h"
#include "tests/lib/loop_wait.h"

#define MS NS_PER_MS

struct boss {
    struct loop *loop;
    struct mailbox *reports;
    struct worker *worker;
    struct snapshot *sum;
    uint64_t t0_ns, final_ns;
    unsigned prepared, finals;
    bool overran, forbidden, lease_lost;
};

static void on_letter(void *arg, struct letter *l)
{
    struct boss *b = arg;
    b->prepared += l->kind == WORKER_PREPARED;
    if (l->kind != WORKER_PART)
        return;
    struct part *p = (struct part *)(void *)l;
    ck_assert(p->final || (!p->overran && !p->forbidden));
    ck_assert_int_eq(part_add_to(p, b->sum), ERR_OK);
    if (p->final) {
        b->finals++;
        b->final_ns = clock_mono_ns();
        b->overran = p->overran;
        b->forbidden = p->forbidden;
        b->lease_lost = p->lease_lost;
    }
    worker_give(b->worker, p);
}

static void boss_init(struct boss *b, struct worker_config *cfg, uint64_t duration_ns)
{
    static const struct share whole = {1, 0, 1, 1, 0};
    static const struct rate rate = {1000, 1};
    *b = (struct boss){.loop = loop_wait_new(), .sum = snapshot_new()};
    ck_assert_int_eq(mailbox_new(b->loop, on_letter, b, &b->reports, NULL), ERR_OK);
    cfg->reports = b->reports;
    cfg->interval_ns = 50 * MS;
    ck_assert_int_eq(schedule_init(&cfg->schedule, &rate, &whole, duration_ns, UINT64_MAX, NULL),
                     ERR_OK);
    ck_assert_int_eq(worker_start(cfg, &b->worker, NULL), ERR_OK);
}

static void boss_arm(struct boss *b)
{
    b->t0_ns = clock_mono_ns() + 20 * MS;
    worker_arm(b->worker, b->t0_ns);
}

static struct counters boss_fini(struct boss *b)
{
    struct counters c = snapshot_counters(b->sum);
    worker_join(b->worker);
    mailbox_free(b->reports);
    worker_free(b->worker);
    snapshot_free(b->sum);
    loop_free(b->loop);
    return c;
}

static const struct worker_config echoing = {.connections = 4, .timeout_ns = 2 * NS_PER_SEC};

START_TEST(test_stops_at_its_limit)
{
    struct boss b;
    struct worker_config cfg = echoing;
    cfg.ops = echo_client_ops();
    cfg.send_limit_ns = 200 * MS;
    boss_init(&b, &cfg, NS_NEVER);
    boss_arm(&b);
    LOOP_WAIT(b.loop, b.finals == 1);
    ck_assert(b.overran && !b.forbidden && !b.lease_lost);
    ck_assert_uint_ge(b.final_ns, b.t0_ns + 200 * MS);
    struct counters c = boss_fini(&b);
    ck_assert_int_eq(counters_check(&c, NULL), ERR_OK);
    ck_assert_uint_ge(c.scheduled, 200);
    ck_assert_uint_gt(c.sent, 0);
}
END_TEST

/* A plan as long as the limit ends by itself. */
START_TEST(test_a_plan_up_to_the_limit_is_whole)
{
    struct boss b;
    struct worker_config cfg = echoing;
    cfg.ops = echo_client_ops();
    cfg.send_limit_ns = 2200 * MS;
    boss_init(&b, &cfg, 200 * MS);
    boss_arm(&b);
    LOOP_WAIT(b.loop, b.finals == 1);
    ck_assert(!b.overran);
    struct counters c = boss_fini(&b);
    ck_assert_uint_eq(c.sent, 200);
}
END_TEST

/* Over time while the server is stuck: nothing more is sent, what is in flight keeps its timeout,
 * and the thread sleeps meanwhile. */
START_TEST(test_what_is_in_flight_keeps_its_timeout)
{
    struct boss b;
    struct worker_config cfg = {.connections = 4, .timeout_ns = 400 * MS};
    cfg.ops = client_null_ops();
    cfg.send_limit_ns = 100 * MS;
    boss_init(&b, &cfg, NS_NEVER);
    boss_arm(&b);
    LOOP_WAIT(b.loop, b.finals == 1);
    ck_assert(b.overran);
    uint64_t cpu_ns = b.sum->cpu_ns;
    struct counters c = boss_fini(&b);
    ck_assert_int_eq(counters_check(&c, NULL), ERR_OK);
    ck_assert_uint_eq(c.sent, 4);
    ck_assert_uint_eq(c.timeouts, 4);
    ck_assert_uint_lt(cpu_ns, 150 * MS);
}
END_TEST

struct door {
    atomic_uint asked, open_for; /* the first `open_for` may pass */
};

static bool ask_door(const void *arg, const struct sockaddr *sa)
{
    struct door *d = (struct door *)(uintptr_t)arg;
    ck_assert_int_eq(sa->sa_family, AF_INET);
    return atomic_fetch_add(&d->asked, 1) < atomic_load(&d->open_for);
}

static int listen_here(uint16_t *port)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0);
    ck_assert_int_eq(listen(fd, 16), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
    *port = ntohs(sa.sin_port);
    return fd;
}

static unsigned accept_all(int fd)
{
    unsigned n = 0;
    int peer;
    while ((peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        close(peer);
        n++;
    }
    return n;
}

/* The address about to be connected to is what counts, whatever was checked before: none is passed
 * over in silence, the load ends. */
START_TEST(test_a_forbidden_address_ends_the_load)
{
    struct boss b;
    uint16_t port;
    struct door door = {0, (unsigned)_i};
    int fd = listen_here(&port);
    struct target target = h1_rig_target(&port, 1);
    struct request request = h1_rig_request("GET", "/", 0);
    const struct target *items[] = {&target};
    struct targets targets = {1, items};
    struct reqset requests = {.n = 1, .requests = &request};
    target.guard = (struct target_guard){ask_door, &door};
    struct worker_config cfg = {.connections = 4,
                                .timeout_ns = NS_PER_SEC,
                                .ops = client_h1_ops(),
                                .targets = &targets,
                                .requests = &requests};
    boss_init(&b, &cfg, NS_NEVER);
    LOOP_WAIT(b.loop, b.finals == 1);
    ck_assert(b.forbidden && !b.overran);
    ck_assert_uint_eq(b.prepared, 0);
    ck_assert_uint_le(accept_all(fd), (unsigned)_i);
    ck_assert_uint_eq(b.sum->n_errors, 1);
    ck_assert_str_eq(b.sum->errors[0].text, "policy: the address is not allowed");
    struct counters c = boss_fini(&b);
    ck_assert_uint_eq(c.sent + c.connect_errors + counters_faults(&c), 0);
    request_clear(&request);
    close(fd);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("worker_policy");
    TCase *t = tcase_create("worker_policy");
    tcase_set_timeout(t, 30);
    tcase_add_test(t, test_stops_at_its_limit);
    tcase_add_test(t, test_a_plan_up_to_the_limit_is_whole);
    tcase_add_test(t, test_what_is_in_flight_keeps_its_timeout);
    tcase_add_loop_test(t, test_a_forbidden_address_ends_the_load, 0, 3);
    suite_add_tcase(s, t);
    return check_main(s);
}
