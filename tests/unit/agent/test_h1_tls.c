/* SPDX-License-Identifier: MIT */
/* client_h1 in TLS: what it trusts, and that it is the same client as in the clear. */
#include <stdio.h>
#include <string.h>

#include "agent/client/tls_error.h"
#include "common/clock.h"
#include "common/libssl.h"
#include "tests/lib/check_main.h"
#include "tests/lib/h1_tls_rig.h"
#include "tests/lib/hostile_script.h"

static const struct hostile_step answers[] = {READ, SEND(GOOD), AGAIN};
static const struct hostile_step answers_once[] = {READ, SEND(GOOD_BYE), END};

static void expect_fault(struct h1_tls *t, const char *says)
{
    char text[128];
    h1_rig_wait(&t->rig, &t->rig.faults[FAULT_TLS], 1);
    fault_text(FAULT_TLS, t->rig.fault_code, text, sizeof text);
    ck_assert_msg(strstr(text, says) != NULL, "'%s' does not say '%s'", text, says);
    ck_assert_uint_eq(t->rig.faults[FAULT_CONNECT], 0);
}

/* --- what works ---------------------------------------------------------------------------- */

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

START_TEST(test_requests_are_answered)
{
    struct h1_tls t;
    struct tls_front_seen seen;
    h1_tls_open(&t, &(struct h1_tls_config){
                        .script = answers, .connections = 3, .front.version = versions[_i]});
    h1_rig_wait_idle(&t.rig, 3);
    h1_rig_run(&t.rig, 500);
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_OK], 500);
    ck_assert_uint_eq(t.rig.traffic.connects, 3);
    ck_assert_uint_eq(t.rig.traffic.retries, 0);
    ck_assert_uint_eq(t.rig.handshakes, 3);
    ck_assert_uint_eq(t.rig.faults[FAULT_TLS] + t.rig.faults[FAULT_EXTRA_BYTES], 0);
    ck_assert_str_eq(t.rig.handshake.version, _i == 0 ? "TLSv1.2" : "TLSv1.3");
    ck_assert_uint_eq(t.rig.last.receive_ns, UINT64_MAX); /* stamps mean nothing here */
    /* Bytes in the clear: the same counts as without TLS. */
    ck_assert_uint_eq(t.rig.traffic.bytes_in, 500 * strlen(GOOD));
    ck_assert_uint_eq(t.rig.traffic.bytes_out, 500 * t.rig.request.len);
    tls_front_seen(t.front, &seen);
    ck_assert_str_eq(seen.sni, "server.test");
    ck_assert_uint_eq(seen.handshakes, 3);
    ck_assert_uint_eq(seen.alpn, 3);
    h1_tls_close(&t);
}
END_TEST

/* RFC 8446 section 6.1: we say goodbye. */
START_TEST(test_our_end_is_announced)
{
    struct h1_tls t;
    struct tls_front_seen seen = {0};
    h1_tls_open(&t, &(struct h1_tls_config){
                        .script = answers, .connections = 2, .front.version = versions[_i]});
    h1_rig_wait_idle(&t.rig, 2);
    h1_rig_run(&t.rig, 10);
    h1_rig_close(&t.rig);
    t.closed = true;
    uint64_t limit_ns = clock_mono_ns() + 10 * NS_PER_SEC;
    while (seen.goodbyes < 2 && clock_mono_ns() < limit_ns)
        tls_front_seen(t.front, &seen);
    ck_assert_uint_eq(seen.goodbyes, 2);
    h1_tls_close(&t);
}
END_TEST

/* Key updates and tickets come between the answers, and are none. */
START_TEST(test_messages_after_the_handshake)
{
    struct h1_tls t;
    h1_tls_open(&t,
                &(struct h1_tls_config){.script = answers,
                                        .connections = 2,
                                        .front = {.version = TLS1_3_VERSION, .key_updates = true}});
    h1_rig_wait_idle(&t.rig, 2);
    h1_rig_run(&t.rig, 300);
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_OK], 300);
    ck_assert_uint_eq(t.rig.traffic.connects, 2);
    h1_tls_close(&t);
}
END_TEST

