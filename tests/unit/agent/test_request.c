/* SPDX-License-Identifier: MIT */
#include "agent/client/request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"

struct good_url {
    const char *url, *host, *port, *path;
    bool ipv6;
};

static const struct good_url good[] = {
    {"http://example.org", "example.org", "80", "/", false},
    {"http://example.org/", "example.org", "80", "/", false},
    {"HTTP://Example.ORG:8080/a/b?c=d", "Example.ORG", "8080", "/a/b?c=d", false},
    {"localhost:8080", "localhost", "8080", "/", false},
    {"localhost", "localhost", "80", "/", false},
    {"localhost:8080/x?u=http://y/", "localhost", "8080", "/x?u=http://y/", false},
    {"http://127.0.0.1:1/", "127.0.0.1", "1", "/", false},
    {"http://h:65535", "h", "65535", "/", false},
    {"http://h:/x", "h", "80", "/x", false},
    {"http://h:00080/", "h", "80", "/", false},
    {"http://h?q", "h", "80", "/?q", false},
    {"http://h#f", "h", "80", "/", false},
    {"http://h/a#f?g@h", "h", "80", "/a", false},
    {"http://h/a?b?c/d", "h", "80", "/a?b?c/d", false},
    {"http://h/a@b:c;d=e,f!g$h&i'j(k)l*m+n", "h", "80", "/a@b:c;d=e,f!g$h&i'j(k)l*m+n", false},
    {"http://h/%20%C3%a9", "h", "80", "/%20%C3%a9", false},
    {"http://h/?a[]=1", "h", "80", "/?a[]=1", false},
    {"http://[::1]", "::1", "80", "/", true},
    {"http://[::1]:8080/x", "::1", "8080", "/x", true},
    {"[2001:db8::1]:81", "2001:db8::1", "81", "/", true},
    {"http://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1", "80", "/", true},
    {"http://my_host-1.example.org./", "my_host-1.example.org.", "80", "/", false},
    {"http://h:443/", "h", "443", "/", false},
    {"https://h/x", "h", "443", "/x", false},
    {"HTTPS://h:/", "h", "443", "/", false},
    {"https://h:80/", "h", "80", "/", false},
    {"https://[::1]/", "::1", "443", "/", true},
};

START_TEST(test_good_url)
{
    const struct good_url *g = &good[_i];
    struct url_parts u;
    struct errmsg msg = {{0}};
    ck_assert_msg(url_parse(g->url, &u, &msg) == ERR_OK, "%s: %s", g->url, msg.text);
    bool tls = strncasecmp(g->url, "https:", 6) == 0;
    ck_assert_str_eq(u.scheme, tls ? "https" : "http");
    ck_assert_int_eq(u.tls, tls);
    ck_assert_int_eq(url_default_port(&u), strcmp(g->port, tls ? "443" : "80") == 0);
    ck_assert_int_eq(url_host_is_ip(&u), g->ipv6 || g->host[0] == '1');
    ck_assert_str_eq(u.host, g->host);
    ck_assert_str_eq(u.port, g->port);
    ck_assert_str_eq(u.path_query, g->path);
    ck_assert_int_eq(u.ipv6_literal, g->ipv6);
    url_clear(&u);
    url_clear(&u);
}
END_TEST

