/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "agent/client/tls_error.h"
#include "common/clock.h"
#include "common/libssl.h"
#include "tests/lib/check_main.h"
#include "tests/lib/h1_tls_rig.h"
#include "tests/lib/hostile_script.h"

/* The handshake is part of the request that opens the connection. */

static const struct hostile_step good[] = {READ, SEND(GOOD), AGAIN};
static const struct hostile_step silent[] = {HANG, END};
static const struct client_rules no_keepalive = {.no_keepalive = true};
static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

START_TEST(test_a_handshake_for_each_request)
{
    struct h1_tls t;
    h1_tls_open(&t, &(struct h1_tls_config){.script = good,
                                            .connections = 2,
                                            .rules = {.no_keepalive = true, .phases = true},
                                            .front.version = versions[_i]});
    for (int i = 0; i < 10; i++) {
        h1_rig_run(&t.rig, 1);
        ck_assert_uint_ge(t.rig.last.handed_ns - t.rig.last.sent_ns, t.rig.handshake.took_ns);
    }
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_OK], 10);
    ck_assert_uint_eq(t.rig.handshakes, 10);
    ck_assert_uint_eq(t.rig.opened, 10); /* once each, before the handshake */
    ck_assert_uint_gt(t.rig.resumed, 0);
    h1_tls_close(&t);
}
END_TEST

static void check_failure(const struct h1_rig *r, const char *says)
{
    char text[128];
    ck_assert_int_eq(r->last.outcome, OUTCOME_TLS);
    outcome_text(r->last.outcome, r->last.error, text, sizeof text);
    ck_assert_msg(strstr(text, says) != NULL, "'%s' does not say '%s'", text, says);
    ck_assert_uint_eq(r->faults[FAULT_TLS], 0); /* the request's failure, not beside it */
    ck_assert_uint_eq(r->ops->idle(r->client), 0);
    uint64_t pause_ns = r->ops->deadline(r->client) - r->last.done_ns;
    ck_assert(pause_ns >= 100 * NS_PER_MS && pause_ns <= 125 * NS_PER_MS);
}

START_TEST(test_a_certificate_that_is_not_trusted)
{
    struct h1_tls t;
    h1_tls_open(
        &t, &(struct h1_tls_config){.script = good, .ca = "rogue-ca.crt", .rules = no_keepalive});
    h1_rig_run(&t.rig, 1);
    check_failure(&t.rig, "certificate");
    h1_tls_close(&t);
}
END_TEST

START_TEST(test_the_limit_for_connecting_covers_the_handshake)
{
    const struct hostile_step *scripts[] = {silent};
    struct hostile_server *server = hostile_start(scripts, 1);
    struct h1_tls t;
    h1_tls_open_port(&t,
                     &(struct h1_tls_config){
                         .rules = {.no_keepalive = true, .connect_timeout_ns = 80 * NS_PER_MS}},
                     hostile_port(server));
    h1_rig_run(&t.rig, 1);
    check_failure(&t.rig, "timed out");
    ck_assert_int_eq(t.rig.last.error, tls_error_system(ETIMEDOUT));
    h1_tls_close(&t);
    hostile_stop(server);
}
END_TEST

/* One connection, by turns in TLS and in the clear. */
START_TEST(test_https_and_http)
{
    static const struct hostile_step clear[] = {
        READ, SEND("HTTP/1.1 202 B\r\nContent-Length: 0\r\n\r\n"), AGAIN};
    const struct hostile_step *scripts[] = {clear};
    struct hostile_server *server = hostile_start(scripts, 1);
    uint16_t port = hostile_port(server);
    struct target other = h1_rig_target(&port, 1);
    struct h1_tls t;
    h1_tls_open(&t, &(struct h1_tls_config){.script = good,
                                            .other = &other,
                                            .rules = {.no_keepalive = _i == 1},
                                            .front.version = TLS1_3_VERSION});
    for (int i = 0; i < 10; i++)
        h1_rig_run(&t.rig, 1);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(t.rig.results[i].status, i % 2 == 0 ? 200 : 202);
    ck_assert_uint_eq(t.rig.handshakes, 5);
    ck_assert_uint_eq(hostile_accepted(server), 5);
    h1_tls_close(&t);
    hostile_stop(server);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("h1_cold_tls");
    TCase *t = tcase_create("cold_tls");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_a_handshake_for_each_request, 0, 2);
    tcase_add_test(t, test_a_certificate_that_is_not_trusted);
    tcase_add_test(t, test_the_limit_for_connecting_covers_the_handshake);
    tcase_add_loop_test(t, test_https_and_http, 0, 2);
    suite_add_tcase(s, t);
    return check_main(s);
}
