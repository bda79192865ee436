/* SPDX-License-Identifier: MIT */
#include "proto/preflight.h"

#include <string.h>

#include "common/clock.h"
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

static bool closes(const char *header)
{
    struct plan p = {0};
    option_list_add(&p.headers, "Accept: close");
    option_list_add(&p.headers, header);
    bool yes = preflight_per_connection(&p) == 1;
    option_list_clear(&p.headers);
    return yes;
}

START_TEST(test_who_closes)
{
    ck_assert(closes("Connection: close"));
    ck_assert(closes("connection:CLOSE"));
    ck_assert(closes("Connection: keep-alive,\tClose ,x"));
    ck_assert(!closes("Connection: keep-alive"));
    ck_assert(!closes("Connection: closed"));
    ck_assert(!closes("Connection:"));
    ck_assert(!closes("Proxy-Connection: close"));
}
END_TEST

/* 60 s times the part's rate, and no more than the run is long. */
START_TEST(test_fresh_ports)
{
    static const char *const words[] = {"30001", "60 s", "28232", "TIME_WAIT", "keep", NULL};
    struct errmsg msg = {{0}};
    struct plan p = {.rate = {1000, 1}, .duration_ns = 600 * NS_PER_SEC, .requests = UINT64_MAX};
    struct plan_part half = {.total = 2, .first = 0, .weight = 1};
    ck_assert_int_eq(preflight_fresh_ports(&p, &half, 1, false, 28232, &msg), ERR_OK);
    option_list_add(&p.headers, "Connection: close");
    refused(preflight_fresh_ports(&p, &half, 1, false, 28232, &msg), &msg, words);
    ck_assert_int_eq(preflight_fresh_ports(&p, &half, 2, false, 28232, &msg), ERR_OK);
    ck_assert_int_eq(preflight_fresh_ports(&p, &half, 1, false, 30001, &msg), ERR_OK);
    ck_assert_int_eq(preflight_fresh_ports(&p, &half, 1, false, 30000, &msg), ERR_REFUSED);
    ck_assert_int_eq(preflight_fresh_ports(&p, &half, 1, true, 28232, &msg), ERR_OK);
    ck_assert_int_eq(preflight_fresh_ports(&p, &half, 1, false, 0, &msg), ERR_OK);
    p.duration_ns = 10 * NS_PER_SEC;
    ck_assert_int_eq(preflight_fresh_ports(&p, &half, 1, false, 5001, &msg), ERR_OK);
    ck_assert_int_eq(preflight_fresh_ports(&p, &half, 1, false, 5000, &msg), ERR_REFUSED);
    p.requests = 200;
    ck_assert_int_eq(preflight_fresh_ports(&p, &half, 1, false, 100, &msg), ERR_OK);
    ck_assert_int_eq(preflight_fresh_ports(&p, &half, 1, false, 99, &msg), ERR_REFUSED);
    p.requests = UINT64_MAX;
    p.rate = (struct rate){RATE_MAX, 1};
    ck_assert_int_eq(preflight_fresh_ports(&p, &half, 1, false, 65535, &msg), ERR_REFUSED);
    p.rate.num = 0; /* a closed loop asks for nothing that could be foreseen */
    ck_assert_int_eq(preflight_fresh_ports(&p, &half, 1, false, 1, &msg), ERR_OK);
    option_list_clear(&p.headers);
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
    tcase_add_test(t, test_who_closes);
    tcase_add_test(t, test_fresh_ports);
    tcase_add_test(t, test_host_knows_its_ports);
    suite_add_tcase(s, t);
    return check_main(s);
}
