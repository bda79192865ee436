/* SPDX-License-Identifier: MIT */
/* Are they a Poisson process? Anderson-Darling of the gaps against the exponential, the dispersion
 * of counts, independence of neighbours; and the same everywhere. */
#include "proto/arrivals.h"

#include <math.h>
#include <stdlib.h>

#include "tests/lib/check_main.h"

#define ONE   ((arrivals_place)1 << ARRIVALS_FRACTION)
#define EPOCH (UINT64_C(1) << 24)
#define GAPS  20000
#define SEEDS 40

static double gap_at(uint64_t seed, uint64_t i)
{
    arrivals_place before = i == 0 ? 0 : arrivals_at(seed, i - 1);
    return (double)(uint64_t)(arrivals_at(seed, i) - before) / (double)ONE;
}

/* Machines must agree: these are for ever. */
START_TEST(test_golden_values)
{
    static const struct {
        uint64_t seed, i, whole, fraction;
    } golden[] = {
#include "tests/data/golden/arrivals.inc"
    };
    for (size_t k = 0; k < sizeof golden / sizeof golden[0]; k++) {
        arrivals_place at = arrivals_at(golden[k].seed, golden[k].i);
        ck_assert_uint_eq((uint64_t)(at >> ARRIVALS_FRACTION), golden[k].whole);
        ck_assert_uint_eq((uint64_t)(at & (ONE - 1)), golden[k].fraction);
    }
}
END_TEST

static void check_inverse(uint64_t seed, uint64_t i)
{
    arrivals_place at = arrivals_at(seed, i);
    CHECK_MUST(i == 0 || arrivals_at(seed, i - 1) <= at);
    CHECK_MUST(arrivals_until(seed, at) > i);
    CHECK_MUST(at == 0 || arrivals_until(seed, at - 1) <= i);
}

START_TEST(test_counting_is_the_inverse)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 20; round++) {
        uint64_t seed = check_random(&rng),
                 from = check_random(&rng) >> (1 + check_below(&rng, 60));
        for (uint64_t i = from; i < from + 200; i++)
            check_inverse(seed, i);
        for (uint64_t e = 1; e < 4; e++) /* where an epoch ends */
            for (uint64_t i = e * EPOCH - 3; i < e * EPOCH + 3; i++)
                check_inverse(seed, i);
        ck_assert(arrivals_at(seed, EPOCH - 1) == EPOCH * ONE);
    }
}
END_TEST

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* A*^2 = A^2 (1 + 0.6/n), the mean estimated (Stephens): 5 % of samples pass 1.321, 1 % 1.959. */
static double anderson_darling(double *gaps, size_t n)
{
    double mean = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        mean += gaps[i] / (double)n;
    qsort(gaps, n, sizeof *gaps, by_size);
    for (size_t i = 0; i < n; i++) {
        double low = -expm1(-gaps[i] / mean), high = gaps[n - 1 - i] / mean;
        if (low < 1e-12)
            low = 1e-12;
        sum += (double)(2 * i + 1) * (log(low) - high);
    }
    double a2 = -(double)n - sum / (double)n;
    return a2 * (1 + 0.6 / (double)n);
}

/* Of 40 samples with an exact generator 2 are above the 5 % line on average; more than 8 are in one
 * of 5000 tries. The seeds are fixed. */
START_TEST(test_gaps_are_exponential)
{
    static double gaps[GAPS];
    int above = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        for (uint64_t i = 0; i < GAPS; i++)
            gaps[i] = gap_at(seed, seed * 1000003 + i);
        double a = anderson_darling(gaps, GAPS);
        ck_assert_msg(a < 5, "seed %lu: A*^2 %.3f", (unsigned long)seed, a);
        above += a > 1.321;
    }
    ck_assert_msg(above <= 8, "%d of %d samples above the 5 %% line", above, SEEDS);
}
END_TEST

/* Variance over mean of the counts in windows: 1, within 4 standard errors of sqrt(2 / (m - 1)). */
static void check_dispersion(uint64_t seed, uint64_t window, uint64_t windows)
{
    double sum = 0, squares = 0;
    uint64_t last = 0;
    for (uint64_t k = 1; k <= windows; k++) {
        uint64_t until = arrivals_until(seed, (arrivals_place)k * window * ONE - 1);
        double n = (double)(until - last);
        sum += n;
        squares += n * n;
        last = until;
    }
    double m = (double)windows, mean = sum / m;
    double dispersion = (squares - m * mean * mean) / (m - 1) / mean;
    double error = 4 * sqrt(2 / (m - 1));
    ck_assert_msg(fabs(dispersion - 1) < error, "window %lu: %.4f, accepted is 1 +- %.4f",
                  (unsigned long)window, dispersion, error);
    ck_assert(fabs(mean / (double)window - 1) < 5 / sqrt(m * (double)window));
}

