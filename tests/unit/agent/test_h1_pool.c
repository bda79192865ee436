/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/h1_rig.h"
#include "tests/lib/hostile_script.h"

/* Which connection takes a request, and what becomes of it afterwards. */

#define EMPTY "Content-Length: 0\r\n\r\n"

static const struct hostile_step good[] = {READ, SEND(GOOD), AGAIN};
static const struct hostile_step good_too[] = {READ, SEND("HTTP/1.1 202 B\r\n" EMPTY), AGAIN};
static const struct hostile_step once[] = {READ, SEND(GOOD), END};

/* As many servers as scripts; request i goes to server i modulo their number. */
struct fixture {
    const struct hostile_step *scripts[RIG_TARGETS_MAX];
    struct hostile_server *servers[RIG_TARGETS_MAX];
    struct target others[RIG_TARGETS_MAX];
    size_t n;
    struct h1_rig rig;
};

static void start(struct fixture *f, const struct hostile_step *const *scripts, size_t n,
                  uint32_t connections, const struct client_rules *rules)
{
    struct h1_rig_config cfg = {.connections = connections,
                                .request = h1_rig_request("GET", "/", 0),
                                .rules = *rules,
                                .others = f->others,
                                .n_others = n - 1};
    f->n = n;
    for (size_t i = 0; i < n; i++) {
        f->scripts[i] = scripts[i];
        f->servers[i] = hostile_start(&f->scripts[i], 1);
        uint16_t port = hostile_port(f->servers[i]);
        struct target t = h1_rig_target(&port, 1);
        if (i == 0)
            cfg.target = t;
        else
            f->others[i - 1] = t;
    }
    h1_rig_open(&f->rig, &cfg);
}

static void start_one(struct fixture *f, const struct hostile_step *script, uint32_t connections,
                      struct client_rules rules)
{
    start(f, &script, 1, connections, &rules);
}

static void finish(struct fixture *f)
{
    h1_rig_close(&f->rig);
    for (size_t i = 0; i < f->n; i++)
        hostile_stop(f->servers[i]);
}

static uint32_t idle(const struct fixture *f)
{
    return f->rig.ops->idle(f->rig.client);
}

static uint32_t connected(const struct fixture *f)
{
    return f->rig.ops->connected(f->rig.client);
}

/* ---- a connection's requests are limited ---- */

START_TEST(test_requests_per_connection)
{
    struct fixture f;
    start_one(&f, good, 1, (struct client_rules){.requests_per_connection = 3});
    for (int i = 0; i < 9; i++)
        h1_rig_run(&f.rig, 1);
    h1_rig_wait_idle(&f.rig, 1); /* its replacement did not wait for a request */
    ck_assert_uint_eq(f.rig.traffic.connects, 4);
    ck_assert_uint_eq(hostile_requests(f.servers[0]), 9);
    ck_assert_uint_eq(f.rig.traffic.reused, 6);
    ck_assert_uint_eq(f.rig.traffic.retries, 0);
    ck_assert_uint_eq(f.rig.last.handed_ns, f.rig.last.sent_ns);
    finish(&f);
}
END_TEST

/* ---- more of them when all are busy ---- */

START_TEST(test_grows_only_when_needed)
{
    struct fixture f;
    start_one(&f, good, 1, (struct client_rules){.max_connections = 3});
    ck_assert_uint_eq(idle(&f), 2); /* without a connection, from the start */
    h1_rig_wait_idle(&f.rig, 3);
    h1_rig_run(&f.rig, 1);
    for (int i = 0; i < 5; i++)
        h1_rig_run(&f.rig, 1);
    ck_assert_uint_eq(hostile_accepted(f.servers[0]), 1);
    for (int i = 0; i < 3; i++)
        h1_rig_submit(&f.rig);
    ck_assert_uint_eq(idle(&f), 0);
    h1_rig_wait(&f.rig, &f.rig.completed, 9);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_OK], 9);
    ck_assert_uint_eq(f.rig.traffic.connects, 3);
    ck_assert_uint_eq(connected(&f), 3);
    for (int i = 0; i < 9; i++) /* those stay, and serve in turn */
        h1_rig_run(&f.rig, 1);
    ck_assert_uint_eq(f.rig.traffic.connects, 3);
    finish(&f);
}
END_TEST

