/* SPDX-License-Identifier: MIT */
#include "agent/client/client_h1.h"

#include <errno.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/h1_rig.h"
#include "tests/lib/hostile_script.h"

/* One request against one hostile script each; see test_h1_connections.c for longer stories. */

#define TOO_LARGE "HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\nno"

#define BIG_BODY (48u << 20) /* more than two sockets take at once */

/* Scripts of the first connections; the good one follows, so that the slot's recovery is seen. */
struct row {
    const char *name;
    struct hostile_step first[8], second[8];
    const char *method; /* NULL = GET */
    size_t body;
    uint64_t bytes_in;           /* TIMEOUT: the deadline comes after these */
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
     .bytes_in = 1u << 20,
     .outcomes[OUTCOME_TIMEOUT] = 1,
     .connects = 2},
    {"silence", {READ, HANG, END}, .outcomes[OUTCOME_TIMEOUT] = 1, .connects = 2},
    {"silence in the body",
     {READ, SEND(H11 "Content-Length: 5\r\n\r\nhell"), HANG, END},
     .bytes_in = sizeof(H11 "Content-Length: 5\r\n\r\nhell") - 1,
     .outcomes[OUTCOME_TIMEOUT] = 1,
     .connects = 2},
    {"silence after 100",
     {READ, SEND("HTTP/1.1 100 C\r\n\r\n"), HANG, END},
     .bytes_in = sizeof("HTTP/1.1 100 C\r\n\r\n") - 1,
     .outcomes[OUTCOME_TIMEOUT] = 1,
     .connects = 2},
    {"body never taken",
     {READ, STALL, END},
     {BODY(BIG_BODY), SEND(GOOD), AGAIN},
     .method = "PUT",
     .body = BIG_BODY,
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

/* No row waits for real time: a machine too busy for a short timeout would change the story. */
static void run_requests(const struct row *row, struct h1_rig *r)
{
    if (row->outcomes[OUTCOME_TIMEOUT] == 0) {
        h1_rig_run(r, row->requests == 0 ? 1 : row->requests);
        return;
    }
    h1_rig_wait_idle(r, 1);
    h1_rig_submit(r);
    h1_rig_wait(r, &r->traffic.bytes_in, row->bytes_in);
    ck_assert_uint_eq(r->completed, 0);
    h1_rig_expire(r);
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
    struct h1_rig_config cfg = {.request = h1_rig_request(row->method, "/", row->body),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    run_requests(row, &r);
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

int main(void)
{
    Suite *s = suite_create("client_h1");
    TCase *t = tcase_create("hostile");
    tcase_set_timeout(t, 30);
    tcase_add_loop_test(t, test_row, 0, N_ROWS);
    suite_add_tcase(s, t);
    return check_main(s);
}
