/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/h1_rig.h"
#include "tests/lib/hostile_script.h"

/* Slots without a connection: one is opened for the request, and is part of it. */

static const struct hostile_step good[] = {READ, SEND(GOOD), AGAIN};
static const struct hostile_step silent[] = {READ, HANG, END};

static const struct client_rules no_keepalive = {.no_keepalive = true};

struct fixture {
    const struct hostile_step *scripts[1];
    struct hostile_server *server;
    struct h1_rig rig;
};

static void start(struct fixture *f, const struct hostile_step *script,
                  const struct client_rules *rules, uint32_t connections)
{
    f->scripts[0] = script;
    f->server = hostile_start(f->scripts, 1);
    uint16_t port = hostile_port(f->server);
    struct h1_rig_config cfg = {.connections = connections,
                                .request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1),
                                .rules = *rules};
    h1_rig_open(&f->rig, &cfg);
}

static void finish(struct fixture *f)
{
    h1_rig_close(&f->rig);
    hostile_stop(f->server);
}

/* A port of our own, bound so that nobody else gets it; nobody listens yet. */
struct port {
    int fd;
    uint16_t number;
};

static struct port port_take(void)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;
    struct port p = {.fd = socket(AF_INET, SOCK_STREAM, 0)};
    ck_assert_int_eq(bind(p.fd, (struct sockaddr *)&sa, len), 0);
    ck_assert_int_eq(getsockname(p.fd, (struct sockaddr *)&sa, &len), 0);
    p.number = ntohs(sa.sin_port);
    return p;
}

static void start_port(struct h1_rig *r, const struct port *p, struct h1_rig_config cfg)
{
    cfg.request = h1_rig_request("GET", "/", 0);
    cfg.target = h1_rig_target(&p->number, 1);
    h1_rig_open(r, &cfg);
}

/* SYNs to it are dropped: the queue is full. */
struct full_port {
    struct port port;
    int fillers[4];
};

static struct full_port full_port_take(void)
{
    struct full_port f = {.port = port_take()};
    struct target t = h1_rig_target(&f.port.number, 1);
    ck_assert_int_eq(listen(f.port.fd, 0), 0);
    for (int i = 0; i < 4; i++) {
        f.fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(f.fillers[i], (struct sockaddr *)&t.addrs[0].sa, t.addrs[0].len);
    }
    return f;
}

static void full_port_free(struct full_port *f)
{
    for (int i = 0; i < 4; i++)
        close(f->fillers[i]);
    close(f->port.fd);
}

/* ---- no keep-alive ---- */

START_TEST(test_each_request_has_its_own_connection)
{
    static const struct client_rules rules[] = {{.no_keepalive = true},
                                                {.requests_per_connection = 1}};
    struct fixture f;
    start(&f, good, &rules[_i], 2);
    ck_assert_uint_eq(f.rig.ops->idle(f.rig.client), 2);
    ck_assert_uint_eq(f.rig.ops->attempted(f.rig.client), 2); /* nothing to wait for */
    h1_rig_turn(&f.rig, 10);
    ck_assert_uint_eq(f.rig.traffic.connects, 0);
    for (int i = 0; i < 20; i++) {
        h1_rig_run(&f.rig, 1);
        ck_assert_uint_eq(f.rig.ops->connected(f.rig.client), 0);
        ck_assert_uint_eq(f.rig.ops->idle(f.rig.client), 2);
    }
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_OK], 20);
    ck_assert_uint_eq(hostile_accepted(f.server), 20);
    ck_assert_uint_eq(hostile_requests(f.server), 20);
    ck_assert_uint_eq(f.rig.traffic.connects, 20);
    ck_assert_uint_eq(f.rig.traffic.reused, 0);
    ck_assert_uint_gt(f.rig.last.handed_ns, f.rig.last.sent_ns);
    finish(&f);
}
END_TEST

