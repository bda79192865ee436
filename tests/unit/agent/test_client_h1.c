/* SPDX-License-Identifier: MIT */
#include "agent/client/client_h1.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/h1_rig.h"
#include "tests/lib/hostile_server.h"

#define READ                                                                                       \
    {                                                                                              \
        .op = HOSTILE_READ                                                                         \
    }
#define BODY(bytes)                                                                                \
    {                                                                                              \
        .op = HOSTILE_READ, .n = (bytes)                                                           \
    }
#define SEND(text)                                                                                 \
    {                                                                                              \
        .op = HOSTILE_SEND, .bytes = (text)                                                        \
    }
#define FLOOD(text)                                                                                \
    {                                                                                              \
        .op = HOSTILE_FLOOD, .bytes = (text)                                                       \
    }
#define SLOW(text)                                                                                 \
    {                                                                                              \
        .op = HOSTILE_TRICKLE, .bytes = (text)                                                     \
    }
#define HALF                                                                                       \
    {                                                                                              \
        .op = HOSTILE_HALF_CLOSE                                                                   \
    }
#define RESET                                                                                      \
    {                                                                                              \
        .op = HOSTILE_RESET                                                                        \
    }
#define HANG                                                                                       \
    {                                                                                              \
        .op = HOSTILE_HANG                                                                         \
    }
#define STALL                                                                                      \
    {                                                                                              \
        .op = HOSTILE_STALL                                                                        \
    }
#define AGAIN                                                                                      \
    {                                                                                              \
        .op = HOSTILE_AGAIN                                                                        \
    }
#define END                                                                                        \
    {                                                                                              \
        .op = HOSTILE_END                                                                          \
    }

#define H11       "HTTP/1.1 200 OK\r\n"
#define CHUNKED   H11 "Transfer-Encoding: chunked\r\n\r\n"
#define GOOD      H11 "Content-Length: 5\r\n\r\nhello"
#define GOOD_BYE  H11 "Connection: close\r\nContent-Length: 5\r\n\r\nhello"
#define TOO_LARGE "HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\nno"

#define BIG_BODY (4u << 20)

/* Scripts of the first connections; the good one follows, so that the slot's recovery is seen. */
struct row {
    const char *name;
    struct hostile_step first[8], second[8];
    const char *method; /* NULL = GET */
    size_t body;
    uint64_t timeout_ms;
    uint64_t requests;           /* 0 = 1; one more good one is sent afterwards */
    uint64_t outcomes[OUTCOMES]; /* without the last good one */
    int error;                   /* of the last of them; -1 = not checked */
    int status;
    uint64_t retries, extra;
    uint64_t connects; /* in all; 0 = not checked */
};

