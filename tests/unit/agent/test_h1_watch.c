/* SPDX-License-Identifier: MIT */
/* Redirects, cookies, expectations and the first response, over real sockets. */
#include "agent/client/h1_watch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/client/client_h1.h"
#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/h1_rig.h"
#include "tests/lib/hostile_script.h"

#define EMPTY         "Content-Length: 0\r\n\r\n"
#define TO(code, url) "HTTP/1.1 " code " R\r\nLocation: " url "\r\n" EMPTY

struct fixture {
    struct h1_rig rig;
    struct hostile_step script[6]; /* outlives the test's own frame */
    struct hostile_server *server[2];
    struct url_parts origins[2];
    struct target other;
};

static struct fixture f;

static void origin(size_t i)
{
    struct url_parts *u = &f.origins[i];
    memset(u, 0, sizeof *u);
    strcpy(u->host, "127.0.0.1");
    snprintf(u->port, sizeof u->port, "%u", hostile_port(f.server[i]));
}

static struct h1_rig_config config(const char *method, size_t body, struct client_rules rules)
{
    uint16_t port = hostile_port(f.server[0]);
    struct h1_rig_config cfg = {.request = h1_rig_request(method, "/first?q", body),
                                .target = h1_rig_target(&port, 1),
                                .rules = rules,
                                .origins = f.origins};
    origin(0);
    if (f.server[1] != NULL) {
        port = hostile_port(f.server[1]);
        f.other = h1_rig_target(&port, 1);
        cfg.others = &f.other;
        cfg.n_others = 1;
        origin(1);
    }
    return cfg;
}

static void serve(size_t i, const struct hostile_step *script)
{
    static const struct hostile_step *scripts[2][1];
    scripts[i][0] = script;
    f.server[i] = hostile_start(scripts[i], 1);
}

static void start(const struct hostile_step *script, const char *method, size_t body,
                  struct client_rules rules)
{
    serve(0, script);
    struct h1_rig_config cfg = config(method, body, rules);
    h1_rig_open(&f.rig, &cfg);
}

static void setup(void)
{
    memset(&f, 0, sizeof f);
}

static void teardown(void)
{
    if (f.rig.client != NULL)
        h1_rig_close(&f.rig);
    for (size_t i = 0; i < 2; i++)
        if (f.server[i] != NULL)
            hostile_stop(f.server[i]);
}

static const char *head_at(size_t i)
{
    static char head[HOSTILE_REQUEST_MAX + 1];
    hostile_last_head(f.server[i], head, sizeof head);
    return head;
}

static const struct client_rules follow = {.follow = 3};

/* ---- redirects ---- */

/* Method, status of the redirect; what the hop's head begins with, and its body. */
static const struct {
    const char *method;
    size_t body;
    const char *redirect, *line;
    size_t hop_body;
} hops[] = {
    {"GET", 0, TO("301", "/x"), "GET /x HTTP", 0},
    {"GET", 0, TO("302", "x?y"), "GET /x?y HTTP", 0},
    {"POST", 10, TO("301", "/x"), "GET /x HTTP", 0},
    {"POST", 10, TO("302", "/x"), "GET /x HTTP", 0},
    {"POST", 10, TO("303", "/x"), "GET /x HTTP", 0},
    {"PUT", 10, TO("303", "/x"), "GET /x HTTP", 0},
    {"PUT", 10, TO("302", "/x"), "PUT /x HTTP", 10},
    {"POST", 10, TO("307", "/x"), "POST /x HTTP", 10},
    {"POST", 10, TO("308", "?z"), "POST /first?z HTTP", 10},
};

