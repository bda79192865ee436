/* SPDX-License-Identifier: MIT */
#include "common/redact.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/check_main.h"

#define N_OF(table) (sizeof(table) / sizeof(table)[0])
#define ROUNDS      4000
#define TEXT_CAP    512
#define SECRET_CAP  40

struct example {
    const char *in, *out;
};

START_TEST(test_urls)
{
    static const struct example cases[] = {
        {"", ""},
        {"http://h/", "http://h/"},
        {"http://h:8080/a/b?x=1&y=2#z", "http://h:8080/a/b?x=1&y=2#z"},
        {"http://[::1]:8080/@me/a@b", "http://[::1]:8080/@me/a@b"},
        {"localhost:8080/@scope/pkg", "localhost:8080/@scope/pkg"},
        {"http://u:p@h/", "http://REDACTED@h/"},
        {"http://token@h/", "http://REDACTED@h/"},
        {"u:p@h/", "REDACTED@h/"},
        {"//u:p@h/", "//REDACTED@h/"},
        {"http:///u:p@h/", "http:///REDACTED@h/"},
        {"http:u:p@h/", "REDACTED@h/"},
        {"http:/u:p@h/", "REDACTED@h/"},
        {"http://u:a@b@h/", "http://REDACTED@h/"},
        {"http://u:p/q?r#s@h/", "http://REDACTED@h/"},
        {"http://u:p@1/2@h/", "http://REDACTED@h/"},
        {"http://u:p@[::1]/", "http://REDACTED@[::1]/"},
        {"http://h/?token=a&x=1", "http://h/?token=REDACTED&x=1"},
        {"http://h/?x=1&API_KEY=a?b;c=d#e", "http://h/?x=1&API_KEY=REDACTED"},
        {"http://h/?t%6fken=a&x=1", "http://h/?t%6fken=REDACTED&x=1"},
        {"http://h/?key=a", "http://h/?key=REDACTED"},
        {"http://h/?myKey=a&keyword=b&author=c&monkey=d",
         "http://h/?myKey=REDACTED&keyword=b&author=c&monkey=d"},
        {"http://h/?token=&x=1", "http://h/?token=&x=1"},
        {"http://h/?token==&x=1", "http://h/?token=REDACTED&x=1"},
        {"http://h/p;jsessionid=a", "http://h/p;jsessionid=REDACTED"},
        {"http://h/#access_token=a&x=1", "http://h/#access_token=REDACTED&x=1"},
        {"http://h/?to=http%3A%2F%2Fg%2F%3Fsecret%3Dabc", /* a URL in a URL */
         "http://h/?to=http%3A%2F%2Fg%2F%3Fsecret%3DREDACTED"},
        {"http://h/?to=http://u:p@g/", "http://h/?to=http://REDACTED@g/"},
        {"http://h:ab/?token=c@d", "http://REDACTED"}, /* both rules hide */
        {"user[id]=1&user[password]=2", "user[id]=1&user[password]=REDACTED"},
    };
    char buf[TEXT_CAP];
    for (size_t i = 0; i < N_OF(cases); i++) {
        redact_url(cases[i].in, buf, sizeof buf);
        ck_assert_str_eq(buf, cases[i].out);
    }
}
END_TEST

