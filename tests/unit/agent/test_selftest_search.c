/* SPDX-License-Identifier: MIT */
#include "agent/service/selftest_search.h"

#include "common/clock.h"
#include "tests/lib/check_main.h"

static void check_bounds(const struct selftest_search *s, uint32_t tries)
{
    ck_assert_uint_le(tries, SELFTEST_TRIES);
    if (s->rate == 0)
        return;
    ck_assert_uint_gt(s->rate, s->held);
    ck_assert_uint_le(s->rate, SELFTEST_MOST);
    if (s->missed != 0)
        ck_assert_uint_lt(s->rate, s->missed);
}

/* A host that holds exactly the rates up to `most`. */
static uint64_t find(uint64_t most)
{
    struct selftest_search s;
    uint32_t tries = 0;
    selftest_search_init(&s);
    while (s.rate != 0) {
        selftest_search_result(&s, s.rate <= most);
        check_bounds(&s, ++tries);
    }
    return s.held;
}

START_TEST(test_finds_the_highest)
{
    for (uint64_t most = SELFTEST_FIRST; most < 2 * SELFTEST_MOST; most += 1 + most / 97) {
        uint64_t found = find(most);
        ck_assert_uint_le(found, most);
        if (most < SELFTEST_MOST)
            ck_assert_msg(found * 10 >= most * 9 - 10, "%lu of %lu", (unsigned long)found,
                          (unsigned long)most);
        else
            ck_assert_uint_eq(found, SELFTEST_MOST);
    }
    ck_assert_uint_eq(find(SELFTEST_FIRST - 1), 0);
    ck_assert_uint_eq(find(0), 0);
}
END_TEST

START_TEST(test_ladder)
{
    static const uint64_t rungs[] = {1000,  2000,   5000,   10000,  20000,
                                     50000, 100000, 200000, 500000, 1000000};
    struct selftest_search s;
    selftest_search_init(&s);
    for (size_t i = 0; i < sizeof rungs / sizeof rungs[0]; i++) {
        ck_assert_uint_eq(s.rate, rungs[i]);
        selftest_search_result(&s, true);
    }
    ck_assert_uint_eq(s.rate, 0);
    ck_assert_uint_eq(s.held, SELFTEST_MOST);
    selftest_search_result(&s, false); /* nothing was asked */
    ck_assert_uint_eq(s.held, SELFTEST_MOST);
}
END_TEST

/* One bad step is somebody else's; several in a row are ours. */
START_TEST(test_fails_in_a_row)
{
    struct selftest_search s;
    selftest_search_init(&s);
    for (uint32_t i = 0; i < SELFTEST_FIRST_FAILS - 1; i++)
        selftest_search_result(&s, false);
    ck_assert_uint_eq(s.rate, SELFTEST_FIRST);
    selftest_search_result(&s, true);
    ck_assert_uint_eq(s.held, SELFTEST_FIRST);
    for (uint32_t i = 0; i < SELFTEST_FAILS; i++) {
        ck_assert_uint_eq(s.missed, 0);
        ck_assert_uint_eq(s.rate, 2000);
        selftest_search_result(&s, false);
    }
    ck_assert_uint_eq(s.missed, 2000);
    ck_assert_uint_eq(s.rate, 1500);
}
END_TEST

/* Whatever the host does, the search ends and its answer was held. */
START_TEST(test_random_host)
{
    uint64_t seed = check_seed();
    for (int round = 0; round < 2000; round++) {
        struct selftest_search s;
        uint64_t best = 0;
        uint32_t tries = 0;
        selftest_search_init(&s);
        while (s.rate != 0) {
            bool held = check_below(&seed, 3) != 0;
            if (held)
                best = s.rate;
            selftest_search_result(&s, held);
            check_bounds(&s, ++tries);
        }
        ck_assert_uint_eq(s.held, best);
    }
}
END_TEST

START_TEST(test_judge)
{
    const struct selftest_step good = {.rate = 1000,
                                       .achieved = 999,
                                       .send_p99_ns = NS_PER_MS - 1,
                                       .scheduled = 1000,
                                       .completed = 1000};
    ck_assert_int_eq(selftest_judge(&good), SELFTEST_HELD);
    struct selftest_step s = good;
    s.send_p99_ns = NS_PER_MS;
    ck_assert_int_eq(selftest_judge(&s), SELFTEST_LATE);
    s = good;
    s.waited = 10;
    ck_assert_int_eq(selftest_judge(&s), SELFTEST_BUSY);
    s = good;
    s.achieved = 979;
    ck_assert_int_eq(selftest_judge(&s), SELFTEST_SHORT);
    s = good;
    s.completed = 979;
    ck_assert_int_eq(selftest_judge(&s), SELFTEST_SHORT);
    s = (struct selftest_step){.rate = 1000}; /* nothing came of it */
    ck_assert_int_eq(selftest_judge(&s), SELFTEST_SHORT);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("agent.selftest_search");
    TCase *t = tcase_create("all");
    tcase_add_test(t, test_finds_the_highest);
    tcase_add_test(t, test_ladder);
    tcase_add_test(t, test_fails_in_a_row);
    tcase_add_test(t, test_random_host);
    tcase_add_test(t, test_judge);
    suite_add_tcase(s, t);
    return check_main(s);
}
