/* SPDX-License-Identifier: MIT */
#include "controller/watch/dump_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"

#define ROWS 500u /* of a message */

static char dir[64], path[128];
static struct plan plan;
static struct dump_writer writer;

static void setup(void)
{
    folder_make(dir);
    snprintf(path, sizeof path, "%s/requests.csv", dir);
    plan_defaults(&plan);
    plan.url = mem_strdup("http://127.0.0.1:1/");
    plan.method = mem_strdup("GET");
    plan.rate = (struct rate){100, 1};
    signal(SIGPIPE, SIG_IGN);
}

static void teardown(void)
{
    plan_clear(&plan);
    folder_remove(dir);
}

static struct dump_file *open_file(const char *name, size_t queue)
{
    struct dump_file *f;
    struct errmsg msg = {{0}};
    ck_assert_msg(dump_file_open(name, &plan, queue, &f, &msg) == ERR_OK, "%s", msg.text);
    return f;
}

static struct msg_requests message;

/* Rows from index `first` on. */
static void fill(uint64_t first)
{
    dump_writer_clear(&writer);
    for (uint64_t i = first; i < first + ROWS; i++) {
        struct dump_row row = {.index = i, .due_ns = i, .sent_ns = i, .done_ns = i, .status = 200};
        CHECK_MUST(dump_put(&writer, &row));
    }
    message = (struct msg_requests){.n = ROWS, .data = {writer.bytes, writer.len}};
}

static bool add(struct dump_file *f, uint64_t first)
{
    fill(first);
    return dump_file_add(f, "a1", &message);
}

/* The header and whole lines; returns how many. */
static uint64_t check_lines(const char *text)
{
    uint64_t n = 0;
    const char *p = text;
    ck_assert(strncmp(p, dump_csv_header(), strlen(dump_csv_header())) == 0);
    for (p += strlen(dump_csv_header()); *p != '\0'; n++) {
        const char *end = strchr(p, '\n');
        ck_assert_msg(end != NULL && strstr(p, ",ok,\n") == end - 4, "not a line: %.80s", p);
        p = end + 1;
    }
    return n;
}

START_TEST(test_everything_is_written)
{
    struct dump_file *f = open_file(path, DUMP_FILE_QUEUE);
    for (uint64_t i = 0; i < 40; i++)
        ck_assert(add(f, i * ROWS));
    dump_file_finish(f);
    ck_assert_uint_eq(dump_file_lines(f), 40 * ROWS);
    ck_assert_str_eq(dump_file_problem(f), "");
    dump_file_close(f);
    char *text = file_read(path);
    ck_assert_uint_eq(check_lines(text), 40 * ROWS);
    mem_free(text);
}
END_TEST

START_TEST(test_lines_come_soon)
{
    struct dump_file *f = open_file(path, DUMP_FILE_QUEUE);
    ck_assert(add(f, 0));
    mem_free(file_wait_line(path, 10000)); /* without any more of it */
    dump_file_close(f);
}
END_TEST

START_TEST(test_nothing_but_the_header)
{
    struct dump_file *f = open_file(path, DUMP_FILE_QUEUE);
    dump_file_finish(f);
    ck_assert_uint_eq(dump_file_lines(f), 0);
    dump_file_close(f);
    char *text = file_read(path);
    ck_assert_str_eq(text, dump_csv_header());
    mem_free(text);
}
END_TEST

/* A reader that takes nothing: what there is no room for is refused at once, and the end comes. */
START_TEST(test_nobody_takes_anything)
{
    uint64_t from_ns = clock_mono_ns(), taken = 0;
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    int reader = _i == 1 ? open(path, O_RDONLY | O_NONBLOCK) : -1;
    struct dump_file *f = open_file(path, 256u << 10);
    for (uint64_t i = 0; i < 1000; i++)
        taken += add(f, i * ROWS);
    ck_assert_uint_gt(taken, 0);
    ck_assert_uint_lt(taken, 1000);
    ck_assert_msg(clock_mono_ns() - from_ns < 5 * NS_PER_SEC, "it waited");
    dump_file_finish(f);
    ck_assert_str_eq(dump_file_problem(f), "nobody reads it");
    ck_assert(!dump_file_failed(f));
    ck_assert_uint_lt(dump_file_lines(f), taken * ROWS);
    dump_file_close(f);
    ck_assert_msg(clock_mono_ns() - from_ns < 20 * NS_PER_SEC, "it waited too long");
    if (reader >= 0)
        close(reader);
}
END_TEST