static const struct row rows[] = {
    /* The good ones. */
    {"keep-alive",
     {READ, SEND(GOOD), AGAIN},
     .requests = 3,
     .outcomes[OUTCOME_OK] = 3,
     .status = 200,
     .connects = 1},
    {"server says close",
     {READ, SEND(GOOD_BYE), END},
     .outcomes[OUTCOME_OK] = 1,
     .status = 200,
     .connects = 2},
    {"HTTP/1.0",
     {READ, SEND("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na"), END},
     .outcomes[OUTCOME_OK] = 1,
     .status = 200,
     .connects = 2},
    {"until the end",
     {READ, SEND(H11 "\r\nsome bytes"), END},
     .outcomes[OUTCOME_OK] = 1,
     .status = 200,
     .connects = 2},
    {"until the end, half-close",
     {READ, SEND(H11 "\r\nsome bytes"), HALF, HANG, END},
     .outcomes[OUTCOME_OK] = 1,
     .status = 200,
     .connects = 2},
    {"HEAD",
     {READ, SEND(H11 "Content-Length: 500\r\n\r\n"), AGAIN},
     .method = "HEAD",
     .requests = 2,
     .outcomes[OUTCOME_OK] = 2,
     .status = 200,
     .connects = 1},
    {"204",
     {READ, SEND("HTTP/1.1 204 No\r\n\r\n"), READ, SEND(GOOD), END},
     .outcomes[OUTCOME_OK] = 1,
     .status = 204,
     .connects = 1},
    {"503",
     {READ, SEND("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"), READ, SEND(GOOD), END},
     .outcomes[OUTCOME_OK] = 1,
     .status = 503,
     .connects = 1},
    {"100 first",
     {READ, SEND("HTTP/1.1 100 C\r\n\r\n"), SEND(GOOD), AGAIN},
     .requests = 2,
     .outcomes[OUTCOME_OK] = 2,
     .status = 200,
     .connects = 1},
    {"chunked",
     {READ, SEND(CHUNKED "5;x=\"y z\"\r\nhello\r\n"), SEND("0\r\nA: b\r\n\r\n"), AGAIN},
     .requests = 2,
     .outcomes[OUTCOME_OK] = 2,
     .status = 200,
     .connects = 1},
    {"one byte at a time",
     {READ, SLOW(GOOD), SLOW(""), AGAIN},
     .requests = 2,
     .outcomes[OUTCOME_OK] = 2,
     .status = 200,
     .connects = 1},

    /* Bytes nobody asked for: the response counts, the connection does not. */
    {"two responses at once",
     {READ, SEND(GOOD GOOD), HANG, END},
     .outcomes[OUTCOME_OK] = 1,
     .status = 200,
     .extra = 1,
     .connects = 2},
    {"body to HEAD",
     {READ, SEND(GOOD), HANG, END},
     .method = "HEAD",
     .outcomes[OUTCOME_OK] = 1,
     .status = 200,
     .extra = 1,
     .connects = 2},

    /* The end comes too early. */
    {"close at once", {READ, END}, .outcomes[OUTCOME_READ] = 1, .connects = 2},
    {"half-close at once", {READ, HALF, HANG, END}, .outcomes[OUTCOME_READ] = 1, .connects = 2},
    {"reset at once",
     {READ, RESET, END},
     .outcomes[OUTCOME_READ] = 1,
     .error = ECONNRESET,
     .connects = 2},
    {"close in the head",
     {READ, SEND("HTTP/1.1 200"), END},
     .outcomes[OUTCOME_READ] = 1,
     .connects = 2},
    {"close after 100",
     {READ, SEND("HTTP/1.1 100 C\r\n\r\n"), END},
     .outcomes[OUTCOME_READ] = 1,
     .connects = 2},
    {"close in the body",
     {READ, SEND(H11 "Content-Length: 5\r\n\r\nhell"), END},
     .outcomes[OUTCOME_READ] = 1,
     .connects = 2},
    {"reset in the body",
     {READ, SEND(H11 "Content-Length: 5\r\n\r\nhell"), RESET, END},
     .outcomes[OUTCOME_READ] = 1,
     .error = -1,
     .connects = 2},
    {"close in a chunk",
     {READ, SEND(CHUNKED "5\r\nhel"), END},
     .outcomes[OUTCOME_READ] = 1,
     .connects = 2},
    {"close before the last chunk",
     {READ, SEND(CHUNKED "5\r\nhello\r\n"), END},
     .outcomes[OUTCOME_READ] = 1,
     .connects = 2},

    /* A reused connection may be closed at any time. */
    {"close on reuse",
     {READ, SEND(GOOD), READ, END},
     .requests = 2,
     .outcomes[OUTCOME_OK] = 2,
     .status = 200,
     .retries = 1,
     .connects = 2},
    {"reset on reuse",
     {READ, SEND(GOOD), READ, RESET, END},
     .requests = 2,
     .outcomes[OUTCOME_OK] = 2,
     .status = 200,
     .retries = 1,
     .connects = 2},
    {"close on reuse, twice",
     {READ, SEND(GOOD), READ, END},
     {READ, END},
     .requests = 2,
     .outcomes[OUTCOME_OK] = 1,
     .outcomes[OUTCOME_READ] = 1,
     .retries = 1,
     .connects = 3},
    {"close on reuse, POST",
     {BODY(3), SEND(GOOD), BODY(3), END},
     .method = "POST",
     .body = 3,
     .requests = 2,
     .outcomes[OUTCOME_OK] = 1,
     .outcomes[OUTCOME_READ] = 1,
     .connects = 2},
    {"close on reuse after a byte",
     {READ, SEND(GOOD), READ, SEND("H"), END},
     .requests = 2,
     .outcomes[OUTCOME_OK] = 1,
     .outcomes[OUTCOME_READ] = 1,
     .connects = 2},

    /* Not HTTP. */
    {"garbage",
     {READ, SEND("\x16\x03\x01\x01garbage"), HANG, END},
     .outcomes[OUTCOME_PROTOCOL] = 1,
     .error = H1_BAD_RESPONSE,
     .connects = 2},
    {"chunk too long",
     {READ, SEND(CHUNKED "3\r\nhello\r\n0\r\n\r\n"), HANG, END},
     .outcomes[OUTCOME_PROTOCOL] = 1,
     .error = H1_BAD_RESPONSE,
     .connects = 2},
    {"two lengths",
     {READ, SEND(H11 "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"), HANG, END},
     .outcomes[OUTCOME_PROTOCOL] = 1,
     .error = H1_BAD_RESPONSE,
     .connects = 2},
    {"status 600",
     {READ, SEND("HTTP/1.1 600 X\r\n\r\n"), HANG, END},
     .outcomes[OUTCOME_PROTOCOL] = 1,
     .error = H1_BAD_STATUS,
     .connects = 2},
    {"101",
     {READ, SEND("HTTP/1.1 101 X\r\nUpgrade: x\r\n\r\n"), HANG, END},
     .outcomes[OUTCOME_PROTOCOL] = 1,
     .error = H1_UPGRADE,
     .connects = 2},

    /* Never-ending. */
    {"endless header",
     {READ, SEND(H11), FLOOD("A: b\r\n"), END},
     .outcomes[OUTCOME_PROTOCOL] = 1,
     .error = H1_HEADER_TOO_LARGE,
     .connects = 2},
    {"endless 1xx",
     {READ, FLOOD("HTTP/1.1 100 C\r\n\r\n"), END},
     .outcomes[OUTCOME_PROTOCOL] = 1,
     .error = H1_HEADER_TOO_LARGE,
     .connects = 2},
    {"endless trailers",
     {READ, SEND(CHUNKED "0\r\n"), FLOOD("A: b\r\n"), END},
     .outcomes[OUTCOME_PROTOCOL] = 1,
     .error = H1_HEADER_TOO_LARGE,
     .connects = 2},
    {"endless extension",
     {READ, SEND(CHUNKED "1;"), FLOOD("x"), END},
     .outcomes[OUTCOME_PROTOCOL] = 1,
     .error = H1_HEADER_TOO_LARGE,
     .connects = 2},
    {"endless body",
     {READ, SEND(CHUNKED), FLOOD("1\r\nx\r\n"), END},
     .timeout_ms = 200,
     .outcomes[OUTCOME_TIMEOUT] = 1,
     .connects = 2},
    {"silence",
     {READ, HANG, END},
     .timeout_ms = 100,
     .outcomes[OUTCOME_TIMEOUT] = 1,
     .connects = 2},
    {"silence in the body",
     {READ, SEND(H11 "Content-Length: 5\r\n\r\nhell"), HANG, END},
     .timeout_ms = 100,
     .outcomes[OUTCOME_TIMEOUT] = 1,
     .connects = 2},
    {"silence after 100",
     {READ, SEND("HTTP/1.1 100 C\r\n\r\n"), HANG, END},
     .timeout_ms = 100,
     .outcomes[OUTCOME_TIMEOUT] = 1,
     .connects = 2},
    {"body never taken",
     {READ, STALL, END},
     {BODY(BIG_BODY), SEND(GOOD), AGAIN},
     .method = "PUT",
     .body = BIG_BODY,
     .timeout_ms = 1000,
     .outcomes[OUTCOME_TIMEOUT] = 1,
     .connects = 2},

    /* Large requests. */
    {"large body",
     {BODY(BIG_BODY), SEND(GOOD), AGAIN},
     .method = "POST",
     .body = BIG_BODY,
     .requests = 2,
     .outcomes[OUTCOME_OK] = 2,
     .status = 200,
     .connects = 1},
    {"413 before the body",
     {READ, SEND(TOO_LARGE), STALL, END},
     {BODY(BIG_BODY), SEND(GOOD), AGAIN},
     .method = "POST",
     .body = BIG_BODY,
     .outcomes[OUTCOME_OK] = 1,
     .status = 413,
     .connects = 2},
    {"reset in the request",
     {READ, RESET, END},
     {BODY(BIG_BODY), SEND(GOOD), AGAIN},
     .method = "POST",
     .body = BIG_BODY,
     .outcomes[OUTCOME_WRITE] = 1,
     .error = -1,
     .connects = 2},
};