static const struct {
    const char *url, *why;
} bad[] = {
    {"", "empty"},
    {"http://", "host is empty"},
    {"http:///x", "host is empty"},
    {"http://:80/", "host is empty"},
    {"//h/", "host is empty"},
    {"/path", "host is empty"},
    {"httpss://h/", "unknown scheme"},
    {"https://", "host is empty"},
    {"https://h:0/", "from 1 to 65535"},
    {"ftp://h/", "unknown scheme"},
    {"://h", "unknown scheme"},
    {"http://h:0/", "from 1 to 65535"},
    {"http://h:65536/", "from 1 to 65535"},
    {"http://h:99999999999999999999/", "from 1 to 65535"},
    {"http://h:8o/", "'o' at position 11 is not allowed in the port"},
    {"http://h:-1/", "not allowed in the port"},
    {"http://h:80:80/", "not allowed in the port"},
    {"http://a b/", "byte 0x20 at position 9 is not allowed in the host"},
    {"http://h/a b", "byte 0x20 at position 11 is not allowed in the path"},
    {"http://h/a\r\nX: y", "byte 0x0D"},
    {"http://h/a\tb", "byte 0x09"},
    {"http://h/\x7f", "byte 0x7F"},
    {"http://h/\xc3\xa9", "byte 0xC3"},
    {"http://h/{i}", "'{' at position 10 is not allowed in the path"},
    {"http://h/?{i}", "'{' at position 11 is not allowed in the query"},
    {"http://h/a|b", "'|'"},
    {"http://h/a\\b", "'\\'"},
    {"http://h/[", "'['"},
    {"http://h/%", "two hex digits"},
    {"http://h/%2", "two hex digits"},
    {"http://h/%2g", "two hex digits"},
    {"http://h%41/", "'%' at position 9 is not allowed in the host"},
    {"http://h,i/", "','"},
    {"http://.h/", "begins with a dot"},
    {"http://10.0.0.256/", "no IPv4 address"},
    {"http://127.1/", "no IPv4 address"},
    {"http://2130706433/", "no IPv4 address"},
    {"http://[::1/", "']' is missing"},
    {"http://[]/", "host is empty"},
    {"http://[::1%25eth0]/", "zone"},
    {"http://[fe80::1%eth0]/", "zone"},
    {"http://[1.2.3.4]/", "no IPv6 address"},
    {"http://[::1]x/", "'x'"},
    {"http://::1/", "host is empty"},
};

START_TEST(test_bad_url)
{
    struct url_parts u = {.port = "kept"}, before = u;
    struct errmsg msg = {{0}};
    ck_assert_msg(url_parse(bad[_i].url, &u, &msg) == ERR_INVALID, "accepted: %s", bad[_i].url);
    ck_assert_msg(strstr(msg.text, bad[_i].why) != NULL, "%s: %s", bad[_i].url, msg.text);
    ck_assert_msg(strstr(msg.text, "accepted is http://HOST") != NULL, "%s", msg.text);
    for (const char *p = msg.text; *p != '\0'; p++)
        ck_assert(*p >= ' ' && *p < 0x7f);
    ck_assert_mem_eq(&u, &before, sizeof u);
}
END_TEST

START_TEST(test_secrets_are_not_repeated)
{
    struct url_parts u;
    struct errmsg msg = {{0}};
    ck_assert_int_eq(url_parse("http://user:hunter2@h/", &u, &msg), ERR_INVALID);
    ck_assert_ptr_null(strstr(msg.text, "hunter2"));
    ck_assert_ptr_nonnull(strstr(msg.text, "not accepted"));
}
END_TEST

START_TEST(test_long_host)
{
    char url[400];
    struct url_parts u;
    for (size_t len = 252; len < 256; len++) {
        memset(url, 'h', len);
        url[len] = '\0';
        enum err e = url_parse(url, &u, NULL);
        ck_assert_int_eq(e, len <= 253 ? ERR_OK : ERR_INVALID);
        if (e == ERR_OK)
            url_clear(&u);
    }
}
END_TEST

START_TEST(test_index_only_when_asked_for)
{
    struct url_parts u;
    setenv(URL_TEST_INDEX_ENV, "0", 1);
    ck_assert_int_eq(url_parse("http://h/{i}", &u, NULL), ERR_INVALID);
    setenv(URL_TEST_INDEX_ENV, "1", 1);
    ck_assert_int_eq(url_parse("http://h/{i}", &u, NULL), ERR_OK);
    url_clear(&u);
    ck_assert_int_eq(url_parse("http://h/{i}/{i}", &u, NULL), ERR_INVALID);
    ck_assert_int_eq(url_parse("http://h/{j}", &u, NULL), ERR_INVALID);
    ck_assert_int_eq(url_parse("http://h/{i", &u, NULL), ERR_INVALID);
    unsetenv(URL_TEST_INDEX_ENV);
}
END_TEST

/* ---- request_compile ---- */

static enum err compile(struct plan *p, const char *url, struct request *r, struct errmsg *msg)
{
    struct url_parts u;
    ck_assert_int_eq(url_parse(url, &u, msg), ERR_OK);
    enum err e = request_compile(p, &u, r, msg);
    url_clear(&u);
    return e;
}

static struct plan plan_of(const char *method, const char *body, const char *const *headers)
{
    struct plan p = {.method = mem_strdup(method)};
    if (body != NULL) {
        p.body_len = strlen(body);
        p.body = mem_dup(body, p.body_len);
    }
    for (; headers != NULL && *headers != NULL; headers++) {
        p.headers.items = mem_realloc(p.headers.items, p.headers.n + 1, sizeof(char *));
        p.headers.items[p.headers.n++] = mem_strdup(*headers);
    }
    return p;
}

