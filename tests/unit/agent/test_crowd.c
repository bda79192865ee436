/* SPDX-License-Identifier: MIT */
#include "agent/service/crowd.h"

#include <stdio.h>

#include "tests/lib/check_main.h"

#define N 32

static const struct {
    const char *a, *b;
    bool same;
} pairs[] = {
    {"tcp 10.0.0.1:1", "tcp 10.0.0.1:65535", true},
    {"tcp 10.0.0.1:1", "tcp 10.0.0.11:1", false},
    {"tcp 10.0.0.1:1", "tcp 10.0.0.2:1", false},
    {"tls+tcp 10.0.0.1:1", "tls+tcp 10.0.0.1:2", true},
    {"tls+tcp [2001:db8::1]:1", "tls+tcp [2001:db8::ffff:1]:2", true},
    {"tls+tcp [2001:db8:0:1::1]:1", "tls+tcp [2001:db8:0:2::1]:1", false},
    {"tls+tcp [::ffff:10.0.0.1]:1", "tls+tcp [::ffff:10.0.0.2]:1", false},
    {"tls+tcp [::ffff:10.0.0.1]:1", "tls+tcp [::ffff:10.0.0.1]:2", true},
    {"tcp [fe80::1]:1", "tcp 10.0.0.1:1", false},
    {"ipc pid 7 uid 1000", "ipc pid 8 uid 1000", true},
    {"ipc pid 7 uid 1000", "ipc pid 7 uid 1001", false},
    {"ipc peer", "ipc peer", true},
    {"peer already gone", "tcp 10.0.0.1:1", false},
    {"tcp []:1", "tcp []:2", true},
    {"tcp ]x[:1", "tcp 10.0.0.1:1", false},
};

START_TEST(test_hosts)
{
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        ck_assert_msg(crowd_same_host(pairs[i].a, pairs[i].b) == pairs[i].same, "%s, %s",
                      pairs[i].a, pairs[i].b);
        ck_assert_msg(crowd_same_host(pairs[i].b, pairs[i].a) == pairs[i].same, "%s, %s",
                      pairs[i].b, pairs[i].a);
    }
}
END_TEST

/* Whatever one host opens, the connections of hosts that have fewer stay. */
START_TEST(test_few_stay)
{
    char text[N][48];
    const char *peers[N];
    for (size_t few = 1; few < N / 2; few++) {
        for (size_t i = 0; i < N; i++) { /* the few are the oldest */
            bool mine = i >= N - few;
            snprintf(text[i], sizeof text[i], "tls+tcp 10.0.0.%d:%zu", mine ? 1 : 2, i + 1);
            peers[i] = text[i];
        }
        ck_assert_uint_eq(crowd_pick(peers, N), N - few - 1);
    }
}
END_TEST

START_TEST(test_oldest_goes)
{
    const char *const all_the_same[] = {"tcp 10.0.0.1:3", "tcp 10.0.0.1:2", "tcp 10.0.0.1:1"};
    const char *const all_different[] = {"tcp 10.0.0.3:1", "tcp 10.0.0.2:1", "tcp 10.0.0.1:1"};
    ck_assert_uint_eq(crowd_pick(all_the_same, 3), 2);
    ck_assert_uint_eq(crowd_pick(all_different, 3), 2);
    ck_assert_uint_eq(crowd_pick(all_different, 1), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("crowd");
    TCase *t = tcase_create("crowd");
    tcase_add_test(t, test_hosts);
    tcase_add_test(t, test_few_stay);
    tcase_add_test(t, test_oldest_goes);
    suite_add_tcase(s, t);
    return check_main(s);
}
