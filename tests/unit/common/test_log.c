/* SPDX-License-Identifier: MIT */
#include "common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"

static int caught = -1; /* what stands in for stderr */

/* stderr becomes a file; check's forked child dies with it. */
static void catch_stderr(void)
{
    caught = memfd_create("stderr", MFD_CLOEXEC);
    ck_assert_int_ge(caught, 0);
    ck_assert_int_ge(dup2(caught, STDERR_FILENO), 0);
}

static const char *lines(void)
{
    static char text[64 << 10];
    ssize_t n = pread(caught, text, sizeof text - 1, 0);
    ck_assert_int_ge(n, 0);
    text[n] = '\0';
    return text;
}

static void forget(void)
{
    ck_assert_int_eq(ftruncate(caught, 0), 0);
    ck_assert_int_eq(lseek(STDERR_FILENO, 0, SEEK_SET), 0);
}

static void open_json(void)
{
    catch_stderr();
    log_open("prog", LOG_LEVEL_INFO);
    log_use_json(true);
}

START_TEST(test_text)
{
    catch_stderr();
    log_open("prog", LOG_LEVEL_INFO);
    errno = EBADF;
    log_warn("run 7f", "late by %d", 5);
    log_debug("run 7f", "not said");
    ck_assert_int_eq(errno, EBADF);
    ck_assert_str_eq(lines(), "prog: warning: run 7f: late by 5\n");
    log_set_level(LOG_LEVEL_DEBUG);
    log_debug("x", "said");
    ck_assert_ptr_nonnull(strstr(lines(), "prog: debug: x: said\n"));
}
END_TEST

/* Priorities only where stderr itself is the journal's. */
START_TEST(test_journal)
{
    struct stat st;
    char stream[64];
    catch_stderr();
    setenv("JOURNAL_STREAM", "1:1", 1);
    log_open("prog", LOG_LEVEL_INFO);
    log_error("a", "b");
    ck_assert_str_eq(lines(), "prog: error: a: b\n");
    forget();
    ck_assert_int_eq(fstat(STDERR_FILENO, &st), 0);
    snprintf(stream, sizeof stream, "%llu:%llu", (unsigned long long)st.st_dev,
             (unsigned long long)st.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    log_open("prog", LOG_LEVEL_INFO);
    log_error("a", "b");
    ck_assert_str_eq(lines(), "<3>a: b\n");
}
END_TEST

static json_t *one_line(void)
{
    const char *text = lines(), *end = strchr(text, '\n');
    ck_assert_ptr_nonnull(end);
    ck_assert_int_eq(end[1], '\0');
    ck_assert_uint_le(strlen(text), LOG_LINE_MAX);
    json_error_t why;
    json_t *o = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    ck_assert_msg(o != NULL, "%s: %s", why.text, text);
    return o;
}

static const char *member(json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    ck_assert_ptr_nonnull(text);
    return text;
}

START_TEST(test_json)
{
    open_json();
    uint64_t before = clock_wall_ns();
    log_warn("run \"7f\"", "a\tb\\c\x7f %s", "\xc3\xa9\xff");
    json_t *o = one_line();
    ck_assert_str_eq(member(o, "level"), "warning");
    ck_assert_str_eq(member(o, "prefix"), "run \"7f\"");
    ck_assert_str_eq(member(o, "msg"), "a\tb\\c\x7f \xc3\xa9\xef\xbf\xbd");
    struct tm tm = {0};
    const char *rest = strptime(member(o, "time"), "%Y-%m-%dT%H:%M:%S", &tm);
    ck_assert_ptr_nonnull(rest);
    ck_assert_int_eq(rest[0], '.');
    ck_assert_str_eq(rest + 7, "Z");
    uint64_t at = (uint64_t)timegm(&tm) * NS_PER_SEC;
    ck_assert_uint_ge(at + NS_PER_SEC, before);
    ck_assert_uint_le(at, before + 60 * NS_PER_SEC);
    json_decref(o);
}
END_TEST

/* Whatever bytes and lengths: one valid object a line, never longer than promised. */
START_TEST(test_json_of_anything)
{
    uint64_t seed = check_seed();
    open_json();
    for (int round = 0; round < 500; round++) {
        char text[2048], prefix[200];
        size_t n = check_below(&seed, sizeof text - 1), m = check_below(&seed, sizeof prefix - 1);
        bool ugly = check_below(&seed, 4) == 0; /* each byte six long */
        for (size_t i = 0; i < n; i++)
            text[i] = ugly ? '\x01' : (char)(1 + check_below(&seed, 255));
        for (size_t i = 0; i < m; i++)
            prefix[i] = (char)(1 + check_below(&seed, 255));
        text[n] = prefix[m] = '\0';
        log_info(prefix, "%s", text);
        json_decref(one_line());
        forget();
    }
}
END_TEST

START_TEST(test_levels)
{
    enum log_level level = LOG_LEVEL_INFO;
    ck_assert(log_level_parse("debug", &level));
    ck_assert_int_eq(level, LOG_LEVEL_DEBUG);
    ck_assert(log_level_parse("error", &level));
    ck_assert_int_eq(level, LOG_LEVEL_ERROR);
    ck_assert(!log_level_parse("warn", &level));
    ck_assert(!log_level_parse("", &level));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("log");
    TCase *t = tcase_create("all");
    tcase_add_test(t, test_text);
    tcase_add_test(t, test_journal);
    tcase_add_test(t, test_json);
    tcase_add_test(t, test_json_of_anything);
    tcase_add_test(t, test_levels);
    suite_add_tcase(s, t);
    return check_main(s);
}