/* Bodies larger than any record, in both directions, by length and to the end. */
START_TEST(test_large_bodies)
{
    static const char block[] = "0123456789abcdef";
    static const struct hostile_step script[] = {
        BODY(300000),
        SEND(H11 "Content-Length: 1000000\r\n\r\n"),
        {.op = HOSTILE_FLOOD, .bytes = block, .n = 1000000},
        BODY(300000),
        SEND(H11 "\r\n"),
        {.op = HOSTILE_FLOOD, .bytes = block, .n = 1000000},
        END};
    struct h1_tls t;
    h1_tls_open(&t, &(struct h1_tls_config){
                        .script = script, .body = 300000, .front.version = versions[_i]});
    h1_rig_wait_idle(&t.rig, 1);
    h1_rig_run(&t.rig, 10);
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_OK], 10);
    ck_assert_uint_ge(t.rig.traffic.bytes_in, 10000000);
    ck_assert_uint_ge(t.rig.traffic.bytes_out, 3000000);
    ck_assert_uint_ge(t.rig.traffic.connects, 5);
    h1_tls_close(&t);
}
END_TEST

/* One read takes the beginning of a record, the rest is inside OpenSSL, and the socket has nothing
 * more to wake anybody up with. */
START_TEST(test_what_openssl_holds_is_read)
{
    static const char head[] = H11 "Content-Length: 16400\r\n\r\n";
    static char whole[sizeof head + 16400];
    memset(whole, 'x', sizeof whole - 1);
    memcpy(whole, head, sizeof head - 1);
    const struct hostile_step script[] = {READ, SEND(whole), AGAIN};
    struct h1_tls t;
    h1_tls_open(&t, &(struct h1_tls_config){
                        .script = script, .timeout_ms = 5000, .front.version = versions[_i]});
    h1_rig_wait_idle(&t.rig, 1);
    h1_rig_run(&t.rig, 20);
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_OK], 20);
    h1_tls_close(&t);
}
END_TEST

START_TEST(test_slow_bytes)
{
    static const struct hostile_step script[] = {READ, SLOW(GOOD), READ, SLOW(CHUNKED "0\r\n\r\n"),
                                                 AGAIN};
    struct h1_tls t;
    h1_tls_open(&t, &(struct h1_tls_config){.script = script});
    h1_rig_run(&t.rig, 6);
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_OK], 6);
    h1_tls_close(&t);
}
END_TEST

/* --- whom to trust ------------------------------------------------------------------------- */

static const struct {
    const char *cert, *ca, *url, *sni, *says; /* says NULL = it is trusted */
    bool insecure;
} trust[] = {
    {"server", "ca.crt", "https://server.test/", NULL, NULL, false},
    {"server", "ca.crt", "https://SERVER.test./", NULL, NULL, false},
    {"address", "ca.crt", "https://127.0.0.1/", NULL, NULL, false},
    {"server", "ca.crt", "https://127.0.0.1/", "server.test", NULL, false},
    {"wild", "ca.crt", "https://a.wild.test/", NULL, NULL, false},
    {"wild", "ca.crt", "https://a.b.wild.test/", NULL, "hostname mismatch", false},
    {"server", "ca.crt", "https://other.test/", NULL, "hostname mismatch", false},
    {"server", "ca.crt", "https://127.0.0.1/", NULL, "IP address mismatch", false},
    {"address", "ca.crt", "https://127.0.0.2/", NULL, "IP address mismatch", false},
    {"server", NULL, "https://server.test/", NULL, "unable to get local issuer", false},
    {"server", "rogue-ca.crt", "https://server.test/", NULL, "certificate", false},
    {"expired", "ca.crt", "https://server.test/", NULL, "certificate has expired", false},
    {"early", "ca.crt", "https://server.test/", NULL, "not yet valid", false},
    {"client", "ca.crt", "https://server.test/", NULL, "certificate", false},
    {"expired", NULL, "https://other.test/", NULL, NULL, true},
};

