/* SPDX-License-Identifier: MIT */
#include "agent/client/expectation.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/lib/check_main.h"

#define N_OF(table) (sizeof(table) / sizeof(table)[0])

#define HELLO "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
#define EMPTY "sha256:E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855"

static const struct {
    const char *status, *expect, *body;
    size_t len; /* 0 = to the NUL */
    int code, verdict;
} rows[] = {
    {"200", NULL, "", 0, 200, EXPECT_MET},
    {"200", NULL, "", 0, 201, 201},
    {"2xx,404", NULL, "", 0, 299, EXPECT_MET},
    {"2xx,404", NULL, "", 0, 404, EXPECT_MET},
    {"2xx,404", NULL, "", 0, 301, 301},
    {"200-204", NULL, "", 0, 204, EXPECT_MET},
    {"200-204", NULL, "", 0, 205, 205},
    {NULL, "h.*o", "say hello", 0, 500, EXPECT_MET},
    {NULL, "^h.*o$", "hello", 0, 200, EXPECT_MET},
    {NULL, "^h.*o$", "say hello", 0, 200, EXPECT_DIFF},
    {NULL, "b", "a\0b", 3, 200, EXPECT_MET},
    {NULL, "a+$|^x*y", "ba\0ca", 5, 200, EXPECT_MET},
    {NULL, "a+$|^x*y", "ay", 0, 200, EXPECT_DIFF},
    {NULL, "x(a|b)*y", "\n\0\xffxaby\xff", 8, 200, EXPECT_MET},
    {NULL, "a|x", "", 0, 200, EXPECT_DIFF},
    {NULL, "^$", "", 0, 200, EXPECT_MET},
    {NULL, "a{2}", "xaax", 0, 200, EXPECT_MET},
    {NULL, "=hello", "hello", 0, 200, EXPECT_MET},
    {NULL, "=hello", "hell", 0, 200, EXPECT_DIFF},
    {NULL, "=hello", "helloo", 0, 200, EXPECT_DIFF},
    {NULL, "=", "", 0, 200, EXPECT_MET},
    {NULL, "=", "x", 0, 200, EXPECT_DIFF},
    {NULL, HELLO, "hello", 0, 200, EXPECT_MET},
    {NULL, HELLO, "hellO", 0, 200, EXPECT_DIFF},
    {NULL, EMPTY, "", 0, 200, EXPECT_MET},
    {"200", "no", "yes", 0, 503, 503},
    {"200", "no", "yes", 0, 200, EXPECT_DIFF},
};

/* However the body is cut, and again with what the last response left behind. */
START_TEST(test_rows)
{
    struct expectation e;
    struct expect_seen s = {0};
    struct errmsg msg;
    const char *body = rows[_i].body;
    size_t len = rows[_i].len > 0 ? rows[_i].len : strlen(body);
    ck_assert_int_eq(expectation_init(&e, rows[_i].status, rows[_i].expect, &msg), ERR_OK);
    for (size_t step = 1; step <= 4; step++) {
        expectation_begin(&e, &s);
        for (size_t at = 0; at < len; at += step)
            expectation_bytes(&e, &s, body + at, len - at < step ? len - at : step);
        ck_assert_int_eq(expectation_judge(&e, &s, rows[_i].code), rows[_i].verdict);
    }
    expectation_seen_clear(&s);
    expectation_clear(&e);
}
END_TEST

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A body made so that a match begins everywhere and ends nowhere: 1.2 s each, were the search begun
 * anew at each byte. With the sanitizers all is slower, but not a hundred times. */
START_TEST(test_a_hostile_body_takes_no_time)
{
    static const char word[] = "\"id\":";
    struct expectation e;
    struct expect_seen s = {0};
    struct errmsg msg;
    ck_assert_int_eq(expectation_init(&e, NULL, "\"id\":.*\"ok\"", &msg), ERR_OK);
    double from = cpu_s();
    for (int i = 0; i < 8; i++) {
        expectation_begin(&e, &s);
        while (s.len < EXPECT_REGEX_BYTES)
            expectation_bytes(&e, &s, word, sizeof word - 1);
        ck_assert_int_eq(expectation_judge(&e, &s, 200), EXPECT_DIFF);
    }
    ck_assert_double_lt(cpu_s() - from, 1.0);
    expectation_seen_clear(&s);
    expectation_clear(&e);
}
END_TEST

/* An expression sees the first 64 KiB and no more; nothing more is kept either. */
START_TEST(test_first_bytes)
{
    struct expectation e;
    struct expect_seen s = {0};
    struct errmsg msg;
    static char block[4096];
    memset(block, 'a', sizeof block);
    for (size_t last = 0; last < 2; last++) {
        ck_assert_int_eq(expectation_init(&e, NULL, "z", &msg), ERR_OK);
        expectation_begin(&e, &s);
        for (size_t n = 0; n < EXPECT_REGEX_BYTES - 1; n += sizeof block)
            expectation_bytes(&e, &s, block,
                              n + sizeof block < EXPECT_REGEX_BYTES ? sizeof block
                                                                    : sizeof block - 1 + last);
        expectation_bytes(&e, &s, "z", 1);
        ck_assert_int_eq(expectation_judge(&e, &s, 200), last == 0 ? EXPECT_MET : EXPECT_DIFF);
        ck_assert_uint_eq(s.len, EXPECT_REGEX_BYTES);
        ck_assert_uint_eq(s.cap, EXPECT_REGEX_BYTES);
        expectation_clear(&e);
    }
    expectation_seen_clear(&s);
}
END_TEST

START_TEST(test_text)
{
    char text[64];
    expectation_text(404, text, sizeof text);
    ck_assert_str_eq(text, "expectation: status 404");
    expectation_text(EXPECT_DIFF, text, sizeof text);
    ck_assert_str_eq(text, "expectation: body");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("expectation");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, test_rows, 0, N_OF(rows));
    tcase_add_test(t, test_first_bytes);
    tcase_add_test(t, test_a_hostile_body_takes_no_time);
    tcase_add_test(t, test_text);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
