/* SPDX-License-Identifier: MIT */
#include "tests/target/httpd.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"

#define WAIT_S 10 /* limit of every wait */

/* A server on its own thread; ends by its --requests. */
struct running {
    struct httpd srv;
    struct httpd_options options;
    struct httpd_address address;
    pthread_t thread;
};

static void *serve(void *arg)
{
    struct running *r = arg;
    struct errmsg msg = {{0}};
    ck_assert_msg(httpd_run(&r->srv, &msg) == ERR_OK, "%s", msg.text);
    return NULL;
}

static void start(struct running *r, char **argv)
{
    struct errmsg msg = {{0}};
    int argc = 0;
    while (argv[argc] != NULL)
        argc++;
    ck_assert_msg(httpd_options_parse(argc, argv, &r->options, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_msg(httpd_init(&r->srv, &r->options, &msg) == ERR_OK, "%s", msg.text);
    r->address.len = sizeof r->address.sa;
    ck_assert_int_eq(getsockname(r->srv.listener.fd, &r->address.sa.any, &r->address.len), 0);
    ck_assert_int_eq(pthread_create(&r->thread, NULL, serve, r), 0);
}

static void finish(struct running *r)
{
    ck_assert_int_eq(pthread_join(r->thread, NULL), 0);
    ck_assert_int_eq(httpd_fini(&r->srv), ERR_OK);
}

static int dial(const struct running *r)
{
    struct timeval limit = {.tv_sec = WAIT_S};
    int fd = socket(r->address.sa.any.sa_family, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(fd, &r->address.sa.any, r->address.len), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fd;
}

static void say(int fd, const char *text)
{
    ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Reads up to the end the server sets; `text` gets a NUL. */
static void hear_all(int fd, char *text, size_t size)
{
    size_t len = 0;
    ssize_t n;
    while (len + 1 < size && (n = recv(fd, text + len, size - 1 - len, 0)) > 0)
        len += (size_t)n;
    text[len] = '\0';
    close(fd);
}

static unsigned count(const char *text, const char *word)
{
    unsigned n = 0;
    for (text = strstr(text, word); text != NULL; text = strstr(text + 1, word))
        n++;
    return n;
}

#define GET "GET / HTTP/1.1\r\nHost: t\r\n\r\n"
#define END "GET / HTTP/1.1\r\nConnection: close\r\n\r\n"

/* Several requests in one read, a body that looks like a request, HEAD: one response each. */
START_TEST(test_pipelined)
{
    char *argv[] = {"t", "--listen", "127.0.0.1:0", "--requests", "4", NULL};
    struct running r;
    char text[4096];
    start(&r, argv);
    int fd = dial(&r);
    say(fd, GET "POST / HTTP/1.1\r\nContent-Length: 18\r\n\r\nGET / HTTP/1.1\r\n\r\n"
                "HEAD / HTTP/1.1\r\n\r\n" END);
    hear_all(fd, text, sizeof text);
    finish(&r);
    ck_assert_uint_eq(count(text, "HTTP/1.1 200 OK\r\n"), 4);
    ck_assert_uint_eq(count(text, "hello, world\n"), 3);
    ck_assert_uint_eq(count(text, "Content-Length: 13\r\n"), 4);
    ck_assert_uint_eq(r.srv.n_served, 4);
}
END_TEST

/* A request that arrives byte by byte is one request. */
START_TEST(test_byte_by_byte)
{
    char *argv[] = {"t", "--listen", "127.0.0.1:0", "--requests", "1", NULL};
    static const char request[] =
        "POST / HTTP/1.1\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc";
    struct running r;
    char text[4096];
    start(&r, argv);
    int fd = dial(&r);
    for (size_t i = 0; i < sizeof request - 1; i++)
        ck_assert_int_eq(send(fd, request + i, 1, MSG_NOSIGNAL), 1);
    hear_all(fd, text, sizeof text);
    finish(&r);
    ck_assert_uint_eq(count(text, "HTTP/1.1 200 OK\r\n"), 1);
}
END_TEST

/* The held response of one connection does not hold up another connection. */
START_TEST(test_slow_holds_only_its_own)
{
    char *argv[] = {"t",   "--listen", "127.0.0.1:0", "--requests",
                    "102", "--slow",   "1%:200ms",    NULL};
    struct running r;
    static char text[65536];
    start(&r, argv);
    int first = dial(&r), second = dial(&r);
    for (int i = 0; i < 98; i++) {
        say(first, GET);
        ck_assert_int_gt(recv(first, text, sizeof text, 0), 0);
    }
    uint64_t begin_ns = clock_mono_ns();
    say(first, GET GET END); /* the 99th, the slow 100th, and one behind it */
    ck_assert_int_gt(recv(first, text, sizeof text, 0), 0);
    say(second, END);
    hear_all(second, text, sizeof text);
    ck_assert_uint_eq(count(text, " 200 OK"), 1);
    ck_assert_uint_lt(clock_mono_ns() - begin_ns, 190 * NS_PER_MS);
    hear_all(first, text, sizeof text);
    ck_assert_uint_eq(count(text, " 200 OK"), 2);
    ck_assert_uint_ge(clock_mono_ns() - begin_ns, 200 * NS_PER_MS);
    finish(&r);
}
END_TEST

/* A freeze stalls every connection until the end of its window, counted from the first request. */
START_TEST(test_freeze)
{
    char *argv[] = {"t",           "--listen", "127.0.0.1:0",  "--requests", "2",
                    "--freeze-at", "0us",      "--freeze-for", "200ms",      NULL};
    struct running r;
    char text[4096];
    start(&r, argv);
    uint64_t begin_ns = clock_mono_ns();
    int fd = dial(&r);
    say(fd, GET);
    ck_assert_int_gt(recv(fd, text, sizeof text, 0), 0);
    say(fd, END);
    hear_all(fd, text, sizeof text);
    ck_assert_uint_ge(clock_mono_ns() - begin_ns, 200 * NS_PER_MS);
    finish(&r);
}
END_TEST

/* --close-every ends the connection without a word, with --announce-close in so many words. */
START_TEST(test_close_every)
{
    for (int announced = 0; announced < 2; announced++) {
        char *argv[] = {"t", "--listen",      "127.0.0.1:0", "--requests",
                        "4", "--close-every", "2",           announced ? "--announce-close" : NULL,
                        NULL};
        struct running r;
        char text[4096];
        start(&r, argv);
        for (int i = 0; i < 2; i++) {
            int fd = dial(&r);
            say(fd, GET GET);
            hear_all(fd, text, sizeof text);
            ck_assert_uint_eq(count(text, " 200 OK"), 2);
            ck_assert_uint_eq(count(text, "Connection: close"), announced ? 1 : 0);
        }
        finish(&r);
    }
}
END_TEST

START_TEST(test_chunked_and_bad)
{
    char *argv[] = {"t", "--listen", "[::1]:0", "--requests", "1", "--chunked", NULL};
    struct running r;
    char text[4096];
    start(&r, argv);
    int fd = dial(&r);
    say(fd, "NONSENSE\r\n\r\n");
    hear_all(fd, text, sizeof text);
    ck_assert_uint_eq(count(text, " 400 "), 1);
    fd = dial(&r);
    say(fd, END);
    hear_all(fd, text, sizeof text);
    finish(&r);
    ck_assert_ptr_nonnull(strstr(text, "\r\n\r\n6\r\nhello,\r\n7\r\n world\n\r\n0\r\n\r\n"));
}
END_TEST

/* The log has each request once: arrived, then read, then written. */
START_TEST(test_log)
{
    char name[] = "/tmp/hammer-target-log-XXXXXX";
    int log_fd = mkstemp(name);
    char *argv[] = {"t",     "--listen", "127.0.0.1:0", "--requests", "3",
                    "--log", name,       "--delay",     "1ms",        NULL};
    struct running r;
    char text[4096];
    start(&r, argv);
    int fd = dial(&r);
    uint64_t from_ns = clock_mono_ns();
    say(fd, GET GET END);
    hear_all(fd, text, sizeof text);
    finish(&r);
    FILE *f = fdopen(log_fd, "r");
    unsigned long read_ns, written_ns, status, arrived_ns, lines = 0;
    while (fscanf(f, "%lu %lu / %lu %lu\n", &read_ns, &written_ns, &status, &arrived_ns) == 4) {
        ck_assert_uint_ge(arrived_ns, from_ns);
        ck_assert_uint_le(arrived_ns, read_ns);
        ck_assert_uint_ge(written_ns, read_ns + NS_PER_MS);
        ck_assert_uint_eq(status, 200);
        lines++;
    }
    ck_assert_uint_eq(lines, 3);
    fclose(f);
    unlink(name);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("target.httpd");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 2 * WAIT_S);
    tcase_add_test(t, test_pipelined);
    tcase_add_test(t, test_byte_by_byte);
    tcase_add_test(t, test_slow_holds_only_its_own);
    tcase_add_test(t, test_freeze);
    tcase_add_test(t, test_close_every);
    tcase_add_test(t, test_chunked_and_bad);
    tcase_add_test(t, test_log);
    suite_add_tcase(s, t);
    return check_main(s);
}