START_TEST(test_trust)
{
    struct h1_tls t;
    h1_tls_open(&t, &(struct h1_tls_config){.script = answers,
                                            .url = trust[_i].url,
                                            .sni = trust[_i].sni,
                                            .ca = trust[_i].ca,
                                            .no_ca = trust[_i].ca == NULL,
                                            .insecure = trust[_i].insecure,
                                            .front.cert = trust[_i].cert});
    if (trust[_i].says == NULL) {
        h1_rig_wait_idle(&t.rig, 1);
        h1_rig_run(&t.rig, 3);
        ck_assert_uint_eq(t.rig.outcomes[OUTCOME_OK], 3);
    } else {
        expect_fault(&t, trust[_i].says);
        ck_assert(tls_error_is_verify(t.rig.fault_code));
        ck_assert_uint_eq(t.rig.ops->connected(t.rig.client), 0);
        ck_assert_uint_eq(t.rig.traffic.connects, 0);
    }
    h1_tls_close(&t);
}
END_TEST

/* An address is not sent as a name (RFC 6066 section 3). */
START_TEST(test_no_sni_for_an_address)
{
    struct h1_tls t;
    struct tls_front_seen seen;
    h1_tls_open(&t, &(struct h1_tls_config){
                        .script = answers, .url = "https://127.0.0.1/", .front.cert = "address"});
    h1_rig_wait_idle(&t.rig, 1);
    tls_front_seen(t.front, &seen);
    ck_assert_str_eq(seen.sni, "");
    h1_tls_close(&t);
}
END_TEST

START_TEST(test_a_self_signed_certificate)
{
    struct h1_tls t;
    h1_tls_open(&t,
                &(struct h1_tls_config){.script = answers, .no_ca = true, .front.cert = "self"});
    expect_fault(&t, "self-signed certificate");
    h1_tls_close(&t);
}
END_TEST

/* --- versions ------------------------------------------------------------------------------ */

static const struct {
    int server;
    uint32_t at_least;
    const char *version; /* NULL = no connection */
} speaks[] = {
    {0, 0, "TLSv1.3"},
    {TLS1_2_VERSION, 0, "TLSv1.2"},
    {TLS1_2_VERSION, PLAN_TLS_1_2, "TLSv1.2"},
    {TLS1_3_VERSION, PLAN_TLS_1_3, "TLSv1.3"},
    {TLS1_2_VERSION, PLAN_TLS_1_3, NULL},
    {TLS1_1_VERSION, 0, NULL},
    {TLS1_VERSION, PLAN_TLS_1_2, NULL},
};

START_TEST(test_versions)
{
    struct h1_tls t;
    h1_tls_open(&t, &(struct h1_tls_config){.script = answers,
                                            .tls_min = speaks[_i].at_least,
                                            .front.version = speaks[_i].server});
    if (speaks[_i].version == NULL) {
        expect_fault(&t, "--tls-min");
    } else {
        h1_rig_wait_idle(&t.rig, 1);
        ck_assert_str_eq(t.rig.handshake.version, speaks[_i].version);
    }
    h1_tls_close(&t);
}
END_TEST

/* --- client certificates ------------------------------------------------------------------- */

START_TEST(test_a_client_certificate)
{
    struct h1_tls t;
    h1_tls_open(&t,
                &(struct h1_tls_config){.script = answers,
                                        .client = "client",
                                        .front = {.client = "ca.crt", .version = versions[_i]}});
    h1_rig_wait_idle(&t.rig, 1);
    h1_rig_run(&t.rig, 5);
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_OK], 5);
    h1_tls_close(&t);
}
END_TEST

/* TLS 1.2 says so in the handshake, 1.3 after it, when the connection counts as open. */
START_TEST(test_a_missing_client_certificate)
{
    struct h1_tls t;
    h1_tls_open(&t, &(struct h1_tls_config){
                        .script = answers, .front = {.client = "ca.crt", .version = versions[_i]}});
    expect_fault(&t, _i == 0 ? "alert" : "--cert, --key");
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_OK], 0);
    h1_tls_close(&t);
}
END_TEST

