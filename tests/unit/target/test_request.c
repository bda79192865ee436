/* SPDX-License-Identifier: MIT */
#include "tests/target/request.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/check_main.h"

static struct httpd_request must(const char *text)
{
    struct httpd_request r;
    ck_assert_msg(httpd_request_find(text, strlen(text), &r) == HTTPD_REQUEST_HEAD, "%s", text);
    return r;
}

START_TEST(test_get)
{
    static const char text[] = "GET /a?b=1 HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n";
    struct httpd_request r = must(text);
    ck_assert_uint_eq(r.path_len, 6);
    ck_assert(memcmp(r.path, "/a?b=1", 6) == 0);
    ck_assert_uint_eq(r.head_len, (size_t)(strstr(text, "\r\n\r\n") + 4 - text));
    ck_assert(!r.is_head && !r.closes && !r.http10 && r.body_len == 0);
}
END_TEST

START_TEST(test_headers)
{
    struct httpd_request r =
        must("POST / HTTP/1.1\r\ncontent-LENGTH:  12 \r\nConnection: Close\r\n\r\n");
    ck_assert_uint_eq(r.body_len, 12);
    ck_assert(r.closes);
    ck_assert(must("HEAD / HTTP/1.1\r\n\r\n").is_head);
    r = must("GET / HTTP/1.0\r\n\r\n");
    ck_assert(r.http10 && r.closes);
    ck_assert(must("PUT / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n").expects);
}
END_TEST

/* Every proper prefix is incomplete, never bad and never read beyond its end. */
START_TEST(test_prefixes)
{
    static const char text[] = "POST /x HTTP/1.1\r\nContent-Length: 1\r\nA: b\r\n\r\n";
    for (size_t len = 0; len < sizeof text - 1; len++) {
        char *copy = malloc(len + 1);
        memcpy(copy, text, len);
        struct httpd_request r;
        ck_assert_int_eq(httpd_request_find(copy, len, &r), HTTPD_REQUEST_PARTIAL);
        free(copy);
    }
}
END_TEST

START_TEST(test_refused)
{
    static const char *const texts[] = {
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/2\r\n\r\n",
        "GET  HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1x\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
    };
    struct httpd_request r;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        ck_assert_msg(httpd_request_find(texts[i], strlen(texts[i]), &r) == HTTPD_REQUEST_BAD, "%s",
                      texts[i]);
    static char endless[HTTPD_REQUEST_HEAD_MAX];
    memset(endless, 'a', sizeof endless);
    ck_assert_int_eq(httpd_request_find(endless, sizeof endless, &r), HTTPD_REQUEST_BAD);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("target.request");
    TCase *t = tcase_create("all");
    tcase_add_test(t, test_get);
    tcase_add_test(t, test_headers);
    tcase_add_test(t, test_prefixes);
    tcase_add_test(t, test_refused);
    suite_add_tcase(s, t);
    return check_main(s);
}
