/* SPDX-License-Identifier: MIT */
#include "agent/client/h1_trailer.h"

#include <string.h>

#include "tests/lib/check_main.h"

static const struct {
    const char *bytes;
    enum h1_trailer end;
    size_t rest;
} rows[] = {
    {"\r\n", H1_TRAILER_END, 0},
    {"\r\nHTTP", H1_TRAILER_END, 4},
    {"A: b\r\n\r\n", H1_TRAILER_END, 0},
    {"A:\r\nb-c|~:: \xc3\xa9\t \"x\"\r\n\r\nx", H1_TRAILER_END, 1},
    {"A: b\r\n c\r\n\t\r\n\r\n", H1_TRAILER_END, 0},
    {"A: b\r\n", H1_TRAILER_LINE, 0},
    {"A: b\r", H1_TRAILER_CR, 0},
    {"A", H1_TRAILER_NAME, 0},
    {"", H1_TRAILER_START, 0},
    {" A: b\r\n\r\n", H1_TRAILER_BAD, 8},
    {": b\r\n\r\n", H1_TRAILER_BAD, 6},
    {"A : b\r\n\r\n", H1_TRAILER_BAD, 7},
    {"A\r\n\r\n", H1_TRAILER_BAD, 3},
    {"(: b\r\n\r\n", H1_TRAILER_BAD, 7},
    {"A: \x01\r\n\r\n", H1_TRAILER_BAD, 4},
    {"A: \x7f\r\n\r\n", H1_TRAILER_BAD, 4},
    {"A: b\n\r\n", H1_TRAILER_BAD, 2},
    {"A: b\rc\r\n", H1_TRAILER_BAD, 2},
    {"\n", H1_TRAILER_BAD, 0},
    {"\rA", H1_TRAILER_BAD, 0},
};

START_TEST(test_row)
{
    const char *bytes = rows[_i].bytes;
    size_t len = strlen(bytes), used, sum = 0;
    ck_assert_int_eq(h1_trailer_take(H1_TRAILER_START, bytes, len, &used), rows[_i].end);
    ck_assert_uint_eq(used, len - rows[_i].rest);
    enum h1_trailer t = H1_TRAILER_START; /* byte by byte */
    for (size_t i = 0; i < len; i++) {
        t = h1_trailer_take(t, bytes + i, 1, &used);
        sum += used;
    }
    ck_assert_int_eq(t, rows[_i].end);
    ck_assert_uint_eq(sum, len - rows[_i].rest);
}
END_TEST

START_TEST(test_nul_is_no_text)
{
    size_t used;
    ck_assert_int_eq(h1_trailer_take(H1_TRAILER_VALUE, "\0", 1, &used), H1_TRAILER_BAD);
    ck_assert_int_eq(h1_trailer_take(H1_TRAILER_NAME, "\0", 1, &used), H1_TRAILER_BAD);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("h1_trailer");
    TCase *t = tcase_create("form");
    tcase_add_loop_test(t, test_row, 0, sizeof rows / sizeof rows[0]);
    tcase_add_test(t, test_nul_is_no_text);
    suite_add_tcase(s, t);
    return check_main(s);
}
