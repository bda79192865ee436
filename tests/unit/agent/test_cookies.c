/* SPDX-License-Identifier: MIT */
#include "agent/client/cookies.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/check_main.h"

#define N_OF(table) (sizeof(table) / sizeof(table)[0])
#define NOW         UINT64_C(1750000000)

static struct cookie_jar jar;
static char line[COOKIES_LINE + 1];

static struct cookie_place at(const char *path)
{
    return (struct cookie_place){
        .name = "www.example.com", .path = path, .path_len = strlen(path), .now_s = NOW};
}

static void set(const char *path, const char *value)
{
    struct cookie_place from = at(path);
    cookies_set(&jar, &from, value, strlen(value));
}

static const char *sent(const char *path)
{
    struct cookie_place to = at(path);
    line[cookies_line(&jar, &to, line)] = '\0';
    return line;
}

static void setup(void)
{
    memset(&jar, 0, sizeof jar);
}

static void teardown(void)
{
    cookies_clear(&jar);
}

static const struct {
    const char *set, *sent; /* set by /a/b, sent to /a/c */
} rows[] = {
    {"x=1", "x=1"},
    {" x = 1 ; foo", "x=1"},
    {"x=", "x="},
    {"x=a=b", "x=a=b"},
    {"x=\"q\"", "x=\"q\""},
    {"x", ""},
    {"=1", ""},
    {"", ""},
    {"; Path=/", ""},
    {"x=1; Path=/", "x=1"},
    {"x=1; Path=/a", "x=1"},
    {"x=1; Path=/a/", "x=1"},
    {"x=1; Path=/a/c", "x=1"},
    {"x=1; Path=/a/c/", ""},
    {"x=1; Path=/b", ""},
    {"x=1; Path=/a/cc", ""},
    {"x=1; Path=relative", "x=1"},
    {"x=1; Path=/b; Path=/", "x=1"},
    {"x=1; Secure", ""},
    {"x=1; HttpOnly; SameSite=Strict", "x=1"},
    {"x=1; Max-Age=0", ""},
    {"x=1; Max-Age=-1", ""},
    {"x=1; max-age=10", "x=1"},
    {"x=1; Max-Age=ten", "x=1"},
    {"x=1; Max-Age=99999999999999999999", "x=1"},
    {"x=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", ""},
    {"x=1; Expires=Wed, 09-Jun-2100 10:18:14 GMT", "x=1"},
    {"x=1; Expires=never", "x=1"},
    {"x=1; Max-Age=10; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "x=1"},
    {"x=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=10", "x=1"},
    {"x=1; Domain=www.example.com", "x=1"},
    {"x=1; Domain=.example.com", "x=1"},
    {"x=1; Domain=ample.com", ""},
    {"x=1; Domain=other.com", ""},
    {"x=1; Domain=", "x=1"},
};

START_TEST(test_one)
{
    set("/a/b?q", rows[_i].set);
    ck_assert_str_eq(sent("/a/c?q=/"), rows[_i].sent);
}
END_TEST

/* The same name and path replaces, a past one removes, longer paths go first, then older ones. */
START_TEST(test_several)
{
    set("/", "a=1; Path=/");
    set("/", "b=1; Path=/x/y");
    set("/", "c=1; Path=/x");
    set("/", "d=1; Path=/x");
    ck_assert_str_eq(sent("/x/y"), "b=1; c=1; d=1; a=1");
    set("/", "c=22; Path=/x");
    ck_assert_str_eq(sent("/x/y"), "b=1; d=1; c=22; a=1");
    set("/", "b=; Path=/x/y; Max-Age=0");
    set("/", "a=; Path=/y; Max-Age=0"); /* another one */
    ck_assert_str_eq(sent("/x/y"), "d=1; c=22; a=1");
    ck_assert_str_eq(sent("/"), "a=1");
}
END_TEST

START_TEST(test_secure_hosts_and_time)
{
    struct cookie_place p = at("/");
    p.tls = true;
    cookies_set(&jar, &p, "s=1; Secure", 11);
    cookies_set(&jar, &p, "t=1; Max-Age=5", 14);
    ck_assert_str_eq(sent("/"), "t=1");
    p.now_s += 4;
    line[cookies_line(&jar, &p, line)] = '\0';
    ck_assert_str_eq(line, "s=1; t=1");
    p.now_s++;
    line[cookies_line(&jar, &p, line)] = '\0';
    ck_assert_str_eq(line, "s=1");
    p.host = 1;
    ck_assert_uint_eq(cookies_line(&jar, &p, line), 0);
}
END_TEST

/* Whatever comes, no more than the limits, and the newest are there. */
START_TEST(test_bounded)
{
    char big[COOKIES_BYTES + 10], text[64];
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof text, "n%d=%d", i, i);
        set("/", text);
        ck_assert_uint_le(jar.n, COOKIES_MAX);
    }
    ck_assert_ptr_nonnull(strstr(sent("/"), "n99=99"));
    ck_assert_ptr_null(strstr(sent("/"), "n79=79"));
    memset(big, 'x', sizeof big);
    memcpy(big, "b=", 2);
    big[COOKIES_BYTES] = '\0'; /* with its path all there may be */
    set("/", big);
    ck_assert_uint_eq(jar.n, 1);
    ck_assert_uint_eq(strlen(sent("/")), strlen(big));
    big[COOKIES_BYTES] = 'x';
    big[COOKIES_BYTES + 1] = '\0';
    set("/", "c=1");
    set("/", big);
    ck_assert_str_eq(sent("/"), "c=1");
}
END_TEST

START_TEST(test_dates)
{
    static const struct {
        const char *text;
        uint64_t s;
    } good[] = {
        {"Sun, 06 Nov 1994 08:49:37 GMT", 784111777},
        {"Sunday, 06-Nov-94 08:49:37 GMT", 784111777},
        {"Sun Nov  6 08:49:37 1994", 784111777},
        {"Tue, 29 Feb 2028 00:00:00 GMT", 1835395200},
        {"1 jan 1969 0:0:0", 0},
        {"Fri, 31 Dec 9999 23:59:59 GMT", 253402300799},
    };
    static const char *const bad[] = {"",
                                      "GMT",
                                      "06 Nov 1994",
                                      "Sun, 06 Nov 1994 24:00:00 GMT",
                                      "Sun, 32 Nov 1994 08:49:37 GMT",
                                      "08:49:37 Nov 1994",
                                      "06 Nov 1600 00:00:00"};
    uint64_t s;
    for (size_t i = 0; i < N_OF(good); i++) {
        ck_assert_msg(cookie_date(good[i].text, strlen(good[i].text), &s), "%s", good[i].text);
        ck_assert_uint_eq(s, good[i].s);
    }
    for (size_t i = 0; i < N_OF(bad); i++)
        ck_assert_msg(!cookie_date(bad[i], strlen(bad[i]), &s), "%s", bad[i]);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cookies");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, test_one, 0, N_OF(rows));
    tcase_add_test(t, test_several);
    tcase_add_test(t, test_secure_hosts_and_time);
    tcase_add_test(t, test_bounded);
    tcase_add_test(t, test_dates);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
