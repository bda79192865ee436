/* SPDX-License-Identifier: MIT */
#include "controller/pki/pki_name.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/check_main.h"

#define L63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
    const char *text, *want;
} good[] = {
    {"web1", "web1"},
    {"Load-1.Example.ORG", "load-1.example.org"},
    {"a", "a"},
    {"1a", "1a"},
    {"10.0.0.a", "10.0.0.a"},
    {"xn--mnchen-3ya.example", "xn--mnchen-3ya.example"},
    {L63, L63},
};

static const struct {
    const char *text, *why;
} bad[] = {
    {"", "a name is needed"},
    {"10.0.0.1", "IP addresses are not matched, only DNS names are"},
    {"10.1", "IP addresses are not matched"},
    {"12345", "IP addresses are not matched"},
    {"::1", "IP addresses are not matched"},
    {"fe80::1", "IP addresses are not matched"},
    {"[::1]", "IP addresses are not matched"},
    {"a..b", "a part between dots is empty"},
    {"a.", "a part between dots is empty"},
    {".a", "a part between dots is empty"},
    {"-a", "begins or ends with '-'"},
    {"a-.b", "begins or ends with '-'"},
    {"a_b", "only letters, digits, '-' and '.'"},
    {"*.example.org", "only letters, digits, '-' and '.'"},
    {"../ca", "a part between dots is empty"},
    {"a/b", "only letters, digits, '-' and '.'"},
    {"a,DNS:b", "only letters, digits, '-' and '.'"},
    {"a\nb", "only letters, digits, '-' and '.'"},
    {"m\xc3\xbcnchen", "only letters, digits, '-' and '.'"},
    {L63 "a", "longer than 63"},
    {L63 ".a", "longer than 63"},
};

START_TEST(test_good)
{
    char out[PKI_NAME_MAX + 1], dns[PKI_DNS_MAX + 1];
    ck_assert_int_eq(pki_name_parse("NAME", good[_i].text, out, NULL), ERR_OK);
    ck_assert_str_eq(out, good[_i].want);
    ck_assert_int_eq(pki_dns_parse("--dns", good[_i].text, dns, NULL), ERR_OK);
    ck_assert_str_eq(dns, good[_i].want);
}
END_TEST

START_TEST(test_bad)
{
    char out[PKI_NAME_MAX + 1];
    struct errmsg msg;
    ck_assert_int_eq(pki_name_parse("NAME", bad[_i].text, out, &msg), ERR_INVALID);
    ck_assert_msg(strncmp(msg.text, "NAME ", 5) == 0, "%s", msg.text);
    ck_assert_msg(strstr(msg.text, bad[_i].why) != NULL, "%s: %s", bad[_i].text, msg.text);
    ck_assert_msg(strstr(msg.text, "accepted is a DNS host name") != NULL, "%s", msg.text);
}
END_TEST

START_TEST(test_longest)
{
    char text[300], out[PKI_DNS_MAX + 1];
    snprintf(text, sizeof text, L63 "." L63 "." L63 ".%.61s", L63);
    ck_assert_uint_eq(strlen(text), PKI_DNS_MAX);
    ck_assert_int_eq(pki_dns_parse("--dns", text, out, NULL), ERR_OK);
    strcat(text, "a");
    ck_assert_int_eq(pki_dns_parse("--dns", text, out, NULL), ERR_INVALID);
}
END_TEST

/* Whatever comes in, what is accepted is a file name without surprises and no second certificate
 * extension. */
START_TEST(test_random_bytes)
{
    static const char likely[] = "abzAZ019-..,:/_* \n\x80";
    uint64_t seed = check_seed();
    for (int i = 0; i < 100000; i++) {
        char text[16], out[PKI_NAME_MAX + 1];
        size_t n = check_below(&seed, sizeof text);
        for (size_t k = 0; k < n; k++)
            text[k] = likely[check_below(&seed, sizeof likely - 1)];
        text[n] = '\0';
        if (pki_name_parse("NAME", text, out, NULL) != ERR_OK)
            continue;
        CHECK_MUST(strlen(out) == n && n > 0);
        CHECK_MUST(strspn(out, "abcdefghijklmnopqrstuvwxyz0123456789-.") == n);
        CHECK_MUST(out[0] != '.' && out[0] != '-' && out[n - 1] != '.');
        CHECK_MUST(strstr(out, "..") == NULL);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pki_name");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_loop_test(t, test_good, 0, sizeof good / sizeof good[0]);
    tcase_add_loop_test(t, test_bad, 0, sizeof bad / sizeof bad[0]);
    tcase_add_test(t, test_longest);
    tcase_add_test(t, test_random_bytes);
    return check_main(s);
}