START_TEST(test_method_and_body)
{
    const struct hostile_step script[] = {BODY(hops[_i].body), SEND(hops[_i].redirect),
                                          BODY(hops[_i].hop_body), SEND(GOOD), AGAIN};
    memcpy(f.script, script, sizeof script);
    start(f.script, hops[_i].method, hops[_i].body, follow);
    h1_rig_run(&f.rig, 2);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_OK], 2);
    ck_assert_int_eq(f.rig.last.status, 200);
    ck_assert_uint_eq(f.rig.traffic.redirects, 2);
    ck_assert_uint_eq(f.rig.traffic.connects, 1);
    ck_assert_uint_eq(f.rig.traffic.body_bytes, 10);
    ck_assert_msg(strncmp(head_at(0), hops[_i].line, strlen(hops[_i].line)) == 0, "%s", head_at(0));
    ck_assert_int_eq(strstr(head_at(0), "Content-Length") != NULL, hops[_i].hop_body > 0);
}
END_TEST

static const char *const finals[] = {
    "HTTP/1.1 302 R\r\n" EMPTY,
    TO("302", "http://other.example/"),
    TO("302", "ftp://x/"),
    TO("304", "/x"),
    TO("300", "/x"),
};

START_TEST(test_not_followed)
{
    const struct hostile_step script[] = {READ, SEND(finals[_i]), AGAIN};
    memcpy(f.script, script, sizeof script);
    start(f.script, "GET", 0, follow);
    h1_rig_run(&f.rig, 2);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_OK], 2);
    ck_assert_int_ge(f.rig.last.status, 300);
    ck_assert_uint_eq(f.rig.traffic.redirects, 0);
    ck_assert_uint_eq(f.rig.faults[FAULT_REDIRECT], _i < 3 ? 2 : 0);
    if (_i < 3)
        ck_assert_int_eq(f.rig.fault_code, _i == 1 ? REDIRECT_ELSEWHERE : REDIRECT_BAD);
}
END_TEST

START_TEST(test_loop_ends)
{
    static const struct hostile_step script[] = {READ, SEND(TO("302", "/first?q")), AGAIN};
    start(script, "GET", 0, follow);
    h1_rig_run(&f.rig, 2);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_OK], 2);
    ck_assert_int_eq(f.rig.last.status, 302);
    ck_assert_uint_eq(f.rig.traffic.redirects, 6);
    ck_assert_uint_eq(f.rig.faults[FAULT_REDIRECT], 2);
    ck_assert_int_eq(f.rig.fault_code, REDIRECT_MANY);
    ck_assert_uint_eq(hostile_requests(f.server[0]), 8);
}
END_TEST

/* Each hop on a connection of its own; they are all one request. */
START_TEST(test_closing_server)
{
    static const struct hostile_step script[] = {
        READ, SEND("HTTP/1.1 302 R\r\nConnection: close\r\nLocation: /x\r\n" EMPTY), END};
    static const struct hostile_step second[] = {READ, SEND(GOOD), END};
    static const struct hostile_step *const scripts[] = {script, second};
    f.server[0] = hostile_start(scripts, 2);
    struct h1_rig_config cfg = config("GET", 0, follow);
    h1_rig_open(&f.rig, &cfg);
    h1_rig_run(&f.rig, 1);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_OK], 1);
    ck_assert_int_eq(f.rig.last.status, 200);
    ck_assert_uint_eq(f.rig.last.attempts, 1);
    ck_assert_uint_ge(f.rig.traffic.connects, 2);
}
END_TEST

/* The connection ends under the hop: it is sent again, and the clock goes on. */
START_TEST(test_retried_hop)
{
    static const struct hostile_step script[] = {READ, SEND(TO("302", "/x")), READ, END};
    static const struct hostile_step second[] = {READ, SEND(GOOD), AGAIN};
    static const struct hostile_step *const scripts[] = {script, second};
    f.server[0] = hostile_start(scripts, 2);
    struct h1_rig_config cfg = config("GET", 0, follow);
    h1_rig_open(&f.rig, &cfg);
    h1_rig_wait_idle(&f.rig, 1);
    uint64_t before_ns = clock_mono_ns();
    h1_rig_submit(&f.rig);
    uint64_t after_ns = clock_mono_ns();
    h1_rig_wait(&f.rig, &f.rig.completed, 1);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_OK], 1);
    ck_assert_uint_eq(f.rig.last.attempts, 2);
    ck_assert_uint_ge(f.rig.last.sent_ns, before_ns);
    ck_assert_uint_le(f.rig.last.sent_ns, after_ns);
    ck_assert_uint_eq(f.rig.traffic.retries, 1);
    ck_assert_ptr_nonnull(strstr(head_at(0), "GET /x "));
}
END_TEST

