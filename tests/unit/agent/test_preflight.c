/* SPDX-License-Identifier: MIT */
#include "agent/service/preflight.h"

#include <string.h>

#include "common/host.h"
#include "tests/lib/check_main.h"

static void refused(enum err e, const struct errmsg *msg, const char *const *words)
{
    ck_assert_int_eq(e, ERR_REFUSED);
    for (; *words != NULL; words++)
        ck_assert_msg(strstr(msg->text, *words) != NULL, "'%s' is not in: %s", *words, msg->text);
}

START_TEST(test_descriptors)
{
    static const char *const words[] = {"50000", "50064", "20000", "ulimit", NULL};
    struct errmsg msg = {{0}};
    ck_assert_int_eq(preflight_descriptors(19936, 20000, &msg), ERR_OK);
    ck_assert_int_eq(preflight_descriptors(19937, 20000, &msg), ERR_REFUSED);
    ck_assert_int_eq(preflight_descriptors(UINT32_MAX, 20000, &msg), ERR_REFUSED);
    refused(preflight_descriptors(50000, 20000, &msg), &msg, words);
}
END_TEST

START_TEST(test_ports)
{
    static const char *const words[] = {"28233", "28232", "ip_local_port_range", NULL};
    struct errmsg msg = {{0}};
    ck_assert_int_eq(preflight_ports(28232, 1, 28232, &msg), ERR_OK);
    ck_assert_int_eq(preflight_ports(2 * 28232, 2, 28232, &msg), ERR_OK);
    ck_assert_int_eq(preflight_ports(1, 1, 0, &msg), ERR_OK);
    refused(preflight_ports(28233, 1, 28232, &msg), &msg, words);
    refused(preflight_ports(2 * 28232 + 1, 2, 28232, &msg), &msg, words);
}
END_TEST

START_TEST(test_host_knows_its_ports)
{
    ck_assert_uint_gt(host_local_ports(), 0);
    ck_assert_uint_lt(host_local_ports(), 65536);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("preflight");
    TCase *t = tcase_create("preflight");
    tcase_add_test(t, test_descriptors);
    tcase_add_test(t, test_ports);
    tcase_add_test(t, test_host_knows_its_ports);
    suite_add_tcase(s, t);
    return check_main(s);
}
