/* SPDX-License-Identifier: MIT */
/* client_h1 in TLS against servers that break it: in the handshake, between and within answers. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/client/tls_error.h"
#include "common/clock.h"
#include "common/libssl.h"
#include "tests/lib/check_main.h"
#include "tests/lib/h1_tls_rig.h"
#include "tests/lib/hostile_script.h"

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

/* --- in the handshake ---------------------------------------------------------------------- */

/* What comes in place of a ServerHello; nothing of it is read. */
static const struct hostile_step garbage[] = {FLOOD("garbage, not a ServerHello"), END};
static const struct hostile_step http[] = {SEND("HTTP/1.1 400 Bad Request\r\n\r\n"), HANG, END};
static const struct hostile_step closed[] = {END};
static const struct hostile_step reset[] = {RESET};
static const struct hostile_step half[] = {SEND("\x16\x03\x03\x01\x7a\x02"), END};
static const struct hostile_step silent[] = {HANG, END};
static const struct hostile_step stalled[] = {SEND("\x16\x03\x03\x01\x7a\x02"), HANG, END};
static const struct hostile_step alert[] = {
    {.op = HOSTILE_SEND, .bytes = "\x15\x03\x03\x00\x02\x02\x28", .n = 7}, END};
/* A record of the largest length that the header can say. */
static const struct hostile_step huge[] = {SEND("\x16\x03\x03\xff\xff"), FLOOD("x"), END};

static const struct {
    const struct hostile_step *script;
    const char *says;
} handshakes[] = {
    {garbage, "not TLS"},
    {http, "not TLS"},
    {closed, ""}, /* EOF or reset: whether the ClientHello was read decides */
    {reset, ""},  /* may come before the connection is known to be there */
    {half, ""},
    {silent, "Connection timed out during the handshake"},
    {stalled, "Connection timed out during the handshake"},
    {alert, "handshake failure"},
    {huge, "not TLS"},
};

START_TEST(test_handshake)
{
    struct h1_tls t;
    char text[128];
    const struct hostile_step *scripts[] = {handshakes[_i].script};
    struct hostile_server *server = hostile_start(scripts, 1);
    h1_tls_open_port(&t, &(struct h1_tls_config){.timeout_ms = 300, .connections = 2},
                     hostile_port(server));
    h1_rig_wait(&t.rig, &t.rig.faults[FAULT_TLS], 3);
    fault_text(FAULT_TLS, t.rig.fault_code, text, sizeof text);
    ck_assert_msg(strstr(text, handshakes[_i].says) != NULL, "'%s'", text);
    ck_assert_msg(strncmp(text, "tls handshake: ", 15) == 0 && strstr(text, "OpenSSL") == NULL,
                  "'%s'", text);
    if (handshakes[_i].script != reset)
        ck_assert_uint_eq(t.rig.faults[FAULT_CONNECT], 0);
    ck_assert_uint_eq(t.rig.ops->attempted(t.rig.client), 2);
    ck_assert_uint_eq(t.rig.ops->connected(t.rig.client), 0);
    ck_assert_uint_eq(t.rig.handshakes, 0);
    h1_tls_close(&t);
    hostile_stop(server);
}
END_TEST

/* Stopped while the handshakes are under way: nothing is left behind. */
START_TEST(test_stop_in_the_handshake)
{
    struct h1_tls t;
    const struct hostile_step *scripts[] = {stalled};
    struct hostile_server *server = hostile_start(scripts, 1);
    h1_tls_open_port(&t, &(struct h1_tls_config){.connections = 5}, hostile_port(server));
    for (int i = 0; i < 5; i++)
        h1_rig_turn(&t.rig, 10);
    ck_assert_uint_eq(t.rig.ops->attempted(t.rig.client), 0);
    h1_tls_close(&t);
    hostile_stop(server);
}
END_TEST

/* Nobody listens: that is no matter of TLS. */
START_TEST(test_connection_refused)
{
    struct h1_tls t;
    const struct hostile_step *scripts[] = {silent};
    struct hostile_server *server = hostile_start(scripts, 1);
    uint16_t port = hostile_port(server);
    hostile_stop(server);
    h1_tls_open_port(&t, &(struct h1_tls_config){.connections = 1}, port);
    h1_rig_wait(&t.rig, &t.rig.faults[FAULT_CONNECT], 1);
    ck_assert_int_eq(t.rig.fault_code, ECONNREFUSED);
    ck_assert_uint_eq(t.rig.faults[FAULT_TLS], 0);
    h1_tls_close(&t);
}
END_TEST

/* --- how an answer ends -------------------------------------------------------------------- */

#define LENGTH_20 H11 "Content-Length: 20\r\n\r\nhello"
#define TO_EOF    H11 "\r\nhello"