/* One timeout for all hops: each comes well within it. */
START_TEST(test_timeout_covers_all)
{
    static const struct hostile_step script[] = {
        READ, {.op = HOSTILE_TRICKLE, .bytes = TO("302", "/x"), .n = 2}, AGAIN};
    serve(0, script);
    struct h1_rig_config cfg = config("GET", 0, (struct client_rules){.follow = 50});
    cfg.timeout_ms = 300;
    h1_rig_open(&f.rig, &cfg);
    h1_rig_wait_idle(&f.rig, 1);
    h1_rig_submit(&f.rig);
    h1_rig_wait(&f.rig, &f.rig.completed, 1);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_TIMEOUT], 1);
    ck_assert_uint_ge(f.rig.last.done_ns - f.rig.last.sent_ns, 300 * NS_PER_MS);
    ck_assert_uint_ge(f.rig.traffic.redirects, 1);
}
END_TEST

/* A body that no socket takes at once, edited: each byte goes where it belongs. */
START_TEST(test_large_body)
{
    enum {
        SIZE = 4 << 20
    };
    static const struct hostile_step script[] = {
        BODY(SIZE), SEND("HTTP/1.1 307 R\r\nSet-Cookie: a=1\r\nLocation: /x\r\n" EMPTY), BODY(SIZE),
        SEND(GOOD), AGAIN};
    start(script, "POST", SIZE, (struct client_rules){.follow = 1, .cookies = true});
    h1_rig_run(&f.rig, 2);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_OK], 2);
    ck_assert_uint_eq(hostile_requests(f.server[0]), 4);
    ck_assert_ptr_nonnull(strstr(head_at(0), "\r\nCookie: a=1\r\n\r\n"));
}
END_TEST

/* A redirect instead of a 100: the held-back body is for the hop, which waits for its own 100. The
 * pause must not end in the middle of opening. */
START_TEST(test_held_back_body)
{
    static const struct hostile_step first[] = {READ, SEND(TO("307", "/x")), HANG};
    static const struct hostile_step second[] = {
        READ, SEND("HTTP/1.1 100 C\r\n\r\n"), {.op = HOSTILE_TRICKLE, .bytes = GOOD, .n = 1}, HANG};
    static const struct hostile_step *const scripts[] = {first, second};
    f.server[0] = hostile_start(scripts, 2);
    struct h1_rig_config cfg = config("POST", 10, follow);
    cfg.request.expect_continue = true;
    h1_rig_open(&f.rig, &cfg);
    h1_rig_wait_idle(&f.rig, 1);
    h1_rig_submit(&f.rig);
    h1_rig_wait(&f.rig, &f.rig.traffic.redirects, 1);
    h1_rig_expire(&f.rig); /* the pause, if there still were one: then the slot is opening */
    h1_rig_wait(&f.rig, &f.rig.completed, 1);
    ck_assert_uint_eq(f.rig.traffic.redirects, 1);
}
END_TEST

static char to_other[200];