START_TEST(test_headers)
{
    static const struct example cases[] = {
        {"", ""},
        {"Accept: text/html;q=0.9", "Accept: text/html;q=0.9"},
        {"User-Agent: me/1 (a@b.c)", "User-Agent: me/1 (a@b.c)"},
        {"Idempotency-Key: 7", "Idempotency-Key: 7"},
        {"Authorization: Bearer a", "Authorization: REDACTED"},
        {"authorization:a", "authorization:REDACTED"},
        {"Authorization : a", "Authorization : REDACTED"},
        {"Proxy-Authorization: Basic a", "Proxy-Authorization: REDACTED"},
        {"COOKIE: a=b", "COOKIE: REDACTED"},
        {"Set-Cookie: a=b", "Set-Cookie: REDACTED"},
        {"X-Api-Key:\ta", "X-Api-Key:\tREDACTED"},
        {"X-Auth: a", "X-Auth: REDACTED"},
        {"X-Author: a", "X-Author: a"},
        {"X-Mine: bearer a", "X-Mine: REDACTED"},
        {"X-Extra: a", "X-Extra: REDACTED"},
        {"x-other: a", "x-other: REDACTED"},
        {"X-Other-2: a", "X-Other-2: a"},
        {"Referer: http://u:p@h/?token=a", "Referer: http://REDACTED@h/?token=REDACTED"},
        {"Authorization Bearer a", "REDACTED"}, /* no colon: which part is the name? */
        {"Authorization Basic a:b", "REDACTED"},
        {"Cookie:", "Cookie:"},
    };
    char buf[TEXT_CAP];
    for (size_t i = 0; i < N_OF(cases); i++) {
        redact_header(cases[i].in, "X-Extra, x-Other ,", buf, sizeof buf);
        ck_assert_str_eq(buf, cases[i].out);
    }
    ck_assert(redact_is_secret_header("cookie=", 6, NULL)); /* only `len` bytes are the name */
    ck_assert(!redact_is_secret_header("a,b", 1, "a-b"));
    ck_assert(!redact_is_secret_header("", 0, ",,"));
}
END_TEST

/* --- a secret in any known place never survives --------------------------------------------- */

/* Letters that no place's frame has: if the marker is seen, it is the secret. */
static void make_secret(uint64_t *rng, const char *punctuation, char secret[SECRET_CAP])
{
    size_t len = 4 + check_below(rng, SECRET_CAP - 6), n = strlen(punctuation);
    for (size_t i = 0; i < len; i++)
        secret[i] = check_below(rng, 4) == 0 ? punctuation[check_below(rng, n)]
                                             : (char)('0' + check_below(rng, 10));
    secret[check_below(rng, len)] = 'Q';
    secret[len] = '\0';
    if (secret[0] != 'Q')
        secret[0] = 'Z'; /* not a port's digit */
}

static bool has_marker(const char *text)
{
    return strpbrk(text, "QZ") != NULL;
}

struct place {
    const char *frame;       /* %s = the secret */
    const char *punctuation; /* what it may hold beside digits */
    bool header;
};

static const struct place places[] = {
    {"http://%s@host:8080/p@th?x=1", "!$&'()*+,;=:%._~- \"<@", false},
    {"http://user:%s@host/", "!$&'()*+,;=:/?#%@\\ \"", false},
    {"user:%s@host/path?x=1", "!$&'()*+,;=:/?#%@", false},
    {"//%s@host", "!$&=:%@", false},
    {"http://host/a?token=%s", "!$'()*+,;=:/?#%@ \"", false},
    {"http://host/a?x=1&sig=%s&y=2", "!$'()*+,;=:/?#%@ \"", false},
    {"host/a?X-Amz-Signature=%s", "!$'()*+,;=:/?#%@", false},
    {"http://host/a?p%%61ssword=%s&y=2", "!$'()*+,;=:/?#%@", false},
    {"http://host/a?to=http%%3a%%2f%%2fb%%3fclient_secret%%3d%s", "!$'()*+,;:/?#%@", false},
    {"access_token=%s", "!$'()*+,;=:/?#%@", false},
    {"Authorization: %s", "!&=:/?#%@ \t,", true},
    {"PROXY-authorization:%s", "!&=:/?#%@ \t,", true},
    {"Cookie: a=%s", "!&=:/?#%@ \t,;", true},
    {"x-api-key : %s", "!&=:/?#%@ \t,;", true},
    {"X-Mine: Bearer %s", "!&=:/?#%@ \t,;", true},
    {"x-configured: %s", "!&=:/?#%@ \t,;", true},
    {"Referer: http://u:%s@h/", "!&=:/?#%@", true},
    {"Authorization %s", "!&=/?#%@ \t,;:", true},
};

