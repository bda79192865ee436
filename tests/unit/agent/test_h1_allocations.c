/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/alloc_count.h"
#include "tests/lib/check_main.h"
#include "tests/lib/h1_rig.h"
#include "tests/lib/hostile_server.h"

/* The steady state allocates nothing. */

#define REQUESTS    100000
#define ALLOC_BOUND 200

START_TEST(test_the_count_counts)
{
    uint64_t before = allocations;
    void *volatile p = malloc(1);
    free(p);
    ck_assert_uint_eq(allocations - before, COUNTING);
}
END_TEST

START_TEST(test_steady_state)
{
    static const struct hostile_step script[] = {
        {.op = HOSTILE_READ},
        {.op = HOSTILE_SEND, .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
        {.op = HOSTILE_AGAIN}};
    const struct hostile_step *scripts[] = {script};
    struct hostile_server *h = hostile_start(scripts, 1);
    uint16_t port = hostile_port(h);
    struct h1_rig_config cfg = {.connections = 8,
                                .request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_wait_idle(&r, 8);
    h1_rig_run(&r, 100);
    uint64_t before = allocations;
    for (int i = 0; i < 10; i++)
        h1_rig_run(&r, REQUESTS / 10);
    uint64_t made = allocations - before;
    ck_assert_uint_eq(r.outcomes[OUTCOME_OK], REQUESTS + 100);
    ck_assert_msg(made < ALLOC_BOUND, "%lu allocations", (unsigned long)made);
    printf("%lu allocations in %d requests\n", (unsigned long)made, REQUESTS);
    h1_rig_close(&r);
    hostile_stop(h);
}
END_TEST

/* A new connection for every request costs none either. */
START_TEST(test_reconnects)
{
    static const struct hostile_step script[] = {
        {.op = HOSTILE_READ},
        {.op = HOSTILE_SEND,
         .bytes = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"},
        {.op = HOSTILE_END}};
    const struct hostile_step *scripts[] = {script};
    struct hostile_server *h = hostile_start(scripts, 1);
    uint16_t port = hostile_port(h);
    struct h1_rig_config cfg = {.request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_run(&r, 50);
    uint64_t before = allocations;
    h1_rig_run(&r, 150);
    ck_assert_uint_lt(allocations - before, 20);
    ck_assert_uint_eq(r.outcomes[OUTCOME_OK], 200);
    ck_assert_uint_ge(r.traffic.connects, 200);
    h1_rig_close(&r);
    hostile_stop(h);
}
END_TEST

static const struct {
    struct client_rules rules;
    bool several, dead; /* targets; and the second one refuses */
} ways[] = {
    {{.no_keepalive = true}, false, false},
    {{.requests_per_connection = 2}, false, false},
    {{.max_connections = 3}, false, false},
    {{.think_min_ns = 1, .think_max_ns = 1000000}, false, false},
    {{.no_keepalive = true}, true, false},
    {{.expect_status = "200", .expect_body = "=", .follow = 3, .cookies = true}, false, false},
    {{0}, true, false},
    {{.max_connections = 8}, true, true},
};

/* However connections are opened, used and given up. */
START_TEST(test_every_way_to_use_connections)
{
    static const struct hostile_step script[] = {
        {.op = HOSTILE_READ},
        {.op = HOSTILE_SEND,
         .bytes = "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nContent-Length: 0\r\n\r\n"},
        {.op = HOSTILE_AGAIN}};
    const struct hostile_step *scripts[] = {script};
    struct url_parts origin = {.host = "127.0.0.1", .port = "80"};
    struct hostile_server *a = hostile_start(scripts, 1), *b = hostile_start(scripts, 1);
    uint16_t port = hostile_port(a), other_port = hostile_port(b);
    struct target other = h1_rig_target(&other_port, 1);
    struct h1_rig_config cfg = {.request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1),
                                .rules = ways[_i].rules,
                                .others = &other,
                                .n_others = ways[_i].several,
                                .origins = ways[_i].several ? NULL : &origin};
    if (ways[_i].dead)
        hostile_stop(b);
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_run(&r, 20);
    uint64_t before = allocations;
    h1_rig_run(&r, 80);
    ck_assert_uint_lt(allocations - before, 10);
    ck_assert_uint_eq(r.outcomes[OUTCOME_OK], ways[_i].dead ? 50 : 100);
    h1_rig_close(&r);
    hostile_stop(a);
    if (!ways[_i].dead)
        hostile_stop(b);
}
END_TEST

/* Neither do fields and a body in the request, large bodies, header blocks that are never the same
 * twice, nor timeouts. */
START_TEST(test_all_else)
{
    static const char body[] = "0123456789";
    static const struct hostile_step script[] = {
        {.op = HOSTILE_READ, .n = 2000},
        {.op = HOSTILE_SEND, .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"},
        {.op = HOSTILE_FLOOD, .bytes = body, .n = 100000},
        {.op = HOSTILE_READ, .n = 2000},
        {.op = HOSTILE_SEND,
         .bytes = "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "5\r\nhello\r\n0\r\nA: b\r\n\r\n"},
        {.op = HOSTILE_READ, .n = 2000}, /* the third is not answered */
        {.op = HOSTILE_HANG}};
    const struct hostile_step *scripts[] = {script};
    struct hostile_server *h = hostile_start(scripts, 1);
    uint16_t port = hostile_port(h);
    struct h1_rig_config cfg = {.timeout_ms = 30,
                                .request = h1_rig_request("POST", "/", 2000),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_run(&r, 30);
    uint64_t before = allocations;
    h1_rig_run(&r, 150);
    ck_assert_uint_lt(allocations - before, 20);
    ck_assert_uint_ge(r.outcomes[OUTCOME_TIMEOUT], 60);
    ck_assert_uint_ge(r.outcomes[OUTCOME_OK], 60); /* of 120, on a busy machine */
    h1_rig_close(&r);
    hostile_stop(h);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("h1_allocations");
    TCase *t = tcase_create("allocations");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_the_count_counts);
    tcase_add_test(t, test_steady_state);
    tcase_add_test(t, test_reconnects);
    tcase_add_loop_test(t, test_every_way_to_use_connections, 0,
                        (int)(sizeof ways / sizeof ways[0]));
    tcase_add_test(t, test_all_else);
    suite_add_tcase(s, t);
    return check_main(s);
}