/* A closed extra connection is not replaced, and its slot is idle all the time. */
START_TEST(test_shrinks_again)
{
    static const struct hostile_step closing[] = {READ, SEND(GOOD), HALF, HANG, END};
    static const struct hostile_step bye[] = {READ, SEND(GOOD_BYE), END};
    static const struct hostile_step *const kinds[] = {closing, bye};
    struct fixture f;
    start_one(&f, kinds[_i], 1, (struct client_rules){.max_connections = 2});
    h1_rig_wait_idle(&f.rig, 2);
    h1_rig_submit(&f.rig);
    h1_rig_submit(&f.rig);
    h1_rig_wait(&f.rig, &f.rig.completed, 2);
    h1_rig_wait(&f.rig, &f.rig.traffic.connects, 3); /* the first one is replaced */
    for (int turns = 0; connected(&f) != 1 || idle(&f) != 2; turns++) {
        ck_assert_int_lt(turns, 1000);
        h1_rig_turn(&f.rig, 10);
    }
    h1_rig_turn(&f.rig, 20);
    ck_assert_uint_eq(f.rig.traffic.connects, 3);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_OK], 2);
    finish(&f);
}
END_TEST

/* ---- several targets ---- */

START_TEST(test_each_request_goes_to_its_target)
{
    static const struct hostile_step *const scripts[] = {good, good_too};
    struct fixture f;
    start(&f, scripts, 2, 4, &(struct client_rules){0});
    h1_rig_wait_idle(&f.rig, 4);
    for (int i = 0; i < 40; i++)
        h1_rig_run(&f.rig, 1);
    for (int i = 0; i < 40; i++)
        ck_assert_int_eq(f.rig.results[i].status, i % 2 == 0 ? 200 : 202);
    ck_assert_uint_eq(hostile_accepted(f.servers[0]), 2); /* spread before the start */
    ck_assert_uint_eq(hostile_accepted(f.servers[1]), 2);
    finish(&f);
}
END_TEST

/* One connection for two: closed and opened to the other each time, as part of the request. */
START_TEST(test_an_idle_connection_changes_sides)
{
    static const struct hostile_step *const scripts[] = {good, good_too};
    struct fixture f;
    start(&f, scripts, 2, 1, &(struct client_rules){0});
    h1_rig_wait_idle(&f.rig, 1);
    for (int i = 0; i < 20; i++)
        h1_rig_run(&f.rig, 1);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(f.rig.results[i].status, i % 2 == 0 ? 200 : 202);
    ck_assert_uint_eq(hostile_accepted(f.servers[0]), 10);
    ck_assert_uint_eq(hostile_accepted(f.servers[1]), 10);
    ck_assert_uint_eq(f.rig.traffic.reused, 0);
    ck_assert_uint_gt(f.rig.last.handed_ns, f.rig.last.sent_ns);
    finish(&f);
}
END_TEST

/* A cold slot is taken before a connection to another target is given up. */
START_TEST(test_cold_before_another_targets)
{
    static const struct hostile_step *const scripts[] = {good, good_too};
    struct fixture f;
    start(&f, scripts, 2, 1, &(struct client_rules){.max_connections = 2});
    h1_rig_wait_idle(&f.rig, 2);
    for (int i = 0; i < 20; i++)
        h1_rig_run(&f.rig, 1);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_OK], 20);
    ck_assert_uint_eq(hostile_accepted(f.servers[0]), 1);
    ck_assert_uint_eq(hostile_accepted(f.servers[1]), 1);
    finish(&f);
}
END_TEST

/* The one that was idle longest is given up. */
START_TEST(test_the_longest_idle_is_given_up)
{
    static const struct hostile_step *const scripts[] = {good, good, good_too};
    struct fixture f;
    start(&f, scripts, 3, 2, &(struct client_rules){0}); /* one each to the first two */
    h1_rig_wait_idle(&f.rig, 2);
    h1_rig_run(&f.rig, 1); /* the second one's has been idle for longer now */
    h1_rig_run(&f.rig, 1); /* the first one's */
    h1_rig_run(&f.rig, 1); /* the third one takes the first one's */
    ck_assert_int_eq(f.rig.last.status, 202);
    h1_rig_run(&f.rig, 1); /* the first one takes the second one's */
    h1_rig_run(&f.rig, 1);
    ck_assert_uint_eq(hostile_accepted(f.servers[0]), 2);
    ck_assert_uint_eq(hostile_accepted(f.servers[1]), 2);
    ck_assert_uint_eq(hostile_accepted(f.servers[2]), 1);
    finish(&f);
}
END_TEST