#define N_ROWS ((int)(sizeof rows / sizeof rows[0]))

static void check_outcomes(const struct row *row, const struct h1_rig *r)
{
    for (int o = 0; o < OUTCOMES; o++)
        ck_assert_msg(r->outcomes[o] == row->outcomes[o], "%s: %lu times %s", row->name,
                      (unsigned long)r->outcomes[o], outcome_name((enum outcome)o));
    ck_assert_msg(r->last.status == row->status, "%s: status %d", row->name, r->last.status);
    ck_assert_msg(row->error == -1 || r->last.error == row->error, "%s: error %d", row->name,
                  r->last.error);
}

START_TEST(test_row)
{
    const struct row *row = &rows[_i];
    const struct hostile_step good[] = {BODY(row->body), SEND(GOOD), AGAIN};
    const struct hostile_step good_head[] = {READ, SEND(H11 "\r\n"), AGAIN};
    bool head = row->method != NULL && strcmp(row->method, "HEAD") == 0;
    const struct hostile_step *last = head ? good_head : good;
    const struct hostile_step *scripts[] = {row->first, row->second, last};
    if (row->second[0].op == HOSTILE_END)
        scripts[1] = last;
    struct hostile_server *h = hostile_start(scripts, 3);
    uint16_t port = hostile_port(h);
    struct h1_rig_config cfg = {.timeout_ms = row->timeout_ms,
                                .request = h1_rig_request(row->method, "/", row->body),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_run(&r, row->requests == 0 ? 1 : row->requests);
    check_outcomes(row, &r);
    uint64_t ok = r.outcomes[OUTCOME_OK];
    h1_rig_run(&r, 1); /* the slot has recovered */
    ck_assert_uint_eq(r.outcomes[OUTCOME_OK], ok + 1);
    ck_assert_uint_eq(r.traffic.retries, row->retries);
    ck_assert_uint_eq(r.faults[FAULT_EXTRA_BYTES], row->extra);
    ck_assert_uint_eq(r.faults[FAULT_CONNECT], 0);
    if (row->connects != 0)
        ck_assert_msg(r.traffic.connects == row->connects, "%s: %lu connects", row->name,
                      (unsigned long)r.traffic.connects);
    ck_assert_uint_eq(r.ops->attempted(r.client), 1);
    h1_rig_close(&r);
    hostile_stop(h);
}
END_TEST

/* ---- cases that a table cannot say ---- */

struct fixture {
    const struct hostile_step *scripts[1];
    struct hostile_server *server;
    struct h1_rig rig;
};

/* All connections run the one script. */
static void start(struct fixture *f, const struct hostile_step *script, uint32_t connections,
                  uint64_t timeout_ms)
{
    f->scripts[0] = script;
    f->server = hostile_start(f->scripts, 1);
    uint16_t port = hostile_port(f->server);
    struct h1_rig_config cfg = {.connections = connections,
                                .timeout_ms = timeout_ms,
                                .request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    h1_rig_open(&f->rig, &cfg);
}

static void finish(struct fixture *f)
{
    h1_rig_close(&f->rig);
    hostile_stop(f->server);
}

/* A server that closes between requests costs a reconnect, never an error. */
START_TEST(test_close_between_requests)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), END};
    struct fixture f;
    start(&f, script, 1, 0);
    for (int i = 0; i < 5; i++) {
        h1_rig_run(&f.rig, 1);
        h1_rig_wait(&f.rig, &f.rig.traffic.connects, (uint64_t)i + 2);
        h1_rig_wait_idle(&f.rig, 1);
    }
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_OK], 5);
    ck_assert_uint_eq(f.rig.traffic.retries, 0);
    ck_assert_uint_eq(f.rig.faults[FAULT_CONNECT], 0);
    finish(&f);
}
END_TEST

