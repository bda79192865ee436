/* SPDX-License-Identifier: MIT */
/*
 * TLS allocates when a connection opens and when a session ticket comes. In the steady state hammer
 * allocates nothing; OpenSSL 3.0 does: a note of 40 bytes for each packet that it writes or takes
 * apart (WPACKET), given back within the same call. Counted by standing in front of glibc's
 * allocator, which is also OpenSSL's; this thread's only, the server has its own.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/libssl.h"
#include "tests/lib/alloc_count.h"
#include "tests/lib/check_main.h"
#include "tests/lib/h1_tls_rig.h"
#include "tests/lib/hostile_script.h"

#define REQUESTS 20000
/* Of OpenSSL, for a record out and one in. */
#define NOTES    4
#define NOTE_MAX 64

static const struct {
    int version;
    bool resume;
} kinds[] = {{TLS1_2_VERSION, true}, {TLS1_3_VERSION, true}, {TLS1_3_VERSION, false}};

START_TEST(test_steady_state)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), AGAIN};
    struct h1_tls t;
    h1_tls_open(&t, &(struct h1_tls_config){.script = script,
                                            .connections = 8,
                                            .no_resume = !kinds[_i].resume,
                                            .front.version = kinds[_i].version});
    h1_rig_wait_idle(&t.rig, 8);
    h1_rig_run(&t.rig, 100);
    uint64_t before = alloc_count();
    alloc_largest = 0;
    h1_rig_run(&t.rig, REQUESTS);
    uint64_t made = alloc_count() - before;
    size_t largest = alloc_largest; /* before check allocates its own */
    printf("%lu allocations in %d requests (%s %s)\n", (unsigned long)made, REQUESTS,
           t.rig.handshake.version, t.rig.handshake.cipher);
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_OK], REQUESTS + 100);
    ck_assert_uint_eq(t.rig.traffic.connects, 8);
    ck_assert_uint_le(made, NOTES * REQUESTS + 20);
    ck_assert_uint_le(largest, NOTE_MAX);
    h1_tls_close(&t);
}
END_TEST

/* Bodies of many records in both directions, by length and in chunks. */
START_TEST(test_large_bodies)
{
    static const char block[] = "0123456789abcdef";
    static const struct hostile_step script[] = {BODY(100000),
                                                 SEND(H11 "Content-Length: 300000\r\n\r\n"),
                                                 {.op = HOSTILE_FLOOD, .bytes = block, .n = 300000},
                                                 BODY(100000),
                                                 SEND(CHUNKED "5\r\nhello\r\n0\r\nA: b\r\n\r\n"),
                                                 AGAIN};
    struct h1_tls t;
    h1_tls_open(&t, &(struct h1_tls_config){
                        .script = script, .body = 100000, .front.version = kinds[_i].version});
    h1_rig_wait_idle(&t.rig, 1);
    h1_rig_run(&t.rig, 20);
    alloc_largest = 0;
    h1_rig_run(&t.rig, 100);
    size_t largest = alloc_largest;
    ck_assert_uint_eq(t.rig.outcomes[OUTCOME_OK], 120);
    ck_assert_uint_le(largest, NOTE_MAX);
    h1_tls_close(&t);
}
END_TEST

/* What a connection costs: said in docs/http.md, and not to grow unseen. */
START_TEST(test_a_connection)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD_BYE), END};
    struct h1_tls t;
    h1_tls_open(&t, &(struct h1_tls_config){.script = script, .front.version = kinds[_i].version});
    for (int i = 0; i < 20; i++) {
        h1_rig_wait_idle(&t.rig, 1);
        h1_rig_run(&t.rig, 1);
    }
    h1_rig_wait_idle(&t.rig, 1);
    uint64_t before = alloc_count();
    for (int i = 0; i < 50; i++) {
        h1_rig_run(&t.rig, 1);
        h1_rig_wait_idle(&t.rig, 1);
    }
    uint64_t made = (alloc_count() - before) / 50;
    printf("%lu allocations a connection (%s, %s)\n", (unsigned long)made, t.rig.handshake.version,
           t.rig.handshake.resumed ? "resumed" : "in full");
    ck_assert_uint_lt(made, 2000);
    h1_tls_close(&t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tls_allocations");
    TCase *t = tcase_create("tls_allocations");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_steady_state, 0, 3);
    tcase_add_loop_test(t, test_large_bodies, 0, 2);
    tcase_add_loop_test(t, test_a_connection, 0, 2);
    suite_add_tcase(s, t);
    return check_main(s);
}