/* sent is the instant the connection was begun, and the timeout counts from there. */
START_TEST(test_timeout_counts_from_the_connect)
{
    struct full_port p = full_port_take();
    struct h1_rig r;
    start_port(&r, &p.port, (struct h1_rig_config){.timeout_ms = 60, .rules = no_keepalive});
    uint64_t before_ns = clock_mono_ns();
    h1_rig_submit(&r);
    uint64_t after_ns = clock_mono_ns();
    ck_assert_uint_eq(r.ops->in_flight(r.client), 1);
    h1_rig_wait(&r, &r.completed, 1);
    ck_assert_int_eq(r.last.outcome, OUTCOME_TIMEOUT);
    ck_assert(r.last.sent_ns >= before_ns && r.last.sent_ns <= after_ns);
    ck_assert_uint_ge(r.last.done_ns - r.last.sent_ns, 60 * NS_PER_MS);
    ck_assert_uint_eq(r.last.handed_ns, 0);
    ck_assert_uint_eq(r.ops->idle(r.client), 1); /* it took its time: no pause */
    ck_assert_uint_eq(r.faults[FAULT_CONNECT], 0);
    h1_rig_close(&r);
    full_port_free(&p);
}
END_TEST

/* ---- failures ---- */

/* Sends one that is refused; how long the slot then waits. */
static uint64_t refused(struct h1_rig *r)
{
    uint64_t before = r->completed;
    h1_rig_submit(r);
    ck_assert_uint_eq(r->completed, before); /* submit completes nothing */
    ck_assert_uint_eq(r->ops->in_flight(r->client), 1);
    h1_rig_wait(r, &r->completed, before + 1);
    ck_assert_int_eq(r->last.outcome, OUTCOME_CONNECT);
    ck_assert_int_eq(r->last.error, ECONNREFUSED);
    ck_assert_uint_eq(r->last.attempts, 1);
    return r->ops->deadline(r->client) - r->last.done_ns;
}

static void check_pause(uint64_t pause_ns, uint64_t expected_ms)
{
    uint64_t ns = expected_ms * NS_PER_MS;
    ck_assert_msg(pause_ns >= ns && pause_ns <= ns + ns / 4, "%lu ns, not %lu ms",
                  (unsigned long)pause_ns, (unsigned long)expected_ms);
}

/* A dead port neither makes the run spin nor give up; it is in the ledger, not a fault. */
START_TEST(test_refused_waits_longer_each_time)
{
    static const uint64_t pauses_ms[] = {100, 200, 400, 800, 1600, 1600, 1600};
    struct port p = port_take();
    struct h1_rig r;
    start_port(&r, &p, (struct h1_rig_config){.rules = no_keepalive});
    for (size_t i = 0; i < sizeof pauses_ms / sizeof pauses_ms[0]; i++) {
        check_pause(refused(&r), pauses_ms[i]);
        ck_assert_uint_eq(r.ops->idle(r.client), 0);
        uint64_t readies = r.readies;
        h1_rig_expire(&r);
        ck_assert_uint_eq(r.ops->idle(r.client), 1);
        ck_assert_uint_eq(r.readies, readies + 1);
    }
    ck_assert_uint_eq(r.faults[FAULT_CONNECT], 0);
    ck_assert_uint_eq(r.traffic.connects, 0);
    h1_rig_close(&r);
    close(p.fd);
}
END_TEST

/* Failures in a row end with a connection. */
START_TEST(test_a_connection_ends_the_row)
{
    struct port p = port_take();
    struct h1_rig r;
    start_port(&r, &p, (struct h1_rig_config){.rules = no_keepalive});
    for (int i = 0; i < 3; i++) {
        refused(&r);
        h1_rig_expire(&r);
    }
    ck_assert_int_eq(listen(p.fd, 8), 0);
    h1_rig_submit(&r);
    h1_rig_wait(&r, &r.traffic.connects, 1);
    ck_assert_int_eq(shutdown(p.fd, SHUT_RD), 0); /* resets it, and listens no more */
    h1_rig_wait(&r, &r.completed, 4);
    ck_assert_int_eq(r.last.outcome, OUTCOME_READ);
    ck_assert_uint_eq(r.ops->idle(r.client), 1); /* one lost connection is no reason to wait */
    check_pause(refused(&r), 100);
    h1_rig_close(&r);
    close(p.fd);
}
END_TEST

/* So do slots whose connections stand between requests. */
START_TEST(test_reconnects_wait_longer_each_time)
{
    static const uint64_t pauses_ms[] = {100, 200, 400, 800, 1600, 1600};
    struct port p = port_take();
    struct h1_rig r;
    start_port(&r, &p, (struct h1_rig_config){0});
    for (size_t i = 0; i < sizeof pauses_ms / sizeof pauses_ms[0]; i++) {
        h1_rig_wait(&r, &r.faults[FAULT_CONNECT], i + 1);
        uint64_t now_ns = clock_mono_ns(), pause_ns = r.ops->deadline(r.client) - now_ns;
        ck_assert_uint_le(pause_ns, pauses_ms[i] * NS_PER_MS * 5 / 4);
        ck_assert_uint_gt(pause_ns, pauses_ms[i] * NS_PER_MS / 2);
        h1_rig_expire(&r);
    }
    h1_rig_close(&r);
    close(p.fd);
}
END_TEST