/* To another host of the plan, and from there back: nothing is lost or counted twice. */
START_TEST(test_other_host)
{
    static const struct hostile_step there[] = {READ, SEND(GOOD), AGAIN};
    const struct hostile_step here[] = {READ, SEND(to_other), AGAIN};
    memcpy(f.script, here, sizeof here);
    serve(1, there);
    snprintf(to_other, sizeof to_other,
             "HTTP/1.1 302 R\r\nLocation: http://127.0.0.1:%u/there\r\n" EMPTY,
             hostile_port(f.server[1]));
    serve(0, f.script);
    struct h1_rig_config cfg = config("GET", 0, follow);
    cfg.connections = 2;
    h1_rig_open(&f.rig, &cfg);
    h1_rig_run(&f.rig, 10);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_OK], 10);
    ck_assert_uint_eq(f.rig.traffic.redirects, 5);
    ck_assert_uint_eq(hostile_requests(f.server[1]), 10);
    for (size_t i = 0; i < 10; i++)
        ck_assert_int_eq(f.rig.results[i].status, 200);
}
END_TEST

START_TEST(test_other_host_is_dead)
{
    static const struct hostile_step none[] = {END};
    const struct hostile_step here[] = {READ, SEND(to_other), AGAIN};
    memcpy(f.script, here, sizeof here);
    serve(1, none);
    snprintf(to_other, sizeof to_other,
             "HTTP/1.1 302 R\r\nLocation: http://127.0.0.1:%u/\r\n" EMPTY,
             hostile_port(f.server[1]));
    serve(0, f.script);
    struct h1_rig_config cfg = config("GET", 0, follow);
    hostile_stop(f.server[1]);
    f.server[1] = NULL;
    h1_rig_open(&f.rig, &cfg);
    h1_rig_wait_idle(&f.rig, 1);
    h1_rig_submit(&f.rig); /* the first goes to the first target */
    h1_rig_wait(&f.rig, &f.rig.completed, 1);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_CONNECT], 1);
    ck_assert_int_eq(f.rig.last.error, ECONNREFUSED);
}
END_TEST

/* Nothing more is sent then: what was redirected remains unfinished. */
START_TEST(test_redirected_while_quiet)
{
    static const struct hostile_step script[] = {
        READ, {.op = HOSTILE_TRICKLE, .bytes = TO("302", "/x"), .n = 5}, AGAIN};
    start(script, "GET", 0, follow);
    h1_rig_wait_idle(&f.rig, 1);
    h1_rig_submit(&f.rig);
    f.rig.ops->quiesce(f.rig.client, clock_mono_ns());
    h1_rig_wait(&f.rig, &f.rig.completed, 1);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_UNFINISHED], 1);
    ck_assert_uint_eq(hostile_requests(f.server[0]), 1);
}
END_TEST

/* ---- cookies ---- */

/* They are the slot's: a new connection goes on with them. */
START_TEST(test_cookies_outlive_the_connection)
{
    static const struct hostile_step first[] = {
        READ, SEND(H11 "Set-Cookie: a=1\r\nset-cookie: b=2; Path=/\r\nConnection: close\r\n" EMPTY),
        END};
    static const struct hostile_step later[] = {READ, SEND(GOOD), AGAIN};
    static const struct hostile_step *const scripts[] = {first, later};
    f.server[0] = hostile_start(scripts, 2);
    struct h1_rig_config cfg = config("GET", 0, (struct client_rules){.cookies = true});
    h1_rig_open(&f.rig, &cfg);
    h1_rig_run(&f.rig, 1);
    ck_assert_ptr_null(strstr(head_at(0), "Cookie"));
    for (int i = 0; i < 2; i++) {
        h1_rig_run(&f.rig, 1);
        ck_assert_msg(strstr(head_at(0), "\r\nCookie: a=1; b=2\r\n\r\n") != NULL, "%s", head_at(0));
    }
}
END_TEST

/* ---- expectations ---- */

