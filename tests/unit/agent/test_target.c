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

static bool allowed(const struct target *t)
{
    return target_allows(t, (const struct sockaddr *)&t->addrs[0].sa);
}

/* Who forgot to set a guard still reaches no link-local or metadata address. */
START_TEST(test_without_a_guard)
{
    struct target t;
    ck_assert_int_eq(target_resolve("192.0.2.7", "80", &t, NULL), ERR_OK);
    ck_assert(allowed(&t));
    ck_assert_int_eq(target_resolve("169.254.169.254", "80", &t, NULL), ERR_OK);
    ck_assert(!allowed(&t));
    ck_assert_int_eq(target_resolve("::ffff:169.254.169.254", "80", &t, NULL), ERR_OK);
    ck_assert(!allowed(&t));
    ck_assert_int_eq(target_resolve("fe80::1", "80", &t, NULL), ERR_OK);
    ck_assert(!allowed(&t));
}
END_TEST

static bool answer(const void *arg, const struct sockaddr *sa)
{
    (void)sa;
    return *(const bool *)arg;
}

START_TEST(test_the_guard_decides)
{
    struct target t;
    bool yes = true;
    ck_assert_int_eq(target_resolve("169.254.169.254", "80", &t, NULL), ERR_OK);
    t.guard = (struct target_guard){answer, &yes};
    ck_assert(allowed(&t));
    yes = false;
    ck_assert(!allowed(&t));
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
    tcase_add_test(t, test_without_a_guard);
    tcase_add_test(t, test_the_guard_decides);
    suite_add_tcase(s, t);
    return check_main(s);
}