/* The same, without waiting for the close to arrive: nothing fails either. */
START_TEST(test_close_races_with_the_next_request)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), END};
    struct fixture f;
    start(&f, script, 1, 0);
    h1_rig_run(&f.rig, 100);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_OK], 100);
    finish(&f);
}
END_TEST

START_TEST(test_extra_bytes_on_an_idle_connection)
{
    static const struct hostile_step first[] = {READ,         SEND(GOOD), READ, SEND(GOOD),
                                                SLOW("HTTP"), HANG,       END};
    static const struct hostile_step good[] = {READ, SEND(GOOD), AGAIN};
    const struct hostile_step *scripts[] = {first, good};
    struct hostile_server *h = hostile_start(scripts, 2);
    uint16_t port = hostile_port(h);
    struct h1_rig_config cfg = {.request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_run(&r, 2);
    h1_rig_wait(&r, &r.faults[FAULT_EXTRA_BYTES], 1);
    h1_rig_run(&r, 1);
    ck_assert_uint_eq(r.outcomes[OUTCOME_OK], 3);
    ck_assert_uint_eq(r.traffic.connects, 2);
    char text[96];
    fault_text(FAULT_EXTRA_BYTES, 0, text, sizeof text);
    ck_assert_str_eq(text, "connection replaced: bytes after the end of the response");
    h1_rig_close(&r);
    hostile_stop(h);
}
END_TEST

/* A server that throws everybody out is not hammered with connects: ten a second, not thousands. */
START_TEST(test_no_connect_storm)
{
    static const struct hostile_step script[] = {END};
    struct fixture f;
    start(&f, script, 1, 0);
    uint64_t begin = clock_mono_ns();
    h1_rig_wait(&f.rig, &f.rig.traffic.connects, 4);
    ck_assert_uint_ge(clock_mono_ns() - begin, 300 * NS_PER_MS);
    finish(&f);
}
END_TEST

/* A banner before any request is as unasked for as one afterwards. */
START_TEST(test_banner)
{
    static const struct hostile_step first[] = {SEND("220 hello\r\n"), HANG, END};
    static const struct hostile_step good[] = {READ, SEND(GOOD), AGAIN};
    const struct hostile_step *scripts[] = {first, good};
    struct hostile_server *h = hostile_start(scripts, 2);
    uint16_t port = hostile_port(h);
    struct h1_rig_config cfg = {.request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_wait(&r, &r.faults[FAULT_EXTRA_BYTES], 1);
    h1_rig_run(&r, 1);
    ck_assert_uint_eq(r.outcomes[OUTCOME_OK], 1);
    h1_rig_close(&r);
    hostile_stop(h);
}
END_TEST

START_TEST(test_stop_completes_what_is_in_flight)
{
    static const struct hostile_step script[] = {READ, HANG, END};
    struct fixture f;
    start(&f, script, 4, 0);
    h1_rig_wait_idle(&f.rig, 4);
    ck_assert_uint_eq(f.rig.ops->connected(f.rig.client), 4);
    for (int i = 0; i < 3; i++)
        h1_rig_submit(&f.rig);
    ck_assert_uint_eq(f.rig.ops->in_flight(f.rig.client), 3);
    ck_assert_uint_eq(f.rig.ops->idle(f.rig.client), 1);
    f.rig.ops->stop(f.rig.client, clock_mono_ns());
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_UNFINISHED], 3);
    finish(&f);
}
END_TEST