/* Every connection is lost with its request: five more at once, then slower. */
START_TEST(test_barren_connections_wait)
{
    static const struct hostile_step script[] = {READ, RESET, END};
    struct fixture f;
    start(&f, script, &no_keepalive, 1);
    for (int i = 0; i < 6; i++) {
        ck_assert_uint_eq(f.rig.ops->idle(f.rig.client), 1);
        h1_rig_run(&f.rig, 1);
        ck_assert_int_eq(f.rig.last.outcome, OUTCOME_READ);
    }
    ck_assert_uint_eq(f.rig.ops->idle(f.rig.client), 0);
    check_pause(f.rig.ops->deadline(f.rig.client) - f.rig.last.done_ns, 100);
    finish(&f);
}
END_TEST

static bool nobody(const void *arg, const struct sockaddr *sa)
{
    (void)arg, (void)sa;
    return false;
}

/* What is forbidden is never dialled: the request fails, and the run is told. */
START_TEST(test_forbidden)
{
    struct port p = port_take();
    struct h1_rig r;
    struct h1_rig_config cfg = {.request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&p.number, 1),
                                .rules = no_keepalive};
    cfg.target.guard.allows = nobody;
    h1_rig_open(&r, &cfg);
    h1_rig_run(&r, 1);
    ck_assert_int_eq(r.last.outcome, OUTCOME_CONNECT);
    ck_assert_int_eq(r.last.error, EACCES);
    ck_assert_uint_eq(r.faults[FAULT_POLICY], 1);
    h1_rig_close(&r);
    close(p.fd);
}
END_TEST

/* Addresses are used in turn, and a dead one is passed over within the same request. */
START_TEST(test_addresses_in_turn)
{
    const struct hostile_step *scripts[] = {good};
    struct hostile_server *a = hostile_start(scripts, 1), *b = hostile_start(scripts, 1);
    struct port dead = port_take();
    uint16_t ports[] = {hostile_port(a), dead.number, hostile_port(b)};
    struct h1_rig r;
    struct h1_rig_config cfg = {.request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(ports, 3),
                                .rules = no_keepalive};
    h1_rig_open(&r, &cfg);
    h1_rig_run(&r, 30);
    ck_assert_uint_eq(r.outcomes[OUTCOME_OK], 30);
    ck_assert_uint_eq(hostile_accepted(a), 10);
    ck_assert_uint_eq(hostile_accepted(b), 20); /* the dead one's turns too */
    h1_rig_close(&r);
    hostile_stop(a);
    hostile_stop(b);
    close(dead.fd);
}
END_TEST

/* ---- a limit for connecting ---- */

START_TEST(test_connect_timeout_of_a_request)
{
    struct full_port p = full_port_take();
    struct h1_rig r;
    struct h1_rig_config cfg = {
        .rules = {.no_keepalive = true, .connect_timeout_ns = 60 * NS_PER_MS}};
    start_port(&r, &p.port, cfg);
    h1_rig_run(&r, 1);
    ck_assert_int_eq(r.last.outcome, OUTCOME_CONNECT);
    ck_assert_int_eq(r.last.error, ETIMEDOUT);
    ck_assert_uint_ge(r.last.done_ns - r.last.sent_ns, 60 * NS_PER_MS);
    ck_assert_uint_lt(r.last.done_ns - r.last.sent_ns, 5 * NS_PER_SEC);
    h1_rig_close(&r);
    full_port_free(&p);
}
END_TEST

START_TEST(test_connect_timeout_in_the_background)
{
    struct full_port p = full_port_take();
    struct h1_rig r;
    uint64_t begin_ns = clock_mono_ns();
    start_port(&r, &p.port,
               (struct h1_rig_config){.rules = {.connect_timeout_ns = 60 * NS_PER_MS}});
    h1_rig_wait(&r, &r.faults[FAULT_CONNECT], 1);
    ck_assert_int_eq(r.fault_code, ETIMEDOUT);
    ck_assert_uint_ge(clock_mono_ns() - begin_ns, 60 * NS_PER_MS);
    h1_rig_close(&r);
    full_port_free(&p);
}
END_TEST

