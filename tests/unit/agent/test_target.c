/* SPDX-License-Identifier: MIT */
#include "agent/client/target.h"

#include <netinet/in.h>
#include <string.h>

#include "tests/lib/check_main.h"

START_TEST(test_literals)
{
    struct target t;
    struct errmsg msg = {{0}};
    ck_assert_int_eq(target_resolve("127.0.0.1", "8080", &t, &msg), ERR_OK);
    ck_assert_uint_eq(t.n, 1);
    ck_assert_str_eq(t.text, "127.0.0.1:8080");
    ck_assert_int_eq(t.addrs[0].sa.ss_family, AF_INET);
    ck_assert_int_eq(target_resolve("::1", "80", &t, &msg), ERR_OK);
    ck_assert_uint_eq(t.n, 1);
    ck_assert_str_eq(t.text, "[::1]:80");
    const struct sockaddr_in6 *sa = (const struct sockaddr_in6 *)&t.addrs[0].sa;
    ck_assert_int_eq(ntohs(sa->sin6_port), 80);
}
END_TEST

START_TEST(test_localhost_without_duplicates)
{
    struct target t;
    ck_assert_int_eq(target_resolve("localhost", "1", &t, NULL), ERR_OK);
    ck_assert_uint_ge(t.n, 1);
    for (size_t i = 0; i < t.n; i++)
        for (size_t k = 0; k < i; k++)
            ck_assert(t.addrs[i].len != t.addrs[k].len ||
                      memcmp(&t.addrs[i].sa, &t.addrs[k].sa, t.addrs[i].len) != 0);
}
END_TEST

START_TEST(test_unknown_host_is_named)
{
    struct target t;
    struct errmsg msg = {{0}};
    ck_assert_int_eq(target_resolve("no.such.name.invalid", "80", &t, &msg), ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(msg.text, "cannot resolve no.such.name.invalid: "));
    ck_assert_int_eq(target_resolve("h h", "80", &t, &msg), ERR_NOT_FOUND);
}
END_TEST

static const struct {
    const char *host;
    enum err expect;
} checked[] = {
    {"127.0.0.1", ERR_OK},
    {"10.0.0.1", ERR_OK},
    {"::1", ERR_OK},
    {"2001:db8::1", ERR_OK},
    {"169.253.255.255", ERR_OK},
    {"169.255.0.0", ERR_OK},
    {"169.254.0.0", ERR_REFUSED},
    {"169.254.169.254", ERR_REFUSED},
    {"fe80::1", ERR_REFUSED},
    {"febf::1", ERR_REFUSED},
    {"fec0::1", ERR_OK},
    {"::ffff:169.254.169.254", ERR_REFUSED},
    {"::ffff:10.0.0.1", ERR_OK},
    {"fd00:ec2::254", ERR_REFUSED},
    {"fd00:ec2::253", ERR_OK},
};

START_TEST(test_checked)
{
    struct target t;
    struct errmsg msg = {{0}};
    ck_assert_int_eq(target_resolve(checked[_i].host, "80", &t, &msg), ERR_OK);
    ck_assert_msg(target_check(&t, &msg) == checked[_i].expect, "%s", checked[_i].host);
    if (checked[_i].expect != ERR_OK)
        ck_assert_msg(strstr(msg.text, t.text) != NULL, "%s does not name %s", msg.text, t.text);
}
END_TEST

/* One bad address among many is enough. */
START_TEST(test_every_address_is_checked)
{
    struct target t, bad;
    ck_assert_int_eq(target_resolve("127.0.0.1", "80", &t, NULL), ERR_OK);
    ck_assert_int_eq(target_resolve("169.254.169.254", "80", &bad, NULL), ERR_OK);
    t.addrs[t.n++] = bad.addrs[0];
    ck_assert_int_eq(target_check(&t, NULL), ERR_REFUSED);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("target");
    TCase *t = tcase_create("target");
    tcase_set_timeout(t, 60); /* the resolver */
    tcase_add_test(t, test_literals);
    tcase_add_test(t, test_localhost_without_duplicates);
    tcase_add_test(t, test_unknown_host_is_named);
    tcase_add_loop_test(t, test_checked, 0, sizeof checked / sizeof checked[0]);
    tcase_add_test(t, test_every_address_is_checked);
    suite_add_tcase(s, t);
    return check_main(s);
}