/* Connection i answers 201 + i: idle connections must serve in turn. */
START_TEST(test_idle_connections_serve_in_turn)
{
    static const char *const answers[] = {"HTTP/1.1 201 A\r\nContent-Length: 0\r\n\r\n",
                                          "HTTP/1.1 202 B\r\nContent-Length: 0\r\n\r\n",
                                          "HTTP/1.1 203 C\r\nContent-Length: 0\r\n\r\n"};
    struct hostile_step script[3][4];
    for (size_t i = 0; i < 3; i++)
        memcpy(script[i], (struct hostile_step[]){READ, SEND(answers[i]), AGAIN, END},
               sizeof script[i]);
    const struct hostile_step *scripts[] = {script[0], script[1], script[2]};
    struct hostile_server *h = hostile_start(scripts, 3);
    uint16_t port = hostile_port(h);
    struct h1_rig_config cfg = {.connections = 3,
                                .request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_wait_idle(&r, 3);
    for (int i = 0; i < 12; i++)
        h1_rig_run(&r, 1);
    for (int i = 3; i < 12; i++) {
        ck_assert_int_eq(r.results[i].status, r.results[i - 3].status);
        ck_assert_int_ne(r.results[i].status, r.results[i - 1].status);
    }
    h1_rig_close(&r);
    hostile_stop(h);
}
END_TEST

START_TEST(test_retry_keeps_due_and_says_so)
{
    static const struct hostile_step first[] = {READ, SEND(GOOD), READ, END};
    static const struct hostile_step good[] = {READ, SEND(GOOD), AGAIN};
    const struct hostile_step *scripts[] = {first, good};
    struct hostile_server *h = hostile_start(scripts, 2);
    uint16_t port = hostile_port(h);
    struct h1_rig_config cfg = {.request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_run(&r, 2);
    ck_assert_uint_eq(r.results[0].attempts, 1);
    ck_assert_uint_eq(r.results[1].attempts, 2);
    ck_assert_uint_eq(r.results[1].due_ns, 2);
    ck_assert_uint_eq(hostile_requests(h), 3);
    h1_rig_close(&r);
    hostile_stop(h);
}
END_TEST

START_TEST(test_index_in_the_path)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), AGAIN};
    const struct hostile_step *scripts[] = {script};
    struct hostile_server *h = hostile_start(scripts, 1);
    uint16_t port = hostile_port(h);
    setenv(URL_TEST_INDEX_ENV, "1", 1);
    struct h1_rig_config cfg = {.request = h1_rig_request("GET", "/a/{i}?b", 0),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    char line[128];
    h1_rig_open(&r, &cfg);
    h1_rig_run(&r, 1);
    hostile_last_line(h, line, sizeof line);
    ck_assert_str_eq(line, "GET /a/00000000000000000000?b HTTP/1.1");
    h1_rig_run(&r, 41);
    hostile_last_line(h, line, sizeof line);
    ck_assert_str_eq(line, "GET /a/00000000000000000041?b HTTP/1.1");
    h1_rig_close(&r);
    hostile_stop(h);
}
END_TEST