/* A dead one of two fails its own requests, and leaves the other's alone. */
START_TEST(test_one_dead_target)
{
    static const struct hostile_step *const scripts[] = {good, good_too};
    struct fixture f;
    start(&f, scripts, 2, 4, &(struct client_rules){.no_keepalive = _i == 1});
    h1_rig_wait_idle(&f.rig, 4);
    hostile_stop(f.servers[1]);
    f.n = 1;
    for (int i = 0; i < 16; i++)
        h1_rig_run(&f.rig, 1);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_OK], 8);
    for (int i = 0; i < 16; i++) {
        ck_assert_int_eq(f.rig.results[i].outcome == OUTCOME_OK, i % 2 == 0);
        ck_assert_uint_le(f.rig.results[i].attempts, 2);
    }
    finish(&f);
}
END_TEST

/* That nobody answers at the first one says nothing of the second. */
START_TEST(test_the_first_target_is_dead)
{
    static const struct hostile_step *const scripts[] = {good, good_too};
    struct h1_rig_config cfg = {.connections = 400, .request = h1_rig_request("GET", "/", 0)};
    struct hostile_server *dead = hostile_start(scripts, 1), *alive = hostile_start(&scripts[1], 1);
    uint16_t dead_port = hostile_port(dead), port = hostile_port(alive);
    struct target other = h1_rig_target(&port, 1);
    struct h1_rig r;
    hostile_stop(dead);
    cfg.target = h1_rig_target(&dead_port, 1);
    cfg.others = &other;
    cfg.n_others = 1;
    h1_rig_open(&r, &cfg);
    h1_rig_wait(&r, &r.traffic.connects, 200);
    ck_assert_uint_eq(r.ops->attempted(r.client), 400);
    ck_assert_uint_ge(r.faults[FAULT_CONNECT], 1);
    ck_assert_uint_le(r.faults[FAULT_CONNECT], 128); /* those in the queue did not try */
    h1_rig_wait_idle(&r, 400);                       /* for whatever is asked for */
    ck_assert_uint_eq(r.ops->connected(r.client), 200);
    h1_rig_close(&r);
    hostile_stop(alive);
}
END_TEST

/* ---- think times ---- */

#define THINK_MIN (500 * NS_PER_MS)
#define THINK_MAX (900 * NS_PER_MS)

/* How long each of the connections thinks, in the order of their ends. */
static void think(struct fixture *f, uint64_t seed, bool keepalive, uint64_t *thought, size_t n)
{
    start_one(f, good, 1,
              (struct client_rules){.no_keepalive = !keepalive,
                                    .think_min_ns = THINK_MIN,
                                    .think_max_ns = THINK_MAX,
                                    .seed = seed});
    h1_rig_wait_idle(&f->rig, 1); /* nobody thinks before the first request */
    for (size_t i = 0; i < n; i++) {
        h1_rig_run(&f->rig, 1);
        ck_assert_uint_eq(idle(f), 0);
        ck_assert_uint_eq(connected(f), keepalive);
        ck_assert_uint_eq(f->rig.ops->in_flight(f->rig.client), 0);
        thought[i] = f->rig.ops->deadline(f->rig.client) - f->rig.last.done_ns;
        h1_rig_expire(&f->rig);
        ck_assert_uint_eq(idle(f), 1);
        ck_assert_uint_eq(connected(f), keepalive);
    }
    ck_assert_uint_eq(hostile_accepted(f->servers[0]), keepalive ? 1 : n);
    finish(f);
}