static void plan_drop(struct plan *p)
{
    for (size_t i = 0; i < p->headers.n; i++)
        mem_free(p->headers.items[i]);
    mem_free(p->headers.items);
    mem_free(p->method);
    mem_free(p->body);
}

#define UA     "User-Agent: hammer/" HAMMER_VERSION "\r\n"
#define ACCEPT "Accept: */*\r\n"

struct compiled {
    const char *method, *url, *body;
    const char *headers[4];
    const char *expect;
    bool head, idempotent, close;
};

static const struct compiled compiled[] = {
    {.method = "GET",
     .url = "http://h/",
     .idempotent = true,
     .expect = "GET / HTTP/1.1\r\nHost: h\r\n" UA ACCEPT "\r\n"},
    {.method = "GET",
     .url = "h:8080/a?b#c",
     .idempotent = true,
     .expect = "GET /a?b HTTP/1.1\r\nHost: h:8080\r\n" UA ACCEPT "\r\n"},
    {.method = "HEAD",
     .url = "http://[::1]/",
     .idempotent = true,
     .head = true,
     .expect = "HEAD / HTTP/1.1\r\nHost: [::1]\r\n" UA ACCEPT "\r\n"},
    {.method = "DELETE",
     .url = "http://[::1]:81/",
     .idempotent = true,
     .expect = "DELETE / HTTP/1.1\r\nHost: [::1]:81\r\n" UA ACCEPT "\r\n"},
    {.method = "POST",
     .url = "h",
     .body = "abc",
     .expect = "POST / HTTP/1.1\r\nHost: h\r\n" UA ACCEPT "Content-Length: 3\r\n\r\nabc"},
    {.method = "POST",
     .url = "h",
     .expect = "POST / HTTP/1.1\r\nHost: h\r\n" UA ACCEPT "Content-Length: 0\r\n\r\n"},
    {.method = "GET",
     .url = "h",
     .body = "",
     .idempotent = true,
     .expect = "GET / HTTP/1.1\r\nHost: h\r\n" UA ACCEPT "Content-Length: 0\r\n\r\n"},
    {.method = "PUT",
     .url = "h",
     .body = "a\r\n\r\nb",
     .idempotent = true,
     .expect = "PUT / HTTP/1.1\r\nHost: h\r\n" UA ACCEPT "Content-Length: 6\r\n\r\na\r\n\r\nb"},
    {.method = "GET",
     .url = "https://h/",
     .idempotent = true,
     .expect = "GET / HTTP/1.1\r\nHost: h\r\n" UA ACCEPT "\r\n"},
    {.method = "GET",
     .url = "https://h:80/",
     .idempotent = true,
     .expect = "GET / HTTP/1.1\r\nHost: h:80\r\n" UA ACCEPT "\r\n"},
    {.method = "get", .url = "h", .expect = "get / HTTP/1.1\r\nHost: h\r\n" UA ACCEPT "\r\n"},
    {.method = "GET",
     .url = "h",
     .idempotent = true,
     .headers = {"host: other", "USER-AGENT:me", "Accept:  a \t"},
     .expect = "GET / HTTP/1.1\r\nhost: other\r\nUSER-AGENT: me\r\nAccept: a\r\n\r\n"},
    {.method = "GET",
     .url = "h",
     .idempotent = true,
     .headers = {"X: 1", "X: 2", "Empty:"},
     .expect = "GET / HTTP/1.1\r\nHost: h\r\n" UA ACCEPT "X: 1\r\nX: 2\r\n\r\n"},
    {.method = "GET",
     .url = "h",
     .idempotent = true,
     .headers = {"user-agent:", "Host: ", "Accept:\t"},
     .expect = "GET / HTTP/1.1\r\n\r\n"},
    {.method = "GET",
     .url = "h",
     .idempotent = true,
     .close = true,
     .headers = {"Connection: foo, Close"},
     .expect = "GET / HTTP/1.1\r\nHost: h\r\n" UA ACCEPT "Connection: foo, Close\r\n\r\n"},
    {.method = "GET",
     .url = "h",
     .idempotent = true,
     .headers = {"Connection: closer"},
     .expect = "GET / HTTP/1.1\r\nHost: h\r\n" UA ACCEPT "Connection: closer\r\n\r\n"},
    {.method = "POST",
     .url = "h",
     .body = "ab",
     .headers = {"content-length: 2"},
     .expect = "POST / HTTP/1.1\r\nHost: h\r\n" UA ACCEPT "content-length: 2\r\n\r\nab"},
};

