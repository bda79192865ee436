/* SPDX-License-Identifier: MIT */
#include "agent/client/request_edit.h"

#include <string.h>

#include "tests/lib/check_main.h"

#define N_OF(table) (sizeof(table) / sizeof(table)[0])
#define TEXT(constant)                                                                             \
    {                                                                                              \
        constant, sizeof(constant) - 1                                                             \
    }

#define POST                                                                                       \
    "POST /a HTTP/1.1\r\nHost: one\r\nAuthorization: x\r\ncookie: p=1\r\nContent-Length: 3\r\n"    \
    "Content-Type: t\r\nX: y\r\n\r\n"

static const struct {
    const char *head, *body;
    struct request_edit edit;
    const char *out;
} rows[] = {
    {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "", {0}, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"GET / HTTP/1.1\r\n\r\n",
     "",
     {.cookie = TEXT("a=1")},
     "GET / HTTP/1.1\r\nCookie: a=1\r\n\r\n"},
    {POST,
     "abc",
     {.cookie = TEXT("a=1; b=2")},
     "POST /a HTTP/1.1\r\nHost: one\r\nAuthorization: x\r\ncookie: p=1; a=1; b=2\r\n"
     "Content-Length: 3\r\nContent-Type: t\r\nX: y\r\n\r\nabc"},
    {POST,
     "abc",
     {.as_get = true, .target = TEXT("/b?c")},
     "GET /b?c HTTP/1.1\r\nHost: one\r\nAuthorization: x\r\ncookie: p=1\r\nX: y\r\n\r\n"},
    {POST,
     "abc",
     {.target = TEXT("/b"), .host = "two:8"},
     "POST /b HTTP/1.1\r\nHost: two:8\r\nContent-Length: 3\r\nContent-Type: t\r\nX: y\r\n\r\nabc"},
    {POST,
     "abc",
     {.as_get = true,
      .target = TEXT("/b"),
      .host = "two",
      .cookie = TEXT("n=1"),
      .prefix = TEXT("http://two")},
     "GET http://two/b HTTP/1.1\r\nHost: two\r\nX: y\r\nCookie: n=1\r\n\r\n"},
};

START_TEST(test_edits)
{
    char in[1024], to[1024];
    size_t head = strlen(rows[_i].head), body = strlen(rows[_i].body);
    memcpy(in, rows[_i].head, head);
    memcpy(in + head, rows[_i].body, body);
    struct request_bytes from = {in, head + body, head}, out;
    request_edit(&rows[_i].edit, &from, to, &out);
    to[out.len] = '\0';
    ck_assert_str_eq(to, rows[_i].out);
    ck_assert_ptr_eq(out.bytes, to);
    ck_assert_ptr_eq(strstr(to, "\r\n\r\n") + 4, to + out.head_len);
}
END_TEST

START_TEST(test_path)
{
    static const struct {
        const char *head, *path;
    } paths[] = {{"GET /a?b HTTP/1.1\r\n\r\n", "/a?b"},
                 {"GET http://h:1/a?b HTTP/1.1\r\n\r\n", "/a?b"},
                 {"GET http://h HTTP/1.1\r\n\r\n", ""},
                 {"OPTIONS * HTTP/1.1\r\n\r\n", "*"}};
    for (size_t i = 0; i < N_OF(paths); i++) {
        struct request_bytes r = {paths[i].head, strlen(paths[i].head), strlen(paths[i].head)};
        struct request_text t = request_path(&r);
        ck_assert_uint_eq(t.len, strlen(paths[i].path));
        ck_assert_mem_eq(t.at, paths[i].path, t.len);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("request_edit");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, test_edits, 0, N_OF(rows));
    tcase_add_test(t, test_path);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