/* The kernel switches stamping on a little after the first socket asked for it. */
START_TEST(test_arrival_is_stamped_by_the_kernel)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), AGAIN};
    struct fixture f;
    start(&f, script, 1, 0);
    uint64_t limit = clock_mono_ns() + RIG_LIMIT_MS * NS_PER_MS;
    do {
        ck_assert_uint_lt(clock_mono_ns(), limit);
        h1_rig_run(&f.rig, 1);
    } while (f.rig.last.receive_ns == UINT64_MAX);
    ck_assert_uint_lt(f.rig.last.receive_ns, NS_PER_SEC);
    finish(&f);
}
END_TEST

/* ---- connecting ---- */

/* A port where nobody listens, kept bound so that nobody will. */
static uint16_t dead_port(int *fd)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;
    *fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(*fd, (struct sockaddr *)&sa, len), 0);
    ck_assert_int_eq(getsockname(*fd, (struct sockaddr *)&sa, &len), 0);
    return ntohs(sa.sin_port);
}

START_TEST(test_refused_is_tried_again_later)
{
    int fd;
    uint16_t port = dead_port(&fd);
    struct h1_rig_config cfg = {.request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    uint64_t begin = clock_mono_ns();
    h1_rig_open(&r, &cfg);
    h1_rig_wait(&r, &r.faults[FAULT_CONNECT], 1);
    ck_assert_int_eq(r.fault_code, ECONNREFUSED);
    ck_assert_uint_eq(r.ops->attempted(r.client), 1);
    h1_rig_wait(&r, &r.faults[FAULT_CONNECT], 3);
    ck_assert_uint_ge(clock_mono_ns() - begin, 200 * NS_PER_MS);
    ck_assert_uint_eq(r.ops->attempted(r.client), 1);
    ck_assert_int_eq(listen(fd, 8), 0); /* the server comes up */
    h1_rig_wait_idle(&r, 1);
    h1_rig_close(&r);
    close(fd);
}
END_TEST

/* One dead address of two (localhost as ::1 and 127.0.0.1) is not a fault: the other one serves. */
START_TEST(test_dead_address_is_passed_over)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), AGAIN};
    const struct hostile_step *scripts[] = {script};
    struct hostile_server *h = hostile_start(scripts, 1);
    int fd;
    uint16_t ports[] = {dead_port(&fd), hostile_port(h)};
    struct h1_rig_config cfg = {.connections = 6,
                                .request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(ports, 2)};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_wait_idle(&r, 6);
    h1_rig_run(&r, 20);
    ck_assert_uint_eq(r.outcomes[OUTCOME_OK], 20);
    ck_assert_uint_eq(r.faults[FAULT_CONNECT], 0);
    h1_rig_close(&r);
    hostile_stop(h);
    close(fd);
}
END_TEST

