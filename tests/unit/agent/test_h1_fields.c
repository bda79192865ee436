/* SPDX-License-Identifier: MIT */
/* What a tapped response shows: fields and body, whole, however the bytes are cut. */
#include <string.h>

#include "agent/client/h1_response.h"
#include "tests/lib/check_main.h"

#define N_OF(table) (sizeof(table) / sizeof(table)[0])
#define LONG        "Long-Name-That-Is-32-Bytes-Long-"
#define SHOWN_MAX   (64u << 10)

static struct h1_fields fields;
static char shown[SHOWN_MAX], content[SHOWN_MAX];
static size_t n_shown, n_content;

static void add(char *to, size_t *n, const char *bytes, size_t len)
{
    ck_assert_uint_le(*n + len, SHOWN_MAX);
    memcpy(to + *n, bytes, len);
    *n += len;
}

/* "name|value\n" */
static void on_field(void *arg, const char *name, const char *value, size_t len)
{
    ck_assert_ptr_eq(arg, &fields);
    add(shown, &n_shown, name, strlen(name));
    add(shown, &n_shown, "|", 1);
    add(shown, &n_shown, value, len);
    add(shown, &n_shown, "\n", 1);
}

static void on_body(void *arg, const char *bytes, size_t len)
{
    ck_assert_ptr_null(arg);
    add(content, &n_content, bytes, len);
}

static const struct {
    const char *bytes, *fields, *body;
} rows[] = {
    {"HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 2\r\n\r\nhi", "Server|a\nContent-Length|2\n",
     "hi"},
    {"HTTP/1.1 302 F\r\nLocation:  /x y \t\r\nA:\r\nB: \r\nSet-Cookie: a\r\nSet-Cookie: b\r\n"
     "Content-Length: 0\r\n\r\n",
     "Location|/x y\nA|\nB|\nSet-Cookie|a\nSet-Cookie|b\nContent-Length|0\n", ""},
    {"HTTP/1.1 100 C\r\nX: no\r\n\r\nHTTP/1.1 103 E\r\nSet-Cookie: no\r\n\r\n"
     "HTTP/1.1 200 OK\r\nY: 1\r\n\r\n",
     "Y|1\n", ""},
    {"HTTP/1.1 200 OK\r\n" LONG LONG LONG LONG ": x\r\nA: a\r\n  b\r\n" LONG LONG LONG
     "Long-Name-That-Is-31-Bytes-Lon-: y\r\n\r\nto the end",
     "A|a    b\n" LONG LONG LONG "Long-Name-That-Is-31-Bytes-Lon-|y\n", "to the end"},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=\"y\"\r\nabc\r\n2\r\nde\r\n0\r\n"
     "Trailer: t\r\n\r\n",
     "Transfer-Encoding|chunked\n", "abcde"},
    {"HTTP/1.1 204 No\r\nA: b\r\n\r\n", "A|b\n", ""},
};

static void feed(const char *bytes, size_t len, size_t step)
{
    const struct h1_tap tap = {.fields = &fields, .body = on_body};
    static struct h1_known known;
    struct h1_response r;
    char copy[32768];
    fields.fn = on_field;
    fields.arg = &fields;
    n_shown = n_content = 0;
    memcpy(copy, bytes, len);
    h1_response_start(&r, false, &known); /* which must hide nothing */
    h1_response_tap(&r, &tap);
    for (size_t at = 0, used; at < len; at += step) {
        size_t n = len - at < step ? len - at : step;
        enum h1_state state = h1_response_feed(&r, copy + at, n, &used);
        ck_assert_int_ne(state, H1_BROKEN);
        ck_assert_uint_eq(used, n);
        ck_assert_uint_eq(h1_response_skippable(&r), 0);
    }
    ck_assert_int_eq(h1_response_eof(&r), H1_COMPLETE);
}

START_TEST(test_shown)
{
    size_t len = strlen(rows[_i].bytes);
    for (size_t step = 1; step <= len; step++) {
        feed(rows[_i].bytes, len, step);
        ck_assert_uint_eq(n_shown, strlen(rows[_i].fields));
        ck_assert_mem_eq(shown, rows[_i].fields, n_shown);
        ck_assert_uint_eq(n_content, strlen(rows[_i].body));
        ck_assert_mem_eq(content, rows[_i].body, n_content);
    }
    h1_fields_clear(&fields);
}
END_TEST

/* A value over the limit is left out as a whole; what follows is not. */
START_TEST(test_longest_value)
{
    static char bytes[20000];
    for (size_t over = 0; over < 2; over++) {
        size_t n = (size_t)sprintf(bytes, "HTTP/1.1 204 N\r\nA: ");
        memset(bytes + n, 'x', H1_FIELD_VALUE + over);
        n += H1_FIELD_VALUE + over;
        n += (size_t)sprintf(bytes + n, "\r\nB: b\r\n\r\n");
        for (size_t step = 1000; step <= 20000; step += 19000) {
            feed(bytes, n, step);
            ck_assert_uint_eq(n_shown, over == 1 ? 4 : 4 + 3 + H1_FIELD_VALUE);
            ck_assert_mem_eq(shown + n_shown - 4, "B|b\n", 4);
        }
    }
    h1_fields_clear(&fields);
}
END_TEST

/* Without a tap for bodies the known block is not used, but the body may be skipped. */
START_TEST(test_fields_only)
{
    static char bytes[] = "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 100000\r\n\r\n";
    const struct h1_tap tap = {.fields = &fields};
    static struct h1_known known;
    for (int i = 0; i < 3; i++) {
        struct h1_response r;
        size_t used;
        char copy[sizeof bytes];
        memcpy(copy, bytes, sizeof bytes);
        n_shown = 0;
        fields.fn = on_field;
        fields.arg = &fields;
        h1_response_start(&r, false, &known);
        if (i != 1)
            h1_response_tap(&r, &tap);
        ck_assert_int_eq(h1_response_feed(&r, copy, sizeof bytes - 1, &used), H1_MORE);
        ck_assert_uint_eq(n_shown > 0, i != 1);
        ck_assert_uint_eq(h1_response_skippable(&r), 100000);
    }
    h1_fields_clear(&fields);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("h1_fields");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, test_shown, 0, N_OF(rows));
    tcase_add_test(t, test_longest_value);
    tcase_add_test(t, test_fields_only);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