START_TEST(test_counts_are_poisson)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        check_dispersion(seed, 1, 40000);
        check_dispersion(seed, 30, 20000);
        check_dispersion(seed, 1000, 5000);
        check_dispersion(seed, 20011, 700);
    }
}
END_TEST

/* Neighbouring gaps, also across blocks, and gaps of two seeds know nothing of each other. */
START_TEST(test_gaps_are_independent)
{
    for (uint64_t lag = 1; lag <= 33; lag += lag < 3 ? 1 : 30) {
        double sum = 0, other = 0;
        for (uint64_t i = 0; i < 40000; i++) {
            sum += (gap_at(7, i) - 1) * (gap_at(7, i + lag) - 1);
            other += (gap_at(7, i) - 1) * (gap_at(8, i + lag - 1) - 1);
        }
        ck_assert_msg(fabs(sum) < 4 * 200, "lag %lu: %.1f", (unsigned long)lag, sum / 40000);
        ck_assert_msg(fabs(other) < 4 * 200, "lag %lu: %.1f", (unsigned long)lag, other / 40000);
    }
}
END_TEST

/* --- jitter --- */

START_TEST(test_golden_jitter)
{
    static const struct {
        uint64_t seed, i, whole, fraction;
        uint32_t jitter;
    } golden[] = {
#include "tests/data/golden/jitter.inc"
    };
    for (size_t k = 0; k < sizeof golden / sizeof golden[0]; k++) {
        arrivals_place at = arrivals_jittered_at(golden[k].seed, golden[k].jitter, golden[k].i);
        ck_assert_uint_eq((uint64_t)(at >> ARRIVALS_FRACTION), golden[k].whole);
        ck_assert_uint_eq((uint64_t)(at & (ONE - 1)), golden[k].fraction);
    }
}
END_TEST

START_TEST(test_counting_jittered_is_the_inverse)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 20000; round++) {
        uint64_t seed = check_random(&rng), i = check_random(&rng) >> (2 + check_below(&rng, 60));
        uint32_t jitter = (uint32_t)check_below(&rng, 1000000001);
        arrivals_place at = arrivals_jittered_at(seed, jitter, i);
        CHECK_MUST(at >= i * ONE && at < (i + 1) * ONE);
        CHECK_MUST(arrivals_jittered_until(seed, jitter, at) == i + 1);
        CHECK_MUST(at == 0 || arrivals_jittered_until(seed, jitter, at - 1) == i);
    }
}
END_TEST

/* Equally often everywhere: chi-squared of 100 classes, 99 degrees; 157 in one of 5000 tries. */
START_TEST(test_jitter_is_uniform)
{
    for (uint64_t seed = 0; seed < 5; seed++) {
        double counts[100] = {0}, chi = 0, product = 0;
        double before = 0;
        for (uint64_t i = 0; i < 100000; i++) {
            uint64_t late = (uint64_t)(arrivals_jittered_at(seed, 1000000000, i) - i * ONE);
            double u = (double)late / (double)ONE;
            counts[(size_t)(u * 100)]++;
            product += (u - 0.5) * before;
            before = u - 0.5;
        }
        for (int k = 0; k < 100; k++)
            chi += (counts[k] - 1000) * (counts[k] - 1000) / 1000;
        ck_assert_msg(chi < 157, "seed %lu: %.1f", (unsigned long)seed, chi);
        ck_assert_msg(fabs(product) < 4 * sqrt(100000) / 12, "seed %lu: %.1f", (unsigned long)seed,
                      product);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("arrivals");
    TCase *t = tcase_create("arrivals");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_golden_values);
    tcase_add_test(t, test_counting_is_the_inverse);
    tcase_add_test(t, test_gaps_are_exponential);
    tcase_add_test(t, test_counts_are_poisson);
    tcase_add_test(t, test_gaps_are_independent);
    tcase_add_test(t, test_golden_jitter);
    tcase_add_test(t, test_counting_jittered_is_the_inverse);
    tcase_add_test(t, test_jitter_is_uniform);
    suite_add_tcase(s, t);
    return check_main(s);
}