/* It is over once there is a connection: the request has its whole timeout. */
START_TEST(test_connect_timeout_is_no_limit_of_the_response)
{
    static const struct client_rules rules[] = {
        {.no_keepalive = true, .connect_timeout_ns = 50 * NS_PER_MS},
        {.connect_timeout_ns = 50 * NS_PER_MS}};
    struct fixture f;
    start(&f, silent, &rules[_i], 1);
    h1_rig_wait_idle(&f.rig, 1);
    h1_rig_submit(&f.rig);
    uint64_t until_ns = clock_mono_ns() + 150 * NS_PER_MS;
    while (clock_mono_ns() < until_ns)
        h1_rig_turn(&f.rig, 20);
    ck_assert_uint_eq(f.rig.completed, 0);
    finish(&f);
}
END_TEST

/* ---- the end ---- */

/* Nothing more is opened, and what was still opening never went out. */
START_TEST(test_quiesced_it_opens_nothing)
{
    struct full_port p = full_port_take();
    struct h1_rig r;
    start_port(&r, &p.port, (struct h1_rig_config){.connections = 3, .rules = no_keepalive});
    h1_rig_submit(&r);
    h1_rig_submit(&r);
    h1_rig_turn(&r, 0);
    r.ops->quiesce(r.client, clock_mono_ns());
    ck_assert_uint_eq(r.outcomes[OUTCOME_UNFINISHED], 2);
    ck_assert_uint_eq(r.ops->idle(r.client), 0);
    ck_assert_uint_eq(r.ops->deadline(r.client), NS_NEVER);
    h1_rig_close(&r);
    full_port_free(&p);
}
END_TEST

/* Also what is about to be told that it failed. */
START_TEST(test_stopped_between_failure_and_telling)
{
    struct port p = port_take();
    struct h1_rig r;
    start_port(&r, &p, (struct h1_rig_config){.connections = 2, .rules = no_keepalive});
    h1_rig_submit(&r);
    h1_rig_submit(&r);
    if (_i == 0)
        r.ops->quiesce(r.client, clock_mono_ns());
    r.ops->stop(r.client, clock_mono_ns());
    ck_assert_uint_eq(r.outcomes[OUTCOME_UNFINISHED], 2);
    h1_rig_close(&r);
    close(p.fd);
}
END_TEST

/* A request that is under way ends, and its connection with it. */
START_TEST(test_quiesced_a_request_ends)
{
    static const struct hostile_step script[] = {READ, SLOW(GOOD), HANG, END};
    struct fixture f;
    start(&f, script, &no_keepalive, 1);
    h1_rig_submit(&f.rig);
    h1_rig_wait(&f.rig, &f.rig.traffic.bytes_out, 1);
    f.rig.ops->quiesce(f.rig.client, clock_mono_ns());
    h1_rig_wait(&f.rig, &f.rig.completed, 1);
    ck_assert_int_eq(f.rig.last.outcome, OUTCOME_OK);
    ck_assert_uint_eq(f.rig.ops->idle(f.rig.client), 0);
    ck_assert_uint_eq(f.rig.ops->deadline(f.rig.client), NS_NEVER);
    finish(&f);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("h1_cold");
    TCase *t = tcase_create("cold");
    tcase_set_timeout(t, 30);
    tcase_add_loop_test(t, test_each_request_has_its_own_connection, 0, 2);
    tcase_add_test(t, test_timeout_counts_from_the_connect);
    tcase_add_test(t, test_refused_waits_longer_each_time);
    tcase_add_test(t, test_a_connection_ends_the_row);
    tcase_add_test(t, test_reconnects_wait_longer_each_time);
    tcase_add_test(t, test_barren_connections_wait);
    tcase_add_test(t, test_forbidden);
    tcase_add_test(t, test_addresses_in_turn);
    tcase_add_test(t, test_connect_timeout_of_a_request);
    tcase_add_test(t, test_connect_timeout_in_the_background);
    tcase_add_loop_test(t, test_connect_timeout_is_no_limit_of_the_response, 0, 2);
    tcase_add_test(t, test_quiesced_it_opens_nothing);
    tcase_add_loop_test(t, test_stopped_between_failure_and_telling, 0, 2);
    tcase_add_test(t, test_quiesced_a_request_ends);
    suite_add_tcase(s, t);
    return check_main(s);
}
