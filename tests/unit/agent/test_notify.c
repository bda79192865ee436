/* SPDX-License-Identifier: MIT */
#include "agent/service/notify.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/notify_socket.h"
#include "tests/lib/process.h"

static char dir[64];
static struct notify_socket sock;
static struct loop *loop;

static void setup(void)
{
    folder_make(dir);
    notify_socket_open(&sock, dir);
    ck_assert_int_eq(loop_new(&loop, NULL), ERR_OK);
}

static void teardown(void)
{
    loop_free(loop);
    notify_socket_close(&sock);
    folder_remove(dir);
}

#ifdef HAMMER_SYSTEMD
#define BUILT_IN 1
#else
#define BUILT_IN 0
#endif

static void watchdog(const char *usec)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("WATCHDOG_USEC", usec, 1);
    setenv("WATCHDOG_PID", pid, 1);
}

/* What is told, word for word and in order. */
START_TEST(test_states)
{
    struct notify *n = notify_new(loop);
    notify_status(n, "idle");
    notify_ready(n);
    notify_stopping(n);
    while (notify_socket_take(&sock))
        ;
    ck_assert_str_eq(sock.log, "STATUS=idle\n--\nREADY=1\n--\nSTOPPING=1\n--\n");
    notify_free(n);
}
END_TEST

/* systemd compares the stamp with its own clock to know which READY=1 ends the reload. */
START_TEST(test_reloading_has_a_stamp)
{
    struct notify *n = notify_new(loop);
    uint64_t before = clock_mono_ns() / NS_PER_US;
    notify_reloading(n);
    ck_assert(notify_socket_take(&sock));
    static const char begin[] = "RELOADING=1\nMONOTONIC_USEC=";
    ck_assert_msg(strncmp(sock.log, begin, strlen(begin)) == 0, "%s", sock.log);
    uint64_t at = strtoull(sock.log + strlen(begin), NULL, 10);
    ck_assert_uint_ge(at, before);
    ck_assert_uint_le(at, clock_mono_ns() / NS_PER_US);
    notify_free(n);
}
END_TEST

/* A holder's name comes from the network: it must not become an assignment of its own. */
START_TEST(test_status_is_one_line)
{
    struct notify *n = notify_new(loop);
    notify_status(n, "held by x\nMAINPID=1\r\x1b[31m\xff");
    ck_assert(notify_socket_take(&sock));
    ck_assert_str_eq(sock.log, "STATUS=held by x?MAINPID=1??[31m?\n--\n");
    notify_free(n);
}
END_TEST

/* Fed by the loop's own turns, twice an interval; not at all by a loop that hangs. */
START_TEST(test_watchdog)
{
    watchdog("100000");
    struct notify *n = notify_new(loop);
    uint64_t start = clock_mono_ns();
    ck_assert(!notify_socket_take(&sock));
    for (int fed = 0; fed < 3;) {
        loop_turn(loop, 1);
        if (notify_socket_take(&sock))
            fed++;
        ck_assert_uint_lt(clock_mono_ns() - start, 5 * NS_PER_SEC);
    }
    ck_assert_uint_ge(clock_mono_ns() - start, 149 * NS_PER_MS);
    ck_assert_str_eq(sock.log, "WATCHDOG=1\n--\nWATCHDOG=1\n--\nWATCHDOG=1\n--\n");
    notify_free(n);
}
END_TEST

START_TEST(test_silent)
{
    struct notify *n;
    watchdog("0");
    n = notify_new(loop); /* another process's watchdog, or none */
    notify_free(n);
    notify_ready(NULL);
    notify_status(NULL, "x");
    notify_reloading(NULL);
    notify_stopping(NULL);
    notify_free(NULL);
    ck_assert(!notify_socket_take(&sock));
    unsetenv("NOTIFY_SOCKET");
    n = notify_new(loop);
    notify_ready(n);
    notify_free(n);
    ck_assert(!notify_socket_take(&sock));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("notify");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, setup, teardown);
    if (BUILT_IN) {
        tcase_add_test(t, test_states);
        tcase_add_test(t, test_reloading_has_a_stamp);
        tcase_add_test(t, test_status_is_one_line);
        tcase_add_test(t, test_watchdog);
    }
    tcase_add_test(t, test_silent);
    suite_add_tcase(s, t);
    return check_main(s);
}