/* A full accept queue drops SYNs: the attempt has the timeout as its deadline. */
START_TEST(test_connect_has_a_deadline)
{
    int fd, fillers[4];
    uint16_t port = dead_port(&fd);
    ck_assert_int_eq(listen(fd, 0), 0);
    struct target t = h1_rig_target(&port, 1);
    for (int i = 0; i < 4; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(fillers[i], (struct sockaddr *)&t.addrs[0].sa, t.addrs[0].len);
    }
    struct h1_rig_config cfg = {
        .timeout_ms = 100, .request = h1_rig_request("GET", "/", 0), .target = t};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_wait(&r, &r.faults[FAULT_CONNECT], 2);
    ck_assert_int_eq(r.fault_code, ETIMEDOUT);
    ck_assert_uint_eq(r.ops->attempted(r.client), 1);
    h1_rig_close(&r);
    for (int i = 0; i < 4; i++)
        close(fillers[i]);
    close(fd);
}
END_TEST

START_TEST(test_out_of_descriptors)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), AGAIN};
    const struct hostile_step *scripts[] = {script};
    struct hostile_server *h = hostile_start(scripts, 1);
    uint16_t port = hostile_port(h);
    struct h1_rig_config cfg = {.connections = 2,
                                .request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    struct rlimit old;
    h1_rig_init(&r, &cfg);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
    struct rlimit none = {.rlim_cur = 3, .rlim_max = old.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    r.ops->open(r.client, clock_mono_ns());
    ck_assert_uint_eq(r.faults[FAULT_FD_LIMIT], 2);
    ck_assert_int_eq(r.fault_code, EMFILE);
    ck_assert_uint_eq(r.ops->attempted(r.client), 2);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
    h1_rig_wait_idle(&r, 2);
    ck_assert_uint_eq(r.faults[FAULT_CONNECT], 0);
    h1_rig_close(&r);
    hostile_stop(h);
}
END_TEST

/* A network of our own with two local ports: the third connection to one address finds none. */
static bool two_ports_only(void)
{
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
        return false;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    int rc = ioctl(fd, SIOCSIFFLAGS, &lo);
    close(fd);
    FILE *f = fopen("/proc/sys/net/ipv4/ip_local_port_range", "w");
    if (rc != 0 || f == NULL)
        return false;
    bool written = fputs("40000 40001", f) >= 0;
    return fclose(f) == 0 && written;
}

START_TEST(test_out_of_ports)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), AGAIN};
    const struct hostile_step *scripts[] = {script};
    if (!two_ports_only()) {
        printf("no network namespace here: EADDRNOTAVAIL not tried\n");
        return;
    }
    struct hostile_server *h = hostile_start(scripts, 1);
    uint16_t port = hostile_port(h);
    struct h1_rig_config cfg = {.connections = 4,
                                .request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_wait(&r, &r.faults[FAULT_PORTS], 2);
    ck_assert_int_eq(r.fault_code, EADDRNOTAVAIL);
    ck_assert_uint_eq(r.faults[FAULT_CONNECT], 0);
    h1_rig_run(&r, 5);
    ck_assert_uint_eq(r.outcomes[OUTCOME_OK], 5);
    h1_rig_close(&r);
    hostile_stop(h);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("client_h1");
    TCase *t = tcase_create("hostile");
    tcase_set_timeout(t, 30);
    tcase_add_loop_test(t, test_row, 0, N_ROWS);
    tcase_add_test(t, test_close_between_requests);
    tcase_add_test(t, test_close_races_with_the_next_request);
    tcase_add_test(t, test_extra_bytes_on_an_idle_connection);
    tcase_add_test(t, test_no_connect_storm);
    tcase_add_test(t, test_banner);
    tcase_add_test(t, test_stop_completes_what_is_in_flight);
    tcase_add_test(t, test_idle_connections_serve_in_turn);
    tcase_add_test(t, test_retry_keeps_due_and_says_so);
    tcase_add_test(t, test_index_in_the_path);
    tcase_add_test(t, test_arrival_is_stamped_by_the_kernel);
    suite_add_tcase(s, t);
    TCase *c = tcase_create("connecting");
    tcase_set_timeout(c, 30);
    tcase_add_test(c, test_refused_is_tried_again_later);
    tcase_add_test(c, test_dead_address_is_passed_over);
    tcase_add_test(c, test_connect_has_a_deadline);
    tcase_add_test(c, test_out_of_descriptors);
    tcase_add_test(c, test_out_of_ports);
    suite_add_tcase(s, c);
    return check_main(s);
}
