/* SPDX-License-Identifier: MIT */
#include "agent/service/policy.h"

#include <string.h>

#include "tests/lib/check_main.h"

static enum err ask(const struct policy *p, const char *host, struct errmsg *msg)
{
    struct target t;
    ck_assert_int_eq(target_resolve(host, "80", &t, msg), ERR_OK);
    return policy_check(p, &t, msg);
}

static enum err ask_with(const char *rule, const char *host)
{
    struct policy p;
    struct errmsg msg = {{0}};
    policy_loopback_only(&p);
    if (rule != NULL)
        ck_assert_msg(policy_allow(&p, rule, &msg) == ERR_OK, "%s", msg.text);
    return ask(&p, host, &msg);
}

START_TEST(test_default_is_loopback_only)
{
    static const char *const yes[] = {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"};
    static const char *const no[] = {"10.0.0.1",    "128.0.0.1",       "126.255.255.255", "::2",
                                     "2001:db8::1", "::ffff:10.0.0.1", "0.0.0.0"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        ck_assert_msg(ask_with(NULL, yes[i]) == ERR_OK, "%s", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        ck_assert_msg(ask_with(NULL, no[i]) == ERR_REFUSED, "%s", no[i]);
}
END_TEST

START_TEST(test_rules_match_prefixes)
{
    ck_assert_int_eq(ask_with("10.1.0.0/20", "10.1.15.255"), ERR_OK);
    ck_assert_int_eq(ask_with("10.1.0.0/20", "10.1.16.0"), ERR_REFUSED);
    ck_assert_int_eq(ask_with("192.0.2.7", "192.0.2.7"), ERR_OK);
    ck_assert_int_eq(ask_with("192.0.2.7", "192.0.2.6"), ERR_REFUSED);
    ck_assert_int_eq(ask_with("2001:db8::/33", "2001:db8:7fff::1"), ERR_OK);
    ck_assert_int_eq(ask_with("2001:db8::/33", "2001:db8:8000::1"), ERR_REFUSED);
    ck_assert_int_eq(ask_with("10.0.0.0/8", "::ffff:10.2.3.4"), ERR_OK);
    ck_assert_int_eq(ask_with("any", "203.0.113.9"), ERR_OK);
}
END_TEST

START_TEST(test_link_local_never)
{
    ck_assert_int_eq(ask_with("any", "169.254.169.254"), ERR_REFUSED);
    ck_assert_int_eq(ask_with("169.254.0.0/16", "169.254.1.1"), ERR_REFUSED);
    ck_assert_int_eq(ask_with("any", "fe80::1"), ERR_REFUSED);
    ck_assert_int_eq(ask_with("any", "::ffff:169.254.169.254"), ERR_REFUSED);
}
END_TEST

START_TEST(test_bad_rules_are_named)
{
    static const char *const bad[] = {"",           "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8x",
                                      "10.0.0/8",   "::1/129",     "host.name", "1.2.3.4/-1",
                                      "10.0.0.0/ 8"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct policy p;
        struct errmsg msg = {{0}};
        policy_loopback_only(&p);
        ck_assert_msg(policy_allow(&p, bad[i], &msg) == ERR_INVALID, "%s", bad[i]);
        ck_assert_ptr_nonnull(strstr(msg.text, "accepted is"));
    }
}
END_TEST

START_TEST(test_refusal_names_address_and_way_out)
{
    struct policy p;
    struct errmsg msg = {{0}};
    policy_loopback_only(&p);
    ck_assert_int_eq(ask(&p, "192.0.2.1", &msg), ERR_REFUSED);
    ck_assert_ptr_nonnull(strstr(msg.text, "192.0.2.1"));
    ck_assert_ptr_nonnull(strstr(msg.text, "--allow-target"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("policy");
    TCase *t = tcase_create("policy");
    tcase_add_test(t, test_default_is_loopback_only);
    tcase_add_test(t, test_rules_match_prefixes);
    tcase_add_test(t, test_link_local_never);
    tcase_add_test(t, test_bad_rules_are_named);
    tcase_add_test(t, test_refusal_names_address_and_way_out);
    suite_add_tcase(s, t);
    return check_main(s);
}