/* The alert that says no comes while a request is in flight: that one has failed. */
START_TEST(test_a_client_certificate_that_comes_too_late)
{
    struct h1_tls t;
    h1_tls_open(&t,
                &(struct h1_tls_config){.script = answers,
                                        .front = {.client = "ca.crt", .version = TLS1_3_VERSION}});
    char text[128] = "";
    for (int i = 0; i < 100 && t.rig.outcomes[OUTCOME_TLS] == 0; i++) {
        h1_rig_wait_idle(&t.rig, 1);
        h1_rig_run(&t.rig, 1);
    }
    ck_assert_uint_ge(t.rig.outcomes[OUTCOME_TLS], 1);
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_TLS] + t.rig.outcomes[OUTCOME_WRITE] +
                          t.rig.outcomes[OUTCOME_READ],
                      t.rig.completed);
    outcome_text(OUTCOME_TLS, t.rig.last.error, text, sizeof text);
    ck_assert_msg(strstr(text, "--cert") != NULL, "%s", text);
    h1_tls_close(&t);
}
END_TEST

/* --- sessions ------------------------------------------------------------------------------ */

START_TEST(test_sessions_are_resumed)
{
    bool off = _i >= 2;
    struct h1_tls t;
    struct tls_front_seen seen;
    h1_tls_open(&t, &(struct h1_tls_config){.script = answers_once,
                                            .no_resume = off,
                                            .front.version = versions[_i % 2]});
    for (int i = 0; i < 20; i++) {
        h1_rig_wait_idle(&t.rig, 1);
        h1_rig_run(&t.rig, 1);
    }
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_OK], 20);
    tls_front_seen(t.front, &seen);
    ck_assert_uint_ge(t.rig.handshakes, 20);
    if (off) {
        ck_assert_uint_eq(t.rig.resumed, 0);
        ck_assert_uint_eq(seen.resumed, 0);
    } else {
        ck_assert_uint_ge(t.rig.resumed, 19);
    }
    h1_tls_close(&t);
}
END_TEST

START_TEST(test_a_server_without_sessions)
{
    struct h1_tls t;
    h1_tls_open(&t,
                &(struct h1_tls_config){.script = answers_once,
                                        .front = {.no_sessions = true, .version = versions[_i]}});
    for (int i = 0; i < 5; i++) {
        h1_rig_wait_idle(&t.rig, 1);
        h1_rig_run(&t.rig, 1);
    }
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_OK], 5);
    ck_assert_uint_eq(t.rig.resumed, 0);
    h1_tls_close(&t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("h1_tls");
    TCase *t = tcase_create("h1_tls");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_requests_are_answered, 0, 2);
    tcase_add_loop_test(t, test_our_end_is_announced, 0, 2);
    tcase_add_test(t, test_messages_after_the_handshake);
    tcase_add_loop_test(t, test_large_bodies, 0, 2);
    tcase_add_loop_test(t, test_what_openssl_holds_is_read, 0, 2);
    tcase_add_test(t, test_slow_bytes);
    tcase_add_loop_test(t, test_trust, 0, sizeof trust / sizeof trust[0]);
    tcase_add_test(t, test_no_sni_for_an_address);
    tcase_add_test(t, test_a_self_signed_certificate);
    tcase_add_loop_test(t, test_versions, 0, sizeof speaks / sizeof speaks[0]);
    tcase_add_loop_test(t, test_a_client_certificate, 0, 2);
    tcase_add_loop_test(t, test_a_missing_client_certificate, 0, 2);
    tcase_add_test(t, test_a_client_certificate_that_comes_too_late);
    tcase_add_loop_test(t, test_sessions_are_resumed, 0, 4);
    tcase_add_loop_test(t, test_a_server_without_sessions, 0, 2);
    suite_add_tcase(s, t);
    return check_main(s);
}