struct reading {
    int fd;
    uint64_t lines;
    bool at_begin;
};

/* false = nothing more comes. */
static bool read_some(struct reading *r)
{
    char text[4096];
    ssize_t n = read(r->fd, text, sizeof text);
    for (ssize_t k = 0; k < n; k++)
        r->lines += text[k] == '\n';
    if (n > 0)
        r->at_begin = text[n - 1] == '\n';
    return n != 0;
}

static void *read_to_end(void *arg)
{
    while (read_some(arg)) {
    }
    return NULL;
}

/* What was taken comes to its end, whole, and nothing else. */
START_TEST(test_a_slow_reader)
{
    pthread_t thread;
    uint64_t taken = 0;
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    struct reading r = {.fd = open(path, O_RDONLY | O_NONBLOCK)};
    struct dump_file *f = open_file(path, 64u << 10);
    for (uint64_t i = 0; i < 2000; i++) {
        taken += add(f, i * ROWS);
        read_some(&r);
    }
    ck_assert_uint_lt(taken, 2000);
    ck_assert_int_eq(fcntl(r.fd, F_SETFL, 0), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, read_to_end, &r), 0);
    dump_file_finish(f);
    ck_assert_str_eq(dump_file_problem(f), "");
    ck_assert_uint_eq(dump_file_lines(f), taken * ROWS);
    dump_file_close(f);
    pthread_join(thread, NULL);
    ck_assert(r.at_begin);
    ck_assert_uint_eq(r.lines, taken * ROWS + 1);
    close(r.fd);
}
END_TEST

/* The disk is full: the rest is left out, no half line stays, and the reason is told. */
START_TEST(test_a_full_disk)
{
    struct rlimit before, limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 100001;
    signal(SIGXFSZ, SIG_IGN);
    struct dump_file *f = open_file(path, DUMP_FILE_QUEUE);
    fill(0); /* check writes files, too */
    setrlimit(RLIMIT_FSIZE, &limit);
    for (uint64_t i = 0; i < 40; i++)
        (void)dump_file_add(f, "a1", &message);
    dump_file_finish(f);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert_str_eq(dump_file_problem(f), strerror(EFBIG));
    ck_assert(dump_file_failed(f));
    uint64_t lines = dump_file_lines(f);
    ck_assert_uint_gt(lines, 100);
    ck_assert(!add(f, 0));
    dump_file_close(f);
    char *text = file_read(path);
    ck_assert_uint_eq(check_lines(text), lines);
    mem_free(text);
    f = open_file("/dev/full", DUMP_FILE_QUEUE);
    ck_assert(add(f, 0));
    dump_file_finish(f);
    ck_assert_str_eq(dump_file_problem(f), strerror(ENOSPC));
    ck_assert_uint_eq(dump_file_lines(f), 0);
    dump_file_close(f);
}
END_TEST

START_TEST(test_checked_before)
{
    static const struct {
        const char *path, *says;
    } bad[] = {
        {"-", "the report goes there; accepted is a file"},
        {"/", "Is a directory; accepted is a file that can be written"},
        {"/nowhere/at/all.csv", "No such file or directory; accepted is"},
    };
    struct errmsg msg;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_int_eq(dump_file_check(bad[i].path, &msg), ERR_INVALID);
        ck_assert_msg(strstr(msg.text, bad[i].says) != NULL, "%s", msg.text);
    }
    ck_assert_int_eq(dump_file_check(path, &msg), ERR_OK);
    ck_assert_int_ne(access(path, F_OK), 0); /* it made none */
    ck_assert_int_eq(dump_file_check("/dev/null", &msg), ERR_OK);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("dump_file");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_everything_is_written);
    tcase_add_test(t, test_lines_come_soon);
    tcase_add_test(t, test_nothing_but_the_header);
    tcase_add_loop_test(t, test_nobody_takes_anything, 0, 2);
    tcase_add_test(t, test_a_slow_reader);
    tcase_add_test(t, test_a_full_disk);
    tcase_add_test(t, test_checked_before);
    return check_main(s);
}