static void redact(const struct place *p, const char *text, char *buf, size_t cap)
{
    if (p->header)
        redact_header(text, "X-Configured", buf, cap);
    else
        redact_url(text, buf, cap);
}

/* In a buffer of exactly `cap` bytes, so that AddressSanitizer sees a byte outside. */
static void check_cut(const struct place *p, const char *text, const char *whole, size_t cap)
{
    char *buf = malloc(cap), *again = malloc(cap);
    redact(p, text, buf, cap);
    CHECK_MUST(strlen(buf) < cap);
    CHECK_MUST(strncmp(buf, whole, strlen(buf)) == 0);
    CHECK_MUST(strlen(buf) == (strlen(whole) < cap ? strlen(whole) : cap - 1));
    redact(p, buf, again, cap);
    if (!p->header) /* a header cut before its colon is no header any more */
        CHECK_MUST(strcmp(buf, again) == 0);
    free(again);
    free(buf);
}

START_TEST(test_no_secret_survives)
{
    uint64_t rng = check_seed();
    for (size_t round = 0; round < ROUNDS; round++) {
        const struct place *p = &places[round % N_OF(places)];
        char secret[SECRET_CAP], text[TEXT_CAP], whole[TEXT_CAP], again[TEXT_CAP];
        make_secret(&rng, p->punctuation, secret);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, sizeof text, p->frame, secret);
#pragma GCC diagnostic pop
        redact(p, text, whole, sizeof whole);
        ck_assert_msg(strstr(whole, secret) == NULL, "%s shows %s", text, whole);
        ck_assert_msg(strstr(whole, REDACTED) != NULL, "%s shows %s", text, whole);
        ck_assert_msg(!has_marker(whole), "%s shows %s", text, whole);
        redact(p, whole, again, sizeof again);
        ck_assert_str_eq(again, whole);
        check_cut(p, text, whole, 1 + check_below(&rng, strlen(whole) + 2));
    }
}
END_TEST

START_TEST(test_any_bytes)
{
    static const char alphabet[] = "://@?&=#;%3Dd&token key:80/[]\\.,\x80\x01 Zu";
    uint64_t rng = check_seed();
    for (size_t round = 0; round < ROUNDS; round++) {
        char text[TEXT_CAP], whole[2 * TEXT_CAP], again[2 * TEXT_CAP];
        size_t len = check_below(&rng, 60);
        for (size_t i = 0; i < len; i++)
            text[i] = alphabet[check_below(&rng, sizeof alphabet - 1)];
        text[len] = '\0';
        redact_url(text, whole, sizeof whole);
        redact_url(whole, again, sizeof again);
        ck_assert_str_eq(whole, again);
        check_cut(&places[0], text, whole, 1 + check_below(&rng, strlen(whole) + 2));
        redact_header(text, "token", whole, sizeof whole);
        redact_header(whole, "token", again, sizeof again);
        ck_assert_str_eq(whole, again);
    }
}
END_TEST

START_TEST(test_no_room)
{
    char buf[1] = {'x'};
    redact_url("http://u:p@h/", NULL, 0);
    redact_header("Cookie: a", NULL, NULL, 0);
    redact_header("Accept: a", NULL, NULL, 0);
    redact_url("http://h/", buf, 1);
    ck_assert_int_eq(buf[0], '\0');
    char name[1024];
    memset(name, 'a', sizeof name); /* longer than is read: taken for a secret's */
    ck_assert(redact_is_secret_header(name, sizeof name, NULL));
    ck_assert(!redact_is_secret_header(name, 100, NULL));
}
END_TEST

static Suite *redact_suite(void)
{
    Suite *s = suite_create("redact");
    TCase *t = tcase_create("redact");
    tcase_add_test(t, test_urls);
    tcase_add_test(t, test_headers);
    tcase_add_test(t, test_no_secret_survives);
    tcase_add_test(t, test_any_bytes);
    tcase_add_test(t, test_no_room);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(redact_suite());
}