START_TEST(test_think_time)
{
    uint64_t thought[3][50];
    struct fixture f;
    think(&f, 7, true, thought[0], 50);
    think(&f, 7, false, thought[1], 50);
    think(&f, 8, true, thought[2], 50);
    ck_assert_int_eq(memcmp(thought[0], thought[1], sizeof thought[0]), 0);
    ck_assert_int_ne(memcmp(thought[0], thought[2], sizeof thought[0]), 0);
    uint64_t least = THINK_MAX, most = THINK_MIN;
    for (int i = 0; i < 50; i++) {
        least = thought[0][i] < least ? thought[0][i] : least;
        most = thought[0][i] > most ? thought[0][i] : most;
    }
    ck_assert(least >= THINK_MIN && most <= THINK_MAX);
    ck_assert_uint_gt(most - least, (THINK_MAX - THINK_MIN) / 2);
}
END_TEST

/* Each slot has times of its own. */
START_TEST(test_slots_think_apart)
{
    struct fixture f;
    start_one(&f, good, 4,
              (struct client_rules){.think_min_ns = THINK_MIN, .think_max_ns = THINK_MAX});
    h1_rig_wait_idle(&f.rig, 4);
    for (int i = 0; i < 4; i++)
        h1_rig_submit(&f.rig);
    h1_rig_wait(&f.rig, &f.rig.completed, 4);
    uint64_t last_ns = 0;
    for (uint32_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(idle(&f), i);
        ck_assert_uint_gt(f.rig.ops->deadline(f.rig.client), last_ns + NS_PER_MS);
        last_ns = f.rig.ops->deadline(f.rig.client);
        h1_rig_expire(&f.rig);
    }
    finish(&f);
}
END_TEST

/* The server closes meanwhile: replaced at once, and the time goes on. */
START_TEST(test_lost_while_thinking)
{
    struct fixture f;
    start_one(
        &f, once, 1,
        (struct client_rules){.think_min_ns = 150 * NS_PER_MS, .think_max_ns = 150 * NS_PER_MS});
    h1_rig_wait_idle(&f.rig, 1);
    h1_rig_run(&f.rig, 1);
    h1_rig_wait(&f.rig, &f.rig.traffic.connects, 2);
    h1_rig_wait_idle(&f.rig, 1);
    ck_assert_uint_ge(clock_mono_ns() - f.rig.last.done_ns, 150 * NS_PER_MS);
    h1_rig_run(&f.rig, 1);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_OK], 2);
    finish(&f);
}
END_TEST

START_TEST(test_quiesced_nobody_thinks)
{
    struct fixture f;
    start_one(&f, good, 2,
              (struct client_rules){.think_min_ns = THINK_MIN, .think_max_ns = THINK_MAX});
    h1_rig_wait_idle(&f.rig, 2);
    h1_rig_run(&f.rig, 1);
    f.rig.ops->quiesce(f.rig.client, clock_mono_ns());
    ck_assert_uint_eq(connected(&f), 1);
    ck_assert_uint_eq(f.rig.ops->deadline(f.rig.client), NS_NEVER);
    finish(&f);
}
END_TEST

/* ---- what is measured ---- */

START_TEST(test_phases)
{
    static const struct client_rules rules[] = {
        {.phases = true}, {.phases = true, .no_keepalive = true}, {.phases = false}};
    struct fixture f;
    start_one(&f, good, 1, rules[_i]);
    h1_rig_wait_idle(&f.rig, 1);
    for (int i = 0; i < 5; i++)
        h1_rig_run(&f.rig, 1);
    const struct client_result *r = &f.rig.last;
    ck_assert_uint_eq(f.rig.opened, rules[_i].phases ? f.rig.traffic.connects : 0);
    if (rules[_i].phases) {
        ck_assert_uint_lt(f.rig.opened_ns, 10 * NS_PER_SEC);
        ck_assert_uint_gt(f.rig.opened_ns, 0);
        ck_assert_uint_ge(r->handed_ns, r->sent_ns);
        ck_assert_uint_ge(r->written_ns, r->handed_ns);
        ck_assert_uint_ge(r->first_byte_ns, r->handed_ns);
        ck_assert_uint_ge(r->done_ns, r->first_byte_ns);
    } else {
        ck_assert_uint_eq(r->written_ns + r->first_byte_ns, 0);
    }
    finish(&f);
}
END_TEST