START_TEST(test_compiled)
{
    const struct compiled *c = &compiled[_i];
    struct plan p = plan_of(c->method, c->body, c->headers);
    struct request r;
    struct errmsg msg = {{0}};
    ck_assert_msg(compile(&p, c->url, &r, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_uint_eq(r.len, strlen(c->expect));
    ck_assert_mem_eq(r.bytes, c->expect, r.len);
    ck_assert_int_eq(r.head_method, c->head);
    ck_assert_int_eq(r.idempotent, c->idempotent);
    ck_assert_int_eq(r.close_after, c->close);
    ck_assert_uint_eq(r.index_at, SIZE_MAX);
    request_clear(&r);
    request_clear(&r);
    plan_drop(&p);
}
END_TEST

static const struct {
    const char *method;
    const char *headers[3];
    const char *why;
} refused[] = {
    {"", {NULL}, "--method"},
    {"GE T", {NULL}, "--method"},
    {"GET\r\nX: y", {NULL}, "--method"},
    {"CONNECT", {NULL}, "tunnels"},
    {"GET", {"no colon"}, "Name: value"},
    {"GET", {": empty"}, "Name: value"},
    {"GET", {"a b: c"}, "Name: value"},
    {"GET", {"a : c"}, "Name: value"},
    {"GET", {"a: b\r\nc: d"}, "CR, LF"},
    {"GET", {"a: b\n"}, "CR, LF"},
    {"GET", {"a: b\x01"}, "CR, LF"},
    {"GET", {"a\r: b"}, "Name: value"},
    {"GET", {"Host: a", "host: b"}, "second Host"},
    {"POST", {"Transfer-Encoding: chunked"}, "Content-Length only, or with --chunked"},
    {"POST", {"Content-Length: 7"}, "the body has 0 bytes"},
};

START_TEST(test_refused)
{
    struct plan p = plan_of(refused[_i].method, NULL, refused[_i].headers);
    struct request r = {.len = 77};
    struct errmsg msg = {{0}};
    ck_assert_int_eq(compile(&p, "h", &r, &msg), ERR_INVALID);
    ck_assert_msg(strstr(msg.text, refused[_i].why) != NULL, "%s", msg.text);
    for (const char *c = msg.text; *c != '\0'; c++)
        ck_assert(*c >= ' ' && *c < 0x7f);
    ck_assert_uint_eq(r.len, 77);
    plan_drop(&p);
}
END_TEST

START_TEST(test_index_is_written_in_place)
{
    struct plan p = plan_of("GET", NULL, NULL);
    struct request r;
    setenv(URL_TEST_INDEX_ENV, "1", 1);
    ck_assert_int_eq(compile(&p, "h/a/{i}/b", &r, NULL), ERR_OK);
    ck_assert_uint_eq(r.index_at, strlen("GET /a/"));
    request_put_index(r.bytes + r.index_at, 1234567890123456789u);
    ck_assert_int_eq(memcmp(r.bytes, "GET /a/01234567890123456789/b HTTP/1.1\r\n", 40), 0);
    request_put_index(r.bytes + r.index_at, UINT64_MAX);
    ck_assert_int_eq(memcmp(r.bytes, "GET /a/18446744073709551615/b HTTP/1.1\r\n", 40), 0);
    request_clear(&r);
    plan_drop(&p);
    unsetenv(URL_TEST_INDEX_ENV);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("request");
    TCase *t = tcase_create("url");
    tcase_add_loop_test(t, test_good_url, 0, sizeof good / sizeof good[0]);
    tcase_add_loop_test(t, test_bad_url, 0, sizeof bad / sizeof bad[0]);
    tcase_add_test(t, test_secrets_are_not_repeated);
    tcase_add_test(t, test_long_host);
    tcase_add_test(t, test_index_only_when_asked_for);
    suite_add_tcase(s, t);
    TCase *c = tcase_create("compile");
    tcase_add_loop_test(c, test_compiled, 0, sizeof compiled / sizeof compiled[0]);
    tcase_add_loop_test(c, test_refused, 0, sizeof refused / sizeof refused[0]);
    tcase_add_test(c, test_index_is_written_in_place);
    suite_add_tcase(s, c);
    return check_main(s);
}
