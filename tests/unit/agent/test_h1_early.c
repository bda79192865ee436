/* SPDX-License-Identifier: MIT */
/* A server that speaks first, to a client that has a request for it. */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/client/client_h1.h"
#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/h1_rig.h"
#include "tests/lib/hostile_script.h"

struct server {
    int listener, conn;
    struct h1_rig rig;
};

static void start(struct server *s)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;
    s->listener = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(s->listener, (struct sockaddr *)&sa, len), 0);
    ck_assert_int_eq(listen(s->listener, 8), 0);
    ck_assert_int_eq(getsockname(s->listener, (struct sockaddr *)&sa, &len), 0);
    uint16_t port = ntohs(sa.sin_port);
    struct h1_rig_config cfg = {.request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    h1_rig_open(&s->rig, &cfg);
}

static void finish(struct server *s)
{
    h1_rig_close(&s->rig);
    close(s->conn);
    close(s->listener);
}

/* On loopback what send has taken is in the peer's socket when it returns. */
static void say(const struct server *s, const char *text)
{
    ck_assert_int_eq(send(s->conn, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* The connect has begun, the client has not seen its end. */
static void accept_it(struct server *s)
{
    struct timeval limit = {.tv_sec = 10};
    setsockopt(s->listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    s->conn = accept(s->listener, NULL, NULL);
    ck_assert_int_ge(s->conn, 0);
    setsockopt(s->conn, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

static void read_request(const struct server *s)
{
    char buf[1024];
    ck_assert_int_gt(recv(s->conn, buf, sizeof buf, 0), 0);
}

/* A whole response is there before the request is written: it is not the answer, the request is not
 * even sent, and the connection is not used any more. */
START_TEST(test_a_response_before_the_request)
{
    struct server s;
    start(&s);
    accept_it(&s);
    say(&s, GOOD);
    h1_rig_wait_idle(&s.rig, 1);
    h1_rig_submit(&s.rig);
    ck_assert_uint_eq(s.rig.completed, 0); /* submit never completes */
    h1_rig_wait(&s.rig, &s.rig.completed, 1);
    ck_assert_uint_eq(s.rig.outcomes[OUTCOME_PROTOCOL], 1);
    ck_assert_int_eq(s.rig.last.error, H1_EARLY_BYTES);
    ck_assert_uint_eq(s.rig.traffic.bytes_out, 0);
    char text[64];
    outcome_text(s.rig.last.outcome, s.rig.last.error, text, sizeof text);
    ck_assert_str_eq(text, "protocol: bytes of a response before the request was sent");

    close(s.conn);
    accept_it(&s);
    h1_rig_wait_idle(&s.rig, 1);
    h1_rig_submit(&s.rig);
    read_request(&s);
    say(&s, GOOD);
    h1_rig_wait(&s.rig, &s.rig.completed, 2);
    ck_assert_uint_eq(s.rig.outcomes[OUTCOME_OK], 1);
    finish(&s);
}
END_TEST

/* A server that has only closed is met as before: the request is sent, and has no answer. */
START_TEST(test_an_end_before_the_request)
{
    struct server s;
    start(&s);
    accept_it(&s);
    ck_assert_int_eq(shutdown(s.conn, SHUT_WR), 0);
    h1_rig_wait_idle(&s.rig, 1);
    h1_rig_submit(&s.rig);
    read_request(&s);
    h1_rig_wait(&s.rig, &s.rig.completed, 1);
    ck_assert_uint_eq(s.rig.outcomes[OUTCOME_READ], 1);
    finish(&s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("h1_early");
    TCase *t = tcase_create("early bytes");
    tcase_set_timeout(t, 30);
    tcase_add_test(t, test_a_response_before_the_request);
    tcase_add_test(t, test_an_end_before_the_request);
    suite_add_tcase(s, t);
    return check_main(s);
}
