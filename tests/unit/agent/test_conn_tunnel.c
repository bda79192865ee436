/* SPDX-License-Identifier: MIT */
#include "agent/client/conn_tunnel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/lib/check_main.h"

static int ends[2];
static struct conn_tunnel tunnel;

static void setup(void)
{
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    memset(&tunnel, 0, sizeof tunnel);
}

static void teardown(void)
{
    close(ends[0]);
    close(ends[1]);
}

static int step(void)
{
    return conn_tunnel_step(&tunnel, ends[0], "h.test:443");
}

static void answer(const char *text)
{
    ck_assert_int_eq(write(ends[1], text, strlen(text)), (ssize_t)strlen(text));
}

START_TEST(test_asks_and_waits)
{
    char got[1024] = "";
    ck_assert_int_eq(step(), CONN_TUNNEL_READ);
    ck_assert_int_gt(read(ends[1], got, sizeof got - 1), 0);
    static const char head[] = "CONNECT h.test:443 HTTP/1.1\r\nHost: h.test:443\r\n";
    ck_assert_int_eq(strncmp(got, head, sizeof head - 1), 0);
    ck_assert_ptr_nonnull(strstr(got, "\r\n\r\n"));
    ck_assert_int_eq(step(), CONN_TUNNEL_READ);
    ck_assert_int_eq(read(ends[1], got, sizeof got), -1); /* once only */
}
END_TEST

static const struct {
    const char *text;
    int want;
} answers[] = {
    {"HTTP/1.1 200 OK\r\n\r\n", CONN_TUNNEL_DONE},
    {"HTTP/1.0 200 Connection established\r\nVia: x\r\n\r\n", CONN_TUNNEL_DONE},
    {"HTTP/1.1 299\r\n\r\n", CONN_TUNNEL_DONE},
    {"HTTP/1.1 200 OK\n\n", CONN_TUNNEL_DONE},
    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", CONN_TUNNEL_DONE},
    {"HTTP/1.1 407 Proxy Authentication Required\r\nA: b\r\n\r\n", -(CONN_PROXY_STATUS + 407)},
    {"HTTP/1.1 302 Found\r\n\r\n", -(CONN_PROXY_STATUS + 302)},
    {"HTTP/2 200\r\n\r\n", -CONN_PROXY_BROKEN},
    {"SSH-2.0-x\r\n", -CONN_PROXY_BROKEN},
    {"HTTP/1.1 2x0 OK\r\n\r\n", -CONN_PROXY_BROKEN},
    {"HTTP/1.1 200 OK\r\nA: b\r\n", CONN_TUNNEL_READ},
    {"", CONN_TUNNEL_READ},
};

START_TEST(test_answers_whole)
{
    ck_assert_int_eq(step(), CONN_TUNNEL_READ);
    answer(answers[_i].text);
    ck_assert_int_eq(step(), answers[_i].want);
    ck_assert_int_eq(tunnel.open, answers[_i].want == CONN_TUNNEL_DONE);
}
END_TEST

/* A proxy that goes on with them would hold a load thread for as long as it likes. */
START_TEST(test_interim_responses_are_bounded)
{
    int got = step();
    for (unsigned i = 0; i < 100 && got == CONN_TUNNEL_READ; i++) {
        answer("HTTP/1.1 102 Processing\r\n\r\n");
        got = step();
    }
    ck_assert_int_eq(got, -CONN_PROXY_BROKEN);
}
END_TEST

/* However the bytes are cut, and without touching what follows. */
START_TEST(test_answers_byte_by_byte)
{
    char left[8];
    int got = step();
    for (const char *p = answers[_i].text; *p != '\0' && got == CONN_TUNNEL_READ; p++) {
        ck_assert_int_eq(write(ends[1], p, 1), 1);
        got = step();
    }
    ck_assert_int_eq(got, answers[_i].want);
    answer("server");
    if (got == CONN_TUNNEL_DONE) {
        ck_assert_int_eq(step(), CONN_TUNNEL_DONE);
        ck_assert_int_eq(read(ends[0], left, sizeof left), 6);
    }
}
END_TEST

START_TEST(test_an_endless_answer_ends)
{
    ck_assert_int_eq(step(), CONN_TUNNEL_READ);
    answer("HTTP/1.1 200 OK\r\n");
    int got = CONN_TUNNEL_READ;
    for (int i = 0; i < 10000 && got == CONN_TUNNEL_READ; i++) {
        answer("A: b\r\n");
        got = step();
    }
    ck_assert_int_eq(got, -CONN_PROXY_BROKEN);
}
END_TEST

START_TEST(test_an_end_is_no_answer)
{
    char text[128];
    ck_assert_int_eq(step(), CONN_TUNNEL_READ);
    ck_assert_int_eq(shutdown(ends[1], SHUT_WR), 0);
    ck_assert_int_eq(step(), -CONN_PROXY_BROKEN);
    ck_assert(conn_tunnel_text(CONN_PROXY_BROKEN, text, sizeof text));
    ck_assert(conn_tunnel_text(CONN_PROXY_STATUS + 407, text, sizeof text));
    ck_assert_str_eq(text, "the proxy answered 407 to CONNECT");
    ck_assert(!conn_tunnel_text(ECONNREFUSED, text, sizeof text));
}
END_TEST

/* A socket without room takes the request in pieces. */
START_TEST(test_the_request_in_pieces)
{
    char junk[4096] = {0}, got[1 << 20];
    size_t junk_len = 0, n = 0;
    ssize_t r;
    while ((r = write(ends[0], junk, sizeof junk)) > 0)
        junk_len += (size_t)r;
    int s = step();
    ck_assert_int_eq(s, CONN_TUNNEL_WRITE);
    while ((r = read(ends[1], got + n, sizeof got - n)) > 0 || s == CONN_TUNNEL_WRITE) {
        n += r > 0 ? (size_t)r : 0;
        if (s == CONN_TUNNEL_WRITE)
            s = step();
    }
    ck_assert_int_eq(s, CONN_TUNNEL_READ);
    ck_assert_int_eq(memcmp(got + junk_len, "CONNECT h.test:443", 18), 0);
    ck_assert_int_eq(memcmp(got + n - 4, "\r\n\r\n", 4), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("conn_tunnel");
    TCase *t = tcase_create("all");
    int n = (int)(sizeof answers / sizeof answers[0]);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_asks_and_waits);
    tcase_add_loop_test(t, test_answers_whole, 0, n);
    tcase_add_loop_test(t, test_answers_byte_by_byte, 0, n);
    tcase_add_test(t, test_an_endless_answer_ends);
    tcase_add_test(t, test_an_end_is_no_answer);
    tcase_add_test(t, test_the_request_in_pieces);
    tcase_add_test(t, test_interim_responses_are_bounded);
    suite_add_tcase(s, t);
    return check_main(s);
}
