/* SPDX-License-Identifier: MIT */
#include "agent/client/location.h"

#include <string.h>

#include "tests/lib/check_main.h"

#define N_OF(table) (sizeof(table) / sizeof(table)[0])

static struct location got;

static bool resolve(const char *url, const char *ref)
{
    struct url_parts u;
    struct errmsg msg;
    ck_assert_int_eq(url_parse(url, &u, &msg), ERR_OK);
    bool good = location_resolve(&u, u.path_query, strlen(u.path_query), ref, strlen(ref), &got);
    url_clear(&u);
    return good;
}

/* RFC 3986 section 5.4, those that http and https may have. */
static const struct {
    const char *ref, *path;
} examples[] = {
    {"g", "/b/c/g"},
    {"./g", "/b/c/g"},
    {"g/", "/b/c/g/"},
    {"/g", "/g"},
    {"?y", "/b/c/d;p?y"},
    {"g?y", "/b/c/g?y"},
    {"#s", "/b/c/d;p?q"},
    {"g#s", "/b/c/g"},
    {"g?y#s", "/b/c/g?y"},
    {";x", "/b/c/;x"},
    {"g;x", "/b/c/g;x"},
    {"g;x?y#s", "/b/c/g;x?y"},
    {"", "/b/c/d;p?q"},
    {".", "/b/c/"},
    {"./", "/b/c/"},
    {"..", "/b/"},
    {"../", "/b/"},
    {"../g", "/b/g"},
    {"../..", "/"},
    {"../../", "/"},
    {"../../g", "/g"},
    {"../../../g", "/g"},
    {"../../../../g", "/g"},
    {"/./g", "/g"},
    {"/../g", "/g"},
    {"g.", "/b/c/g."},
    {".g", "/b/c/.g"},
    {"g..", "/b/c/g.."},
    {"..g", "/b/c/..g"},
    {"./../g", "/b/g"},
    {"./g/.", "/b/c/g/"},
    {"g/./h", "/b/c/g/h"},
    {"g/../h", "/b/c/h"},
    {"g;x=1/./y", "/b/c/g;x=1/y"},
    {"g;x=1/../y", "/b/c/y"},
    {"g?y/./x", "/b/c/g?y/./x"},
    {"g?y/../x", "/b/c/g?y/../x"},
    {"/a//b", "/a//b"},
    {"a b\xc3\xa9", "/b/c/a%20b%C3%A9"},
};

START_TEST(test_path)
{
    ck_assert(resolve("http://a/b/c/d;p?q", examples[_i].ref));
    ck_assert_str_eq(got.path, examples[_i].path);
    ck_assert_uint_eq(got.path_len, strlen(got.path));
    ck_assert_str_eq(got.host, "a");
    ck_assert_str_eq(got.port, "80");
    ck_assert(!got.tls);
}
END_TEST

static const struct {
    const char *ref, *host, *port, *path;
    bool tls;
} elsewhere[] = {
    {"http://B.example:08080/x?y", "B.example", "8080", "/x?y", false},
    {"HTTPS://b", "b", "443", "/", true},
    {"//b:81?q", "b", "81", "/?q", false},
    {"http://[::1]:9/p", "::1", "9", "/p", false},
    {"http://[::1]", "::1", "80", "/", false},
    {"https://b:/#f", "b", "443", "/", true},
    {"http://b/../c", "b", "80", "/c", false},
};

START_TEST(test_authority)
{
    ck_assert(resolve("http://a:7/b/c", elsewhere[_i].ref));
    ck_assert_str_eq(got.host, elsewhere[_i].host);
    ck_assert_str_eq(got.port, elsewhere[_i].port);
    ck_assert_str_eq(got.path, elsewhere[_i].path);
    ck_assert_int_eq(got.tls, elsewhere[_i].tls);
}
END_TEST

START_TEST(test_refused)
{
    static const char *const refs[] = {"ftp://a/",     "mailto:a@b",      "http:g",
                                       "http://",      "http://:80/",     "http://a:x/",
                                       "http://a:0/",  "http://a:65536/", "http://u:p@a/",
                                       "http://[::1/", "http://[::1]x/",  "javascript:x"};
    for (size_t i = 0; i < N_OF(refs); i++)
        ck_assert_msg(!resolve("http://a/", refs[i]), "%s", refs[i]);
}
END_TEST

START_TEST(test_longest)
{
    char ref[LOCATION_PATH_MAX + 2];
    memset(ref, 'a', sizeof ref);
    ref[0] = '/';
    ref[LOCATION_PATH_MAX] = '\0';
    ck_assert(resolve("http://a/", ref));
    ck_assert_uint_eq(got.path_len, LOCATION_PATH_MAX);
    ref[LOCATION_PATH_MAX] = 'a';
    ref[LOCATION_PATH_MAX + 1] = '\0';
    ck_assert(!resolve("http://a/", ref));
}
END_TEST

START_TEST(test_origin)
{
    struct url_parts u;
    struct errmsg msg;
    ck_assert_int_eq(url_parse("http://a.example:8080/", &u, &msg), ERR_OK);
    ck_assert(resolve("http://b/", "http://A.EXAMPLE:8080/x") && location_is_at(&got, &u));
    ck_assert(resolve("http://b/", "http://a.example/x") && !location_is_at(&got, &u));
    ck_assert(resolve("http://b/", "https://a.example:8080/x") && !location_is_at(&got, &u));
    ck_assert(resolve("http://b/", "/x") && !location_is_at(&got, &u));
    url_clear(&u);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("location");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, test_path, 0, N_OF(examples));
    tcase_add_loop_test(t, test_authority, 0, N_OF(elsewhere));
    tcase_add_test(t, test_refused);
    tcase_add_test(t, test_longest);
    tcase_add_test(t, test_origin);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
