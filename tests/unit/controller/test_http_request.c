/* SPDX-License-Identifier: MIT */
#include "controller/watch/http_request.h"

#include <netinet/in.h>
#include <string.h>

#include "controller/watch/http_serve.h"
#include "tests/lib/check_main.h"

static const struct {
    const char *text;
    int status;
} requests[] = {
    {"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9464\r\n\r\n", 200},
    {"GET /metrics?x=1 HTTP/1.1\r\nhost: localhost\r\nAccept: */*\r\n\r\n", 200},
    {"HEAD /metrics HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", 200},
    {"GET /metrics HTTP/1.0\r\n\r\n", 200},
    {"GET /metrics HTTP/1.1\r\n\r\n", 400},
    {"GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400},
    {"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403},
    {"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n", 403},
    {"GET /metrics HTTP/1.1\r\nHost: 10.0.0.1:9464\r\n\r\n", 403},
    {"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:x\r\n\r\n", 403},
    {"GET /metrics HTTP/1.1\r\nHost: [::1]x\r\n\r\n", 403},
    {"GET /metrics HTTP/1.1\r\nHost:\r\n\r\n", 403},
    {"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", 405},
    {"GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n", 400},
    {"GET /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
    {"GET /metricsx HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
    {"GET /metrics HTTP/2.0\r\nHost: localhost\r\n\r\n", 505},
    {"GET /metrics\r\n\r\n", 400},
    {"GET /metrics HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n", 400},
    {"\r\n\r\n", 400},
};

START_TEST(test_requests)
{
    struct http_request r;
    const char *text = requests[_i].text;
    size_t len = strlen(text);
    for (size_t n = 0; n < len; n++)
        ck_assert(!http_request_parse(text, n, &r));
    ck_assert(http_request_parse(text, len, &r));
    ck_assert_msg(r.status == requests[_i].status, "%d: %s", r.status, text);
    ck_assert(r.head == (strncmp(text, "HEAD", 4) == 0));
}
END_TEST

START_TEST(test_too_long)
{
    static char text[HTTP_REQUEST_MAX];
    struct http_request r;
    memset(text, 'a', sizeof text);
    ck_assert(!http_request_parse(text, sizeof text - 1, &r));
    ck_assert(http_request_parse(text, sizeof text, &r) && r.status == 431);
}
END_TEST

#define WITH(accept) "GET /metrics HTTP/1.0\r\nAccept: " accept "\r\n\r\n"

START_TEST(test_accept)
{
    struct http_request r;
    const char *plain = WITH("text/plain"), *any = WITH("*/*");
    const char *both = WITH("application/openmetrics-text;version=1.0.0,text/plain;q=0.5");
    ck_assert(http_request_parse(plain, strlen(plain), &r) && r.plain);
    ck_assert(http_request_parse(any, strlen(any), &r) && !r.plain);
    ck_assert(http_request_parse(both, strlen(both), &r) && !r.plain);
}
END_TEST

static const struct {
    const char *text;
    bool ok;
} addresses[] = {
    {"9464", true},       {"127.0.0.1:9464", true}, {"localhost:0", true},
    {"[::1]:9464", true}, {"127.9.9.9:1", true},    {"0.0.0.0:9464", false},
    {"[::]:9464", false}, {"10.0.0.1:1", false},    {"example:9464", false},
    {"", false},          {":9464", false},         {"127.0.0.1", false},
    {"65536", false},     {"127.0.0.1:-1", false},  {"9464x", false},
};

START_TEST(test_addresses)
{
    struct sockaddr_storage a;
    struct errmsg msg = {{0}};
    bool ok = http_serve_address(addresses[_i].text, &a, &msg) == ERR_OK;
    ck_assert_msg(ok == addresses[_i].ok, "%s: %s", addresses[_i].text, msg.text);
    ck_assert(ok || strstr(msg.text, "accepted is") != NULL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("http_request");
    TCase *t = tcase_create("http_request");
    tcase_add_loop_test(t, test_requests, 0, sizeof requests / sizeof requests[0]);
    tcase_add_test(t, test_too_long);
    tcase_add_test(t, test_accept);
    tcase_add_loop_test(t, test_addresses, 0, sizeof addresses / sizeof addresses[0]);
    suite_add_tcase(s, t);
    return check_main(s);
}
