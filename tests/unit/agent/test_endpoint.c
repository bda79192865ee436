/* SPDX-License-Identifier: MIT */
#include "agent/service/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "proto/link.h"
#include "tests/lib/check_main.h"

static int dial(const char *url)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    sa.sin_port = htons((uint16_t)strtoul(strrchr(url, ':') + 1, NULL, 10));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&sa, sizeof sa), 0);
    return fd;
}

static void wake(void *arg)
{
    (void)arg; /* it only ends the turn */
}

static bool closed_by_peer(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN);
}

/* Half a frame, then a byte now and then: never silent, never HELLO. */
START_TEST(test_trickling_is_not_hello)
{
    struct loop *loop;
    struct endpoint *s;
    struct policy policy;
    link_block_signals();
    policy_loopback_only(&policy);
    ck_assert_int_eq(loop_new(&loop, NULL), ERR_OK);
    struct endpoint_config cfg = {
        .loop = loop, .policy = &policy, .url = "tcp://127.0.0.1:0", .name = "a1"};
    ck_assert_int_eq(endpoint_new(&cfg, &s, NULL), ERR_OK);
    struct loop_timer *timer = loop_timer_new(loop, wake, NULL);
    int fd = dial(endpoint_url(s));
    uint64_t start = clock_mono_ns(), limit = start + 8 * NS_PER_SEC;
    ck_assert_int_eq(send(fd, "\0\0\1\0", 4, MSG_NOSIGNAL), 4);
    for (uint64_t next = start; !closed_by_peer(fd);) {
        ck_assert_msg(clock_mono_ns() < limit, "still open after 8 s");
        loop_timer_at(timer, next);
        loop_turn(loop, 1);
        if (clock_mono_ns() < next)
            continue;
        (void)send(fd, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        next += 200 * NS_PER_MS;
    }
    ck_assert_uint_ge(clock_mono_ns() - start, 4 * NS_PER_SEC);
    close(fd);
    loop_timer_free(timer);
    endpoint_free(s);
    loop_finish(loop);
    loop_free(loop);
}
END_TEST

/* Whatever was thought of the URL: what is bound decides, and only who says so is open to all. */
START_TEST(test_reach)
{
    static const struct {
        const char *url;
        bool insecure;
        enum err e;
    } rows[] = {
        {"tcp://127.0.0.1:0", false, ERR_OK}, {"tcp://127.9.9.9:0", false, ERR_OK},
        {"tcp://localhost:0", false, ERR_OK}, {"tcp://0.0.0.0:0", false, ERR_REFUSED},
        {"tcp://*:0", false, ERR_REFUSED},    {"tcp://[::ffff:127.0.0.1]:0", false, ERR_OK},
        {"tcp://[::]:0", false, ERR_REFUSED}, {"tcp://0.0.0.0:0", true, ERR_OK},
    };
    struct loop *loop;
    struct policy policy;
    link_block_signals();
    policy_loopback_only(&policy);
    ck_assert_int_eq(loop_new(&loop, NULL), ERR_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct endpoint *s = NULL;
        struct errmsg msg = {{0}};
        if (strchr(rows[i].url, '[') != NULL && access("/proc/net/if_inet6", R_OK) != 0)
            continue;
        struct endpoint_config cfg = {.loop = loop,
                                      .policy = &policy,
                                      .url = rows[i].url,
                                      .insecure = rows[i].insecure,
                                      .name = "a1"};
        enum err e = endpoint_new(&cfg, &s, &msg);
        ck_assert_msg(e == rows[i].e, "%s: %s: %s", rows[i].url, err_str(e), msg.text);
        ck_assert(e == ERR_OK || strstr(msg.text, rows[i].url) != NULL);
        endpoint_free(s);
    }
    loop_finish(loop);
    loop_free(loop);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("endpoint");
    TCase *t = tcase_create("endpoint");
    tcase_set_timeout(t, 20);
    tcase_add_test(t, test_trickling_is_not_hello);
    tcase_add_test(t, test_reach);
    suite_add_tcase(s, t);
    return check_main(s);
}
