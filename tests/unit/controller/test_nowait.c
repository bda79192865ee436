/* SPDX-License-Identifier: MIT */
#include "controller/watch/nowait.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"

static int fds[2];

/* 0: a pipe, that is opened again; 1: a socket, that cannot be. */
static void open_fds(int kind)
{
    if (kind == 0)
        ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
    else
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
}

static void close_fds(void)
{
    close(fds[0]);
    close(fds[1]);
}

/* Texts of one letter each: whole or not at all, in order, and never waited for. */
START_TEST(test_full)
{
    static char text[1000], got[1000];
    open_fds(_i);
    struct nowait *w = nowait_new(fds[1]);
    size_t taken = 0, refused = 0;
    for (int i = 0; i < 2000; i++) {
        memset(text, 'a' + (int)(taken % 26), sizeof text);
        if (nowait_write(w, text, sizeof text))
            taken++;
        else
            refused++;
    }
    ck_assert(taken > 60 && refused > 0 && nowait_refused(w) == refused && !nowait_retry(w));
    ck_assert(!nowait_flush(w, NS_PER_MS));
    ck_assert_int_eq(fcntl(fds[1], F_GETFL) & O_NONBLOCK, 0);
    for (size_t i = 0; i < taken; i++) {
        for (size_t n = 0; n < sizeof got; nowait_retry(w))
            n += (size_t)read(fds[0], got + n, sizeof got - n);
        memset(text, 'a' + (int)(i % 26), sizeof text);
        ck_assert(memcmp(text, got, sizeof text) == 0);
    }
    ck_assert(nowait_retry(w));
    nowait_free(w);
    close_fds();
}
END_TEST

START_TEST(test_nobody)
{
    open_fds(_i);
    struct nowait *w = nowait_new(fds[1]);
    close(fds[0]);
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < 100; i++)
        ck_assert(nowait_write(w, "gone", 4));
    ck_assert(nowait_flush(w, NS_PER_SEC));
    nowait_free(w);
    close(fds[1]);
}
END_TEST

/* What others have written to a file stays. */
START_TEST(test_file)
{
    char path[] = "/tmp/hammer-nowait-XXXXXX", got[16] = "";
    int fd = mkstemp(path);
    unlink(path);
    ck_assert_int_eq(write(fd, "before ", 7), 7);
    struct nowait *w = nowait_new(fd);
    ck_assert(nowait_write(w, "after", 5));
    nowait_free(w);
    ck_assert_int_eq(pread(fd, got, sizeof got, 0), 12);
    ck_assert_str_eq(got, "before after");
    close(fd);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("nowait");
    TCase *t = tcase_create("nowait");
    tcase_add_loop_test(t, test_full, 0, 2);
    tcase_add_loop_test(t, test_nobody, 0, 2);
    tcase_add_test(t, test_file);
    suite_add_tcase(s, t);
    return check_main(s);
}