/* The first byte is not the last: the server takes its time in between. */
START_TEST(test_first_byte_is_the_first)
{
    static const struct hostile_step script[] = {READ,
                                                 SEND(H11 "Content-Length: 3\r\n\r\na"),
                                                 {.op = HOSTILE_TRICKLE, .bytes = "bc", .n = 30},
                                                 AGAIN};
    struct fixture f;
    start_one(&f, script, 1, (struct client_rules){.phases = true});
    h1_rig_run(&f.rig, 3);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_OK], 3);
    ck_assert_uint_ge(f.rig.last.done_ns - f.rig.last.first_byte_ns, 20 * NS_PER_MS);
    finish(&f);
}
END_TEST

static const struct {
    const char *response;
    uint64_t body;
} sized[] = {
    {GOOD, 5},
    {H11 EMPTY, 0},
    {CHUNKED "5\r\nhello\r\n1;x=y\r\n!\r\n0\r\nA: b\r\n\r\n", 6},
    {"HTTP/1.1 100 C\r\n\r\n" GOOD, 5},
    {"HTTP/1.1 204 N\r\n\r\n", 0},
};

START_TEST(test_bytes_of_heads_and_bodies)
{
    const struct hostile_step script[] = {READ, SEND(sized[_i].response), AGAIN};
    static const uint64_t framing[] = {0, 0, sizeof "5\r\n\r\n1;x=y\r\n\r\n0\r\n" - 1, 0, 0};
    struct fixture f;
    start_one(&f, script, 1, (struct client_rules){0});
    h1_rig_run(&f.rig, 4);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_OK], 4);
    ck_assert_uint_eq(f.rig.traffic.body_bytes, 4 * sized[_i].body);
    ck_assert_uint_eq(f.rig.traffic.head_bytes,
                      4 * (strlen(sized[_i].response) - sized[_i].body - framing[_i]));
    ck_assert_uint_eq(f.rig.traffic.reused, 3);
    finish(&f);
}
END_TEST

/* A body that is dropped unread has the same length. */
START_TEST(test_bytes_of_a_large_body)
{
    static const struct hostile_step script[] = {
        READ,
        SEND(H11 "Content-Length: 300000\r\n\r\n"),
        {.op = HOSTILE_FLOOD, .bytes = "0123456789", .n = 300000},
        AGAIN};
    struct fixture f;
    start_one(&f, script, 1, (struct client_rules){0});
    h1_rig_run(&f.rig, 3);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_OK], 3);
    ck_assert_uint_eq(f.rig.traffic.body_bytes, 900000);
    ck_assert_uint_eq(f.rig.traffic.head_bytes + f.rig.traffic.body_bytes, f.rig.traffic.bytes_in);
    finish(&f);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("h1_pool");
    TCase *t = tcase_create("pool");
    tcase_set_timeout(t, 30);
    tcase_add_test(t, test_requests_per_connection);
    tcase_add_test(t, test_grows_only_when_needed);
    tcase_add_loop_test(t, test_shrinks_again, 0, 2);
    tcase_add_test(t, test_each_request_goes_to_its_target);
    tcase_add_test(t, test_an_idle_connection_changes_sides);
    tcase_add_test(t, test_cold_before_another_targets);
    tcase_add_test(t, test_the_longest_idle_is_given_up);
    tcase_add_loop_test(t, test_one_dead_target, 0, 2);
    tcase_add_test(t, test_the_first_target_is_dead);
    tcase_add_test(t, test_think_time);
    tcase_add_test(t, test_slots_think_apart);
    tcase_add_test(t, test_lost_while_thinking);
    tcase_add_test(t, test_quiesced_nobody_thinks);
    suite_add_tcase(s, t);
    TCase *m = tcase_create("measured");
    tcase_set_timeout(m, 30);
    tcase_add_loop_test(m, test_phases, 0, 3);
    tcase_add_test(m, test_first_byte_is_the_first);
    tcase_add_loop_test(m, test_bytes_of_heads_and_bodies, 0,
                        (int)(sizeof sized / sizeof sized[0]));
    tcase_add_test(m, test_bytes_of_a_large_body);
    suite_add_tcase(s, m);
    return check_main(s);
}