static const struct hostile_step by_length[] = {READ, SEND(LENGTH_20), END};
static const struct hostile_step to_eof[] = {READ, SEND(TO_EOF), END};
static const struct hostile_step whole[] = {READ, SEND(GOOD), END};
static const struct hostile_step chunked[] = {READ, SEND(CHUNKED "5\r\nhello\r\n"), END};
static const struct hostile_step nothing[] = {READ, END};

static const struct {
    const struct hostile_step *script;
    enum tls_front_end end;
    enum outcome outcome;
    const char *says; /* the error's text */
} endings[] = {
    /* RFC 9112 section 9.8 */
    {to_eof, TLS_FRONT_GOODBYE, OUTCOME_OK, NULL},
    {to_eof, TLS_FRONT_CUT, OUTCOME_READ, "without close_notify"},
    {to_eof, TLS_FRONT_GARBAGE, OUTCOME_TLS, "not TLS"},
    {by_length, TLS_FRONT_GOODBYE, OUTCOME_READ, "closed before the response was complete"},
    {by_length, TLS_FRONT_CUT, OUTCOME_READ, "without close_notify"},
    {by_length, TLS_FRONT_GARBAGE, OUTCOME_TLS, "not TLS"},
    {chunked, TLS_FRONT_GOODBYE, OUTCOME_READ, "closed before the response was complete"},
    {chunked, TLS_FRONT_CUT, OUTCOME_READ, "without close_notify"},
    {whole, TLS_FRONT_GOODBYE, OUTCOME_OK, NULL},
    {whole, TLS_FRONT_CUT, OUTCOME_OK, NULL},
    {whole, TLS_FRONT_GARBAGE, OUTCOME_OK, NULL},
    {nothing, TLS_FRONT_GOODBYE, OUTCOME_READ, "closed before the response was complete"},
    {nothing, TLS_FRONT_CUT, OUTCOME_READ, "without close_notify"},
    {nothing, TLS_FRONT_GARBAGE, OUTCOME_TLS, "not TLS"},
};

START_TEST(test_ending)
{
    struct h1_tls t;
    char text[128];
    size_t i = (size_t)_i / 2;
    h1_tls_open(
        &t, &(struct h1_tls_config){.script = endings[i].script,
                                    .front = {.end = endings[i].end, .version = versions[_i % 2]}});
    h1_rig_wait_idle(&t.rig, 1);
    h1_rig_run(&t.rig, 1);
    outcome_text(t.rig.last.outcome, t.rig.last.error, text, sizeof text);
    ck_assert_msg(t.rig.last.outcome == endings[i].outcome, "%s", text);
    if (endings[i].says != NULL)
        ck_assert_msg(strstr(text, endings[i].says) != NULL, "'%s'", text);
    ck_assert_uint_eq(t.rig.last.attempts, 1);
    h1_rig_wait(&t.rig, &t.rig.traffic.connects, 2); /* replaced, whatever it was */
    ck_assert_uint_eq(t.rig.faults[FAULT_TLS], 0);
    h1_tls_close(&t);
}
END_TEST

/* A server that closes between requests costs a reconnect and no error, with or without a goodbye;
 * the same when the close meets the next request. */
START_TEST(test_close_between_requests)
{
    struct h1_tls t;
    h1_tls_open(&t, &(struct h1_tls_config){
                        .script = whole,
                        .front = {.end = _i % 2 == 0 ? TLS_FRONT_GOODBYE : TLS_FRONT_CUT,
                                  .version = versions[_i / 2]}});
    for (int i = 0; i < 30; i++) {
        h1_rig_wait_idle(&t.rig, 1);
        h1_rig_run(&t.rig, 1);
    }
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_OK], 30);
    ck_assert_uint_eq(t.rig.faults[FAULT_TLS] + t.rig.faults[FAULT_CONNECT], 0);
    h1_tls_close(&t);
}
END_TEST

/* A request that may have been acted on is not sent twice. */
START_TEST(test_post_is_not_repeated)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), READ, END};
    struct h1_tls t;
    h1_tls_open(&t, &(struct h1_tls_config){.script = script,
                                            .method = _i == 0 ? "GET" : "POST",
                                            .front.end = TLS_FRONT_CUT});
    h1_rig_wait_idle(&t.rig, 1);
    h1_rig_run(&t.rig, 2);
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_OK], _i == 0 ? 2 : 1);
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_READ], _i == 0 ? 0 : 1);
    ck_assert_uint_eq(t.rig.traffic.retries, _i == 0 ? 1 : 0);
    h1_tls_close(&t);
}
END_TEST

