/* SPDX-License-Identifier: MIT */
/* The exact rank test against every way to deal the figures out, one by one. */
#include "controller/compare/rank_test.h"

#include <math.h>
#include <string.h>

#include "tests/lib/check_main.h"

#define TOLERANCE 1e-12

static bool near(double a, double b)
{
    return fabs(a - b) < TOLERANCE;
}

/* Pairs that the chosen figures win against the others, ties half. */
static double wins_of(const double *all, size_t n, uint32_t chosen)
{
    double wins = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if ((chosen >> i & 1) != 0 && (chosen >> j & 1) == 0)
                wins += all[i] > all[j] ? 1 : all[i] == all[j] ? 0.5 : 0;
    return wins;
}

static struct rank_test by_enumeration(const double *all, size_t k, size_t n)
{
    double total = 0, far = 0, up = 0, down = 0, mean = (double)(k * (n - k)) / 2;
    double wins = wins_of(all, n, (1u << k) - 1);
    for (uint32_t chosen = 0; chosen < 1u << n; chosen++) {
        if ((size_t)__builtin_popcount(chosen) != k)
            continue;
        double one = wins_of(all, n, chosen);
        total++;
        up += one >= wins;
        down += one <= wins;
        far += fabs(one - mean) >= fabs(wins - mean);
    }
    return (struct rank_test){far / total, up / total, down / total, wins / (double)(k * (n - k))};
}

START_TEST(test_every_deal)
{
    uint64_t random = check_seed() + (uint64_t)_i;
    double all[10];
    size_t k = 1 + check_below(&random, 5), l = 1 + check_below(&random, 5);
    for (size_t i = 0; i < k + l; i++) /* few values: ties are common */
        all[i] = check_below(&random, 10) == 0 ? INFINITY : (double)check_below(&random, 8);
    struct rank_test got = rank_test(all, k, all + k, l), want = by_enumeration(all, k, k + l);
    ck_assert(near(got.p, want.p) && near(got.greater, want.greater));
    ck_assert(near(got.less, want.less) && near(got.a12, want.a12));
    ck_assert(got.p >= rank_test_least_p(k, l) - TOLERANCE || k != l);
}
END_TEST

START_TEST(test_known)
{
    double low[RANK_TEST_MAX], high[RANK_TEST_MAX];
    for (size_t i = 0; i < RANK_TEST_MAX; i++) {
        low[i] = (double)i;
        high[i] = 100 + (double)i;
    }
    ck_assert(near(rank_test(high, 5, low, 5).p, 2.0 / 252));
    ck_assert(near(rank_test(high, 4, low, 4).p, 2.0 / 70));
    ck_assert(near(rank_test(high, 5, low, 5).greater, 1.0 / 252));
    ck_assert(near(rank_test(high, 5, low, 5).less, 1));
    ck_assert(near(rank_test(high, 5, low, 5).a12, 1));
    ck_assert(near(rank_test_least_p(4, 4), 2.0 / 70) && near(rank_test_least_p(1, 1), 1));
    double p = rank_test(high, RANK_TEST_MAX, low, RANK_TEST_MAX).p;
    ck_assert(fabs(p / (2 / 137846528820.0) - 1) < 1e-9);
    ck_assert(near(rank_test(low, 7, low, 7).p, 1));
    ck_assert(near(rank_test(low, 7, low, 7).a12, 0.5));
}
END_TEST

/* R: wilcox.test(c(1.1,1.2,1.3,1.4,1.5), c(1,...), conf.int=TRUE): the third smallest and the third
 * largest of the 25 differences, 96.8 %. */
START_TEST(test_interval)
{
    const double a[] = {15, 11, 13, 12, 14}, b[] = {1, 2, 3, 4, 5};
    struct effect e = rank_test_effect(a, 5, b, 5, EFFECT_DIFFERENCE, 0.05);
    ck_assert(near(e.estimate, 10) && near(e.low, 7) && near(e.high, 13));
    e = rank_test_effect(a, 3, b, 3, EFFECT_DIFFERENCE, 0.05); /* 3 against 3 never suffice */
    ck_assert(near(e.estimate, 11) && isinf(e.low) && isinf(e.high));
    e = rank_test_effect(a, 4, b, 4, EFFECT_DIFFERENCE, 0.05); /* all 16, 97.1 % */
    ck_assert(near(e.low, 11 - 4) && near(e.high, 15 - 1));
    const double never[] = {INFINITY, 1, 2, 3, 4};
    ck_assert(isnan(rank_test_effect(never, 5, never, 5, EFFECT_RATIO, 0.05).estimate));
    ck_assert(isinf(rank_test_effect(never, 5, a, 5, EFFECT_RATIO, 0.05).high) ||
              rank_test_effect(never, 5, a, 5, EFFECT_RATIO, 0.05).high < 1);
}
END_TEST

/* Shifting the candidate shifts the interval; no change lies outside it where the test says so. */
START_TEST(test_shift)
{
    uint64_t random = check_seed() + (uint64_t)_i;
    double a[12], b[12], moved[12];
    size_t k = 4 + check_below(&random, 9), l = 4 + check_below(&random, 9);
    for (size_t i = 0; i < 12; i++) {
        a[i] = (double)check_below(&random, 1u << 20);
        b[i] = (double)check_below(&random, 1u << 20);
        moved[i] = a[i] + 12345;
    }
    struct effect e = rank_test_effect(a, k, b, l, EFFECT_DIFFERENCE, 0.05);
    struct effect m = rank_test_effect(moved, k, b, l, EFFECT_DIFFERENCE, 0.05);
    ck_assert(e.low <= e.estimate && e.estimate <= e.high);
    ck_assert(near(m.low, e.low + 12345) && near(m.high, e.high + 12345));
    ck_assert((rank_test(a, k, b, l).p > 0.05) == (e.low <= 0 && e.high >= 0) || e.low == 0 ||
              e.high == 0);
}
END_TEST

START_TEST(test_median)
{
    const double three[] = {9, 1, 5}, four[] = {4, INFINITY, 1, 2};
    ck_assert(near(rank_test_median(three, 3), 5) && near(rank_test_median(four, 4), 3));
    ck_assert(near(rank_test_median(three, 1), 9));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rank_test");
    TCase *t = tcase_create("rank_test");
    tcase_add_loop_test(t, test_every_deal, 0, 60);
    tcase_add_test(t, test_known);
    tcase_add_test(t, test_interval);
    tcase_add_loop_test(t, test_shift, 0, 40);
    tcase_add_test(t, test_median);
    suite_add_tcase(s, t);
    return check_main(s);
}
