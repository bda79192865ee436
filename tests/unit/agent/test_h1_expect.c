/* SPDX-License-Identifier: MIT */
/* Expect: 100-continue: the body waits for the server, but not for ever. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/client/client_h1.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/h1_rig.h"

#define BODY     "the body"
#define CONTINUE "HTTP/1.1 100 Continue\r\n\r\n"
#define OK       "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

static struct h1_rig rig;
static int listener, conn;

static struct request expecting(void)
{
    struct plan p;
    struct url_parts u;
    struct request r;
    struct errmsg msg = {""};
    plan_defaults(&p);
    p.method = mem_strdup("POST");
    p.url = mem_strdup("http://localhost/");
    p.body = mem_dup(BODY, strlen(BODY));
    p.body_len = strlen(BODY);
    p.expect_continue = true;
    ck_assert_int_eq(url_parse(p.url, &u, &msg), ERR_OK);
    ck_assert_msg(request_compile(&p, &u, &r, &msg) == ERR_OK, "%s", msg.text);
    url_clear(&u);
    plan_clear(&p);
    return r;
}

static int accept_one(void)
{
    struct timeval limit = {.tv_sec = 10};
    setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    int fd = accept(listener, NULL, NULL);
    ck_assert_int_ge(fd, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    int on = 1; /* two responses in a row must not wait for an acknowledgement */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static void setup(void)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&sa, len), 0);
    ck_assert_int_eq(listen(listener, 8), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&sa, &len), 0);
    uint16_t port = ntohs(sa.sin_port);
    struct h1_rig_config cfg = {.request = expecting(), .target = h1_rig_target(&port, 1)};
    h1_rig_open(&rig, &cfg);
    h1_rig_wait_idle(&rig, 1);
    conn = accept_one();
}

static void teardown(void)
{
    h1_rig_close(&rig);
    close(conn);
    close(listener);
}

static void say(const char *text)
{
    ck_assert_int_eq(send(conn, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* All that has come by now; a send on loopback is there when it returns. */
static void hear(char *buf, size_t cap)
{
    ssize_t n = recv(conn, buf, cap - 1, MSG_DONTWAIT);
    buf[n > 0 ? n : 0] = '\0';
}

static void hear_head(void)
{
    char got[1024];
    h1_rig_submit(&rig);
    hear(got, sizeof got);
    ck_assert_ptr_nonnull(strstr(got, "Expect: 100-continue\r\n\r\n"));
    ck_assert_ptr_null(strstr(got, BODY));
    for (int i = 0; i < 5; i++)
        h1_rig_turn(&rig, 1);
    hear(got, sizeof got);
    ck_assert_str_eq(got, "");
}

static void hear_body(void)
{
    char got[1024];
    hear(got, sizeof got);
    ck_assert_str_eq(got, BODY);
}

START_TEST(test_the_body_follows_a_100)
{
    char got[1024];
    for (int i = 0; i < 2; i++) { /* the connection is used again */
        hear_head();
        say("HTTP/1.1 103 Early Hints\r\n\r\n");
        for (int k = 0; k < 5; k++)
            h1_rig_turn(&rig, 1);
        hear(got, sizeof got);
        ck_assert_str_eq(got, ""); /* that was not it */
        say(CONTINUE);
        for (int k = 0; k < 5; k++)
            h1_rig_turn(&rig, 1);
        hear_body();
        say(OK);
        h1_rig_wait(&rig, &rig.outcomes[OUTCOME_OK], (uint64_t)i + 1);
    }
    ck_assert_uint_eq(rig.completed, 2);
}
END_TEST

START_TEST(test_who_says_nothing_gets_it_all_the_same)
{
    hear_head();
    h1_rig_expire(&rig);
    hear_body();
    say(CONTINUE OK);
    h1_rig_wait(&rig, &rig.outcomes[OUTCOME_OK], 1);
}
END_TEST

START_TEST(test_an_answer_without_the_body_ends_the_connection)
{
    char got[64];
    hear_head();
    say("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n");
    h1_rig_wait(&rig, &rig.outcomes[OUTCOME_OK], 1);
    ck_assert_int_eq(rig.last.status, 417);
    ck_assert_int_eq(recv(conn, got, sizeof got, 0), 0); /* closed: no body, no next request */
    close(conn);
    conn = accept_one();
    h1_rig_wait_idle(&rig, 1);
    hear_head(); /* nothing is left of the last one's wait */
}
END_TEST

START_TEST(test_who_leaves_instead)
{
    hear_head();
    close(conn);
    h1_rig_wait(&rig, &rig.outcomes[OUTCOME_READ], 1);
    conn = accept_one();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("h1_expect");
    TCase *t = tcase_create("h1_expect");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_the_body_follows_a_100);
    tcase_add_test(t, test_who_says_nothing_gets_it_all_the_same);
    tcase_add_test(t, test_an_answer_without_the_body_ends_the_connection);
    tcase_add_test(t, test_who_leaves_instead);
    suite_add_tcase(s, t);
    return check_main(s);
}