static const struct {
    struct client_rules rules;
    const char *response;
    int code;
} judged[] = {
    {{.expect_status = "200"}, GOOD, EXPECT_MET},
    {{.expect_status = "204"}, GOOD, 200},
    {{.expect_body = "^hel+o$"}, GOOD, EXPECT_MET},
    {{.expect_body = "^help"}, GOOD, EXPECT_DIFF},
    {{.expect_body = "=hello"}, CHUNKED "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", EXPECT_MET},
    {{.expect_body = "=hello"}, CHUNKED "2\r\nhe\r\n0\r\n\r\n", EXPECT_DIFF},
    {{.expect_body = "=hello"}, GOOD_BYE, EXPECT_MET},
    {{.expect_body = "=hello", .follow = 2, .cookies = true}, GOOD, EXPECT_MET},
    {{.expect_body = "sha256:"
                     "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"},
     GOOD,
     EXPECT_MET},
};

START_TEST(test_expectations)
{
    const struct hostile_step script[] = {READ, SEND(judged[_i].response), AGAIN};
    memcpy(f.script, script, sizeof script);
    if (strstr(judged[_i].response, "Connection: close") != NULL)
        f.script[2].op = HOSTILE_END;
    start(f.script, "GET", 0, judged[_i].rules);
    h1_rig_run(&f.rig, 3);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_OK], 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(f.rig.results[i].error, judged[_i].code);
}
END_TEST

/* A body that would be dropped unread is read. */
START_TEST(test_large_body_is_seen)
{
    static const char block[] = "0123456789";
    static const struct hostile_step script[] = {
        READ,
        SEND(H11 "Content-Length: 2000003\r\n\r\n"),
        {.op = HOSTILE_FLOOD, .bytes = block, .n = 2000000},
        SEND("end"),
        AGAIN};
    start(script, "GET", 0, (struct client_rules){.expect_body = "9end$"});
    h1_rig_run(&f.rig, 2);
    ck_assert_int_eq(f.rig.last.error, EXPECT_DIFF); /* the end lies beyond the first 64 KiB */
    ck_assert_uint_eq(f.rig.traffic.body_bytes, 2 * 2000003);
}
END_TEST

/* ---- the first response ---- */

START_TEST(test_first)
{
    static const struct hostile_step broken[] = {READ, END};
    static const struct hostile_step script[] = {
        READ, SEND(H11 "Server: one/1\r\nContent-Length: 5\r\n\r\nhello"), READ,
        SEND(H11 "Server: two\r\nContent-Length: 0\r\n\r\n"), AGAIN};
    static const struct hostile_step *const scripts[] = {broken, script};
    f.server[0] = hostile_start(scripts, 2);
    struct h1_rig_config cfg = config("GET", 0, (struct client_rules){.cookies = _i == 1});
    h1_rig_open(&f.rig, &cfg);
    h1_rig_run(&f.rig, 4);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_READ], 1);
    ck_assert_uint_eq(f.rig.firsts, 1);
    ck_assert_uint_eq(f.rig.document_bytes, 5);
    ck_assert_str_eq(f.rig.server, "one/1");
}
END_TEST

#define N_OF(table) (sizeof(table) / sizeof(table)[0])

static Suite *suite(void)
{
    Suite *s = suite_create("h1_watch");
    TCase *t = tcase_create("h1_watch");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, test_method_and_body, 0, N_OF(hops));
    tcase_add_loop_test(t, test_not_followed, 0, N_OF(finals));
    tcase_add_test(t, test_loop_ends);
    tcase_add_test(t, test_closing_server);
    tcase_add_test(t, test_retried_hop);
    tcase_add_test(t, test_timeout_covers_all);
    tcase_add_test(t, test_large_body);
    tcase_add_test(t, test_held_back_body);
    tcase_add_test(t, test_other_host);
    tcase_add_test(t, test_other_host_is_dead);
    tcase_add_test(t, test_redirected_while_quiet);
    tcase_add_test(t, test_cookies_outlive_the_connection);
    tcase_add_loop_test(t, test_expectations, 0, N_OF(judged));
    tcase_add_test(t, test_large_body_is_seen);
    tcase_add_loop_test(t, test_first, 0, 2);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