START_TEST(test_a_broken_record_is_not_repeated)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), READ, END};
    struct h1_tls t;
    h1_tls_open(&t, &(struct h1_tls_config){.script = script, .front.end = TLS_FRONT_GARBAGE});
    h1_rig_wait_idle(&t.rig, 1);
    h1_rig_run(&t.rig, 2);
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_OK], 1);
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_TLS], 1);
    ck_assert_uint_eq(t.rig.traffic.retries, 0);
    h1_tls_close(&t);
}
END_TEST

START_TEST(test_reset)
{
    static const struct hostile_step script[] = {READ, SEND(LENGTH_20), READ, RESET};
    struct h1_tls t;
    h1_tls_open(&t, &(struct h1_tls_config){.script = script, .timeout_ms = 200});
    h1_rig_wait_idle(&t.rig, 1);
    h1_rig_run(&t.rig, 1); /* the rest never comes */
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_TIMEOUT], 1);
    h1_rig_wait_idle(&t.rig, 1);
    h1_tls_close(&t);
}
END_TEST

/* --- bytes nobody asked for ---------------------------------------------------------------- */

START_TEST(test_bytes_after_the_answer)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD GOOD), HANG, END};
    struct h1_tls t;
    h1_tls_open(&t, &(struct h1_tls_config){.script = script});
    h1_rig_wait_idle(&t.rig, 1);
    h1_rig_run(&t.rig, 3);
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_OK], 3);
    ck_assert_uint_eq(t.rig.faults[FAULT_EXTRA_BYTES], 3);
    h1_tls_close(&t);
}
END_TEST

START_TEST(test_a_banner)
{
    static const struct hostile_step script[] = {SEND(GOOD), HANG, END};
    struct h1_tls t;
    h1_tls_open(&t, &(struct h1_tls_config){.script = script});
    h1_rig_wait(&t.rig, &t.rig.faults[FAULT_EXTRA_BYTES], 2);
    ck_assert_uint_eq(t.rig.completed, 0);
    h1_tls_close(&t);
}
END_TEST

/* More than one read takes, and nothing more from the socket to wake up for. */
START_TEST(test_an_endless_answer_times_out)
{
    static const struct hostile_step script[] = {READ, SEND(H11 "\r\n"), FLOOD("endless"), END};
    struct h1_tls t;
    h1_tls_open(&t, &(struct h1_tls_config){.script = script, .timeout_ms = 200});
    h1_rig_wait_idle(&t.rig, 1);
    h1_rig_run(&t.rig, 1);
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_TIMEOUT], 1);
    ck_assert_uint_gt(t.rig.traffic.bytes_in, 1000000);
    h1_tls_close(&t);
}
END_TEST

/* The server does not read: the request stays half written, in OpenSSL too, until it times out. */
START_TEST(test_a_server_that_does_not_read)
{
    static const struct hostile_step script[] = {STALL, END};
    struct h1_tls t;
    h1_tls_open(&t, &(struct h1_tls_config){.script = script, .timeout_ms = 300, .body = 30000000});
    h1_rig_wait_idle(&t.rig, 1);
    h1_rig_run(&t.rig, 2);
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_TIMEOUT], 2);
    h1_tls_close(&t);
}
END_TEST

/* An answer to a request that was not sent whole counts, as in the clear. */
START_TEST(test_an_early_answer)
{
    static const struct hostile_step script[] = {
        READ, SEND("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
        STALL, END};
    struct h1_tls t;
    h1_tls_open(&t, &(struct h1_tls_config){.script = script, .body = 30000000});
    h1_rig_wait_idle(&t.rig, 1);
    h1_rig_run(&t.rig, 2);
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_OK], 2);
    ck_assert_int_eq(t.rig.last.status, 413);
    h1_tls_close(&t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("h1_tls_hostile");
    TCase *t = tcase_create("h1_tls_hostile");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_handshake, 0, sizeof handshakes / sizeof handshakes[0]);
    tcase_add_test(t, test_stop_in_the_handshake);
    tcase_add_test(t, test_connection_refused);
    tcase_add_loop_test(t, test_ending, 0, 2 * sizeof endings / sizeof endings[0]);
    tcase_add_loop_test(t, test_close_between_requests, 0, 4);
    tcase_add_loop_test(t, test_post_is_not_repeated, 0, 2);
    tcase_add_test(t, test_a_broken_record_is_not_repeated);
    tcase_add_test(t, test_reset);
    tcase_add_test(t, test_bytes_after_the_answer);
    tcase_add_test(t, test_a_banner);
    tcase_add_test(t, test_an_endless_answer_times_out);
    tcase_add_test(t, test_a_server_that_does_not_read);
    tcase_add_test(t, test_an_early_answer);
    suite_add_tcase(s, t);
    return check_main(s);
}
