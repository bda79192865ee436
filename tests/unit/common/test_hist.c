/* SPDX-License-Identifier: MIT */
#include "common/hist.h"

#include <math.h>
#include <stdlib.h>

#include "tests/lib/check_main.h"
#include "tests/lib/golden.h"

#define COUNT_OF(a) (sizeof(a) / sizeof(a)[0])

static struct hist_geometry geometry(uint64_t lowest, uint64_t highest, uint32_t digits)
{
    struct hist_geometry g;
    ck_assert_int_eq(hist_geometry_init(&g, lowest, highest, digits), ERR_OK);
    return g;
}

/* Any magnitude below 2^bits is equally likely. */
static uint64_t random_value(uint64_t *rng, uint64_t bits)
{
    return check_random(rng) >> (64 - 1 - check_below(rng, bits));
}

static struct hist_geometry random_geometry(uint64_t *rng)
{
    static const uint64_t lowests[] = {1, 1, 2, 3, 1000, 1024, 999999};
    struct hist_geometry g;
    for (;;) {
        uint64_t lowest = lowests[check_below(rng, COUNT_OF(lowests))];
        uint64_t highest = random_value(rng, 63);
        uint32_t digits = 1 + (uint32_t)check_below(rng, 5);
        if (hist_geometry_init(&g, lowest, highest, digits) == ERR_OK)
            return g;
    }
}

static struct hist *random_hist(uint64_t *rng, const struct hist_geometry *g)
{
    struct hist *h = hist_new(g);
    for (uint64_t n = check_below(rng, 200); n > 0; n--)
        hist_record(h, random_value(rng, 44), 1 + random_value(rng, 40));
    return h;
}

static void add(struct hist *a, const struct hist *b)
{
    ck_assert_int_eq(hist_add(a, b), ERR_OK);
}

/* check writes to a pipe for each ck_assert; loops over all counters use this. */
#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg("does not hold: %s", #condition);                                         \
    } while (0)

static void check_index_row(void *arg, char *const *f, size_t n)
{
    (void)arg;
    ck_assert_uint_eq(n, 9);
    uint64_t x[9];
    for (size_t i = 0; i < n; i++)
        x[i] = strtoull(f[i], NULL, 10);
    struct hist_geometry g = geometry(x[0], x[1], (uint32_t)x[2]);
    ck_assert_uint_eq(g.counts_len, x[3]);
    uint32_t i = hist_index(&g, x[4]);
    ck_assert_uint_eq(i, x[5]);
    ck_assert_uint_eq(hist_low(&g, i), x[6]);
    ck_assert_uint_eq(hist_high(&g, i), x[7]);
    ck_assert_uint_eq(hist_median(&g, i), x[8]);
}

START_TEST(test_index_as_java)
{
    ck_assert_uint_eq(golden_each(TEST_DATA_DIR "/golden/index.tsv", check_index_row, NULL), 1652);
}
END_TEST

START_TEST(test_geometry_limits)
{
    static const struct {
        uint64_t lowest, highest;
        uint32_t digits;
        enum err want;
    } rows[] = {
        {0, 1000, 3, ERR_INVALID},
        {1, 1, 3, ERR_INVALID},
        {1, 2, 3, ERR_OK},
        {1000, 1999, 3, ERR_INVALID},
        {1000, 2000, 3, ERR_OK},
        {1, 1000, 0, ERR_INVALID},
        {1, 1000, 6, ERR_INVALID},
        {1, 1000, UINT32_MAX, ERR_INVALID},
        {1, INT64_MAX, 3, ERR_OK},
        {1, UINT64_C(1) << 63, 3, ERR_INVALID},
        {UINT64_C(1) << 63, UINT64_MAX, 3, ERR_INVALID},
        {UINT64_C(1) << 51, INT64_MAX, 3, ERR_OK}, /* 51 + 11 = 62 bits */
        {UINT64_C(1) << 52, INT64_MAX, 3, ERR_INVALID},
        {1, HIST_HIGHEST, 5, ERR_OK},
        {1, INT64_MAX, 5, ERR_TOO_BIG},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct hist_geometry g = {.digits = 77};
        enum err e = hist_geometry_init(&g, rows[i].lowest, rows[i].highest, rows[i].digits);
        ck_assert_msg(e == rows[i].want, "row %zu: %s", i, err_str(e));
        ck_assert_uint_eq(g.digits, e == ERR_OK ? rows[i].digits : 77);
    }
    struct hist_geometry g = geometry(HIST_LOWEST, HIST_HIGHEST, HIST_DIGITS);
    struct hist_geometry d = hist_geometry_default();
    ck_assert_mem_eq(&g, &d, sizeof g);
    ck_assert_uint_eq(g.counts_len, HIST_COUNTS);
}
END_TEST

START_TEST(test_buckets_tile_the_range)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 20000; round++) {
        struct hist_geometry g = random_geometry(&rng);
        uint32_t last = hist_index(&g, g.highest);
        HOLDS(last < g.counts_len);
        uint32_t i = (uint32_t)check_below(&rng, last + 1);
        uint64_t low = hist_low(&g, i), high = hist_high(&g, i);
        HOLDS(hist_index(&g, low) == i);
        HOLDS(hist_index(&g, high) == i);
        HOLDS(hist_index(&g, high + 1) == i + 1);
        HOLDS(low <= hist_median(&g, i) && hist_median(&g, i) <= high);
        double width = (double)(high - low + 1), unit = (double)(UINT64_C(1) << g.unit_magnitude);
        HOLDS(width <= unit || width <= (double)low / pow(10, g.digits));
        uint64_t v = low + check_below(&rng, high - low + 1);
        HOLDS(hist_index(&g, v) == i);
    }
}
END_TEST

/* Both ways of recording must agree on each value; edges of all powers of two are among them. */
static void record_both(struct hist_rec *r, struct hist *h, uint64_t v)
{
    hist_rec_record(r, v);
    hist_record(h, v, 1);
}

START_TEST(test_recorder_equals_direct_recording)
{
    uint64_t rng = check_seed();
    struct hist_rec *r = malloc(sizeof *r);
    ck_assert_ptr_nonnull(r);
    hist_rec_init(r);
    struct hist *want = hist_new_default(), *got = hist_new_default();
    hist_rec_add_to(r, got);
    ck_assert(hist_equal(want, got));
    for (int interval = 0; interval < 200; interval++) {
        for (uint64_t n = check_below(&rng, 200); n > 0; n--)
            record_both(r, want, random_value(&rng, interval < 100 ? 42 : 64));
        if (interval == 100) {
            for (uint32_t bit = 0; bit < 64; bit++) {
                record_both(r, want, UINT64_C(1) << bit);
                record_both(r, want, (UINT64_C(1) << bit) - 1);
            }
            record_both(r, want, HIST_HIGHEST);
            record_both(r, want, HIST_HIGHEST + 1);
            record_both(r, want, UINT64_MAX);
        }
        hist_rec_add_to(r, got);
        hist_rec_reset(r);
        ck_assert(hist_equal(want, got));
    }
    ck_assert_uint_ge(hist_saturated(got), 2);
    for (size_t i = 0; i < HIST_COUNTS; i++)
        HOLDS(r->counts[i] == 0);
    hist_free(want);
    hist_free(got);
    free(r);
}
END_TEST

START_TEST(test_adding_is_associative_and_commutative)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 100; round++) {
        struct hist_geometry g = hist_geometry_default();
        if (check_below(&rng, 2) == 0)
            g = geometry(1000, UINT64_C(60000000000), 2);
        struct hist *a = random_hist(&rng, &g), *b = random_hist(&rng, &g);
        struct hist *c = random_hist(&rng, &g), *ab_c = hist_copy(a), *c_ba = hist_copy(c);
        add(ab_c, b);
        add(ab_c, c);
        add(b, a);
        add(c_ba, b);
        ck_assert(hist_equal(ab_c, c_ba));
        ck_assert_uint_eq(hist_count(ab_c), hist_count(c) + hist_count(b));
        struct hist *all[] = {a, b, c, ab_c, c_ba};
        for (size_t i = 0; i < COUNT_OF(all); i++)
            hist_free(all[i]);
    }
}
END_TEST

START_TEST(test_adding_another_geometry_records_low_values)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 30; round++) {
        struct hist_geometry g = random_geometry(&rng), to = hist_geometry_default();
        struct hist *from = random_hist(&rng, &g), *into = random_hist(&rng, &to);
        struct hist *want = hist_copy(into);
        uint64_t clamped = 0;
        for (uint32_t i = 0; i <= hist_top_index(from); i++) {
            hist_record(want, hist_low(&g, i), hist_count_at(from, i));
            if (hist_low(&g, i) > to.highest)
                clamped += hist_count_at(from, i);
        }
        uint64_t saturated = hist_saturated(into);
        add(into, from);
        ck_assert_uint_eq(hist_count(into), hist_count(want));
        for (uint32_t i = 0; i < to.counts_len; i++)
            HOLDS(hist_count_at(into, i) == hist_count_at(want, i));
        uint64_t add_to = clamped > hist_saturated(from) ? clamped : hist_saturated(from);
        ck_assert_uint_eq(hist_saturated(into), saturated + add_to);
        ck_assert_uint_ge(hist_max(into), hist_max(from));
        hist_free(from);
        hist_free(into);
        hist_free(want);
    }
}
END_TEST

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Against the sorted samples themselves: rank, percentile, count above, exact figures. */
static void check_against_samples(uint64_t *rng, uint64_t *v, size_t n)
{
    struct hist *h = hist_new_default();
    const struct hist_geometry *g = hist_geometry_of(h);
    double sum = 0, medians = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        hist_record(h, v[i], 1);
        sum += (double)v[i];
        medians += (double)hist_median(g, hist_index(g, v[i]));
    }
    double mean = medians / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += pow((double)hist_median(g, hist_index(g, v[i])) - mean, 2);
    qsort(v, n, sizeof v[0], compare);
    for (uint64_t permille = 1; permille <= 1000; permille += permille < 20 ? 1 : 7) {
        uint64_t k = (permille * n + 999) / 1000;
        uint64_t want = hist_high(g, hist_index(g, v[k - 1]));
        HOLDS(hist_rank((double)permille / 10, n) == k);
        HOLDS(hist_value_at_rank(h, k) == want);
        HOLDS(hist_value_at_percentile(h, (double)permille / 10) == want);
    }
    uint64_t bound = v[check_below(rng, n)], above = 0;
    for (size_t i = 0; i < n; i++)
        above += hist_low(g, hist_index(g, v[i])) > bound;
    ck_assert_uint_eq(hist_count_above(h, bound), above);
    ck_assert_uint_eq(hist_count_above(h, UINT64_MAX), 0);
    uint32_t first = hist_index(g, v[check_below(rng, n)]);
    uint32_t last = first + (uint32_t)check_below(rng, 2000);
    uint64_t between = 0;
    for (size_t i = 0; i < n; i++)
        between += hist_index(g, v[i]) >= first && hist_index(g, v[i]) <= last;
    ck_assert_uint_eq(hist_count_between(h, first, last), between);
    ck_assert_uint_eq(hist_count_between(h, 0, UINT32_MAX), n);
    ck_assert_uint_eq(hist_count_between(h, first + 1, first), 0);
    ck_assert_uint_eq(hist_min(h), v[0]);
    ck_assert_uint_eq(hist_max(h), v[n - 1]);
    ck_assert_uint_eq(hist_min_bucket(h), hist_low(g, hist_index(g, v[0])));
    ck_assert_uint_eq(hist_max_bucket(h), hist_high(g, hist_index(g, v[n - 1])));
    ck_assert_uint_eq(hist_top_index(h), hist_index(g, v[n - 1]));
    ck_assert_double_eq_tol(hist_sum(h) / sum, 1, 1e-12);
    ck_assert_double_eq_tol(hist_mean_exact(h) * (double)n / sum, 1, 1e-12);
    ck_assert_double_eq_tol(hist_mean(h) / mean, 1, 1e-12);
    ck_assert_double_eq_tol(hist_stddev(h), sqrt(squares / (double)n), 1e-9 * mean);
    hist_free(h);
}

START_TEST(test_figures_against_sorted_samples)
{
    uint64_t rng = check_seed();
    uint64_t v[3000];
    for (int round = 0; round < 60; round++) {
        size_t n = 1 + check_below(&rng, round < 30 ? 30 : COUNT_OF(v));
        for (size_t i = 0; i < n; i++)
            v[i] = 1 + random_value(&rng, 41);
        check_against_samples(&rng, v, n);
    }
}
END_TEST

/* sum / count in doubles would leave min..max by an ulp for many of these. */
START_TEST(test_exact_mean_lies_between_min_and_max)
{
    uint64_t rng = check_seed();
    struct hist *h = hist_new_default();
    for (int round = 0; round < 10000; round++) {
        uint64_t v = random_value(&rng, 42);
        hist_record(h, v, 1 + random_value(&rng, 62));
        HOLDS(hist_mean_exact(h) == (double)hist_max(h));
        hist_record(h, v / 2, 1);
        HOLDS(hist_mean_exact(h) <= (double)hist_max(h));
        HOLDS(hist_mean_exact(h) >= (double)hist_min(h));
        hist_reset(h);
    }
    hist_free(h);
}
END_TEST

/* p * n / 100 in doubles lands just above the integer for many of these: one ulp less must help. */
START_TEST(test_rank_is_the_exact_rational)
{
    static const uint64_t sizes[] = {7, 30, 1000, 3000, 12345, 100000, 1000000};
    for (uint64_t centi = 1; centi <= 10000; centi++)
        for (size_t i = 0; i < COUNT_OF(sizes); i++)
            HOLDS(hist_rank((double)centi / 100, sizes[i]) == (centi * sizes[i] + 9999) / 10000);
}
END_TEST

START_TEST(test_rank_edges)
{
    ck_assert_uint_eq(hist_rank(50, 0), 0);
    ck_assert_uint_eq(hist_rank(0, 10), 1);
    ck_assert_uint_eq(hist_rank(-1, 10), 1);
    ck_assert_uint_eq(hist_rank(NAN, 10), 1);
    ck_assert_uint_eq(hist_rank(1e-300, 10), 1);
    ck_assert_uint_eq(hist_rank(10, 12), 2); /* rounded up, not to the nearest */
    ck_assert_uint_eq(hist_rank(100, 10), 10);
    ck_assert_uint_eq(hist_rank(INFINITY, 10), 10);
    ck_assert_uint_eq(hist_rank(100, HIST_TOTAL_MAX), HIST_TOTAL_MAX);
    ck_assert_uint_eq(hist_rank(100, UINT64_MAX), UINT64_MAX);
    struct hist *h = hist_new_default();
    hist_record(h, 100000, 3);
    hist_record(h, 200000, 1);
    ck_assert_uint_eq(hist_value_at_percentile(h, 0), hist_min_bucket(h));
    ck_assert_uint_eq(hist_value_at_rank(h, 0), hist_value_at_rank(h, 1));
    ck_assert_uint_eq(hist_value_at_rank(h, 99), hist_max_bucket(h));
    ck_assert_uint_eq(hist_value_at_percentile(h, 75), hist_value_at_rank(h, 3));
    ck_assert_uint_eq(hist_value_at_percentile(h, 75.1), hist_value_at_rank(h, 4));
    hist_free(h);
}
END_TEST

static void check_empty(const struct hist *h)
{
    struct hist *fresh = hist_new(hist_geometry_of(h));
    ck_assert(hist_equal(h, fresh));
    for (uint32_t i = 0; i < hist_geometry_of(h)->counts_len; i++)
        HOLDS(hist_count_at(h, i) == 0);
    ck_assert_uint_eq(hist_count(h) | hist_min(h) | hist_max(h) | hist_saturated(h), 0);
    ck_assert_uint_eq(hist_min_bucket(h) | hist_max_bucket(h) | hist_top_index(h), 0);
    ck_assert_uint_eq(hist_value_at_percentile(h, 99) | hist_value_at_rank(h, 1), 0);
    ck_assert_uint_eq(hist_count_above(h, 0), 0);
    ck_assert_double_eq(hist_sum(h) + hist_mean_exact(h) + hist_mean(h) + hist_stddev(h), 0);
    hist_free(fresh);
}

START_TEST(test_empty_reset_and_copy)
{
    uint64_t rng = check_seed();
    struct hist *h = hist_new_default();
    check_empty(h);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 30; i++)
            hist_record(h, random_value(&rng, 64), check_below(&rng, 3));
        struct hist *copy = hist_copy(h);
        ck_assert(hist_equal(h, copy));
        hist_record(copy, hist_min(copy), 1);
        ck_assert(!hist_equal(h, copy));
        hist_free(copy);
        hist_reset(h);
        check_empty(h);
    }
    hist_free(h);
    hist_free(NULL);
}
END_TEST

START_TEST(test_equal_sees_each_figure)
{
    struct hist_geometry other = geometry(1, HIST_HIGHEST, 2);
    struct hist *a = hist_new_default(), *b = hist_new(&other);
    ck_assert(!hist_equal(a, b));
    hist_free(b);
    b = hist_copy(a);
    hist_record(a, 100000, 2);
    hist_record(b, 100000, 1);
    hist_record(b, 100001, 1); /* same bucket, other sum and max */
    ck_assert(!hist_equal(a, b));
    hist_free(b);
    b = hist_copy(a);
    hist_record(a, HIST_HIGHEST, 1);
    hist_record(b, HIST_HIGHEST + 1, 1);
    ck_assert(!hist_equal(a, b)); /* only saturated differs */
    hist_free(a);
    hist_free(b);
}
END_TEST

START_TEST(test_clamps_and_stops_at_the_largest_total)
{
    struct hist *h = hist_new_default();
    hist_record(h, UINT64_MAX, 5);
    ck_assert_uint_eq(hist_saturated(h), 5);
    ck_assert_uint_eq(hist_max(h), HIST_HIGHEST);
    ck_assert_uint_eq(hist_min(h), HIST_HIGHEST);
    hist_record(h, 7, UINT64_MAX);
    ck_assert_uint_eq(hist_count(h), HIST_TOTAL_MAX);
    ck_assert_uint_eq(hist_count_at(h, 7), HIST_TOTAL_MAX - 5);
    struct hist *one = hist_new_default(), *before = hist_copy(h);
    hist_record(one, 1, 1);
    ck_assert_int_eq(hist_add(h, one), ERR_RANGE);
    ck_assert(hist_equal(h, before));
    struct hist_geometry g = geometry(1, 1000, 1);
    struct hist *small = hist_new(&g);
    hist_record(small, 1, 1);
    ck_assert_int_eq(hist_add(h, small), ERR_RANGE);
    ck_assert(hist_equal(h, before));
    hist_free(h);
    hist_free(one);
    hist_free(before);
    hist_free(small);
}
END_TEST

static enum err set_exact(struct hist *h, uint64_t min, uint64_t max, unsigned __int128 sum,
                          uint64_t saturated)
{
    return hist_set_exact(h, min, max, (uint64_t)(sum >> 64), (uint64_t)sum, saturated);
}

/* Whatever was really recorded is accepted; figures no samples could have are not. */
START_TEST(test_set_exact_checks_against_the_buckets)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 300; round++) {
        struct hist_geometry g = hist_geometry_default();
        struct hist *h = random_hist(&rng, &g);
        hist_record(h, random_value(&rng, 64), 1 + check_below(&rng, 2));
        struct hist *before = hist_copy(h);
        uint64_t hi, lo, min = hist_min(h), max = hist_max(h), sat = hist_saturated(h);
        hist_sum128(h, &hi, &lo);
        unsigned __int128 sum = (unsigned __int128)hi << 64 | lo;
        uint64_t below = hist_min_bucket(h) - 1, above = hist_max_bucket(h) + 1;
        uint64_t top = hist_count_at(h, hist_index(&g, HIST_HIGHEST));
        ck_assert_int_eq(set_exact(h, below, max, sum, sat), ERR_CORRUPT);
        ck_assert_int_eq(set_exact(h, min, above, sum, sat), ERR_CORRUPT);
        ck_assert_int_eq(set_exact(h, min, UINT64_MAX, sum, sat), ERR_CORRUPT);
        ck_assert_int_eq(set_exact(h, min, max, sum, top + 1), ERR_CORRUPT);
        ck_assert_int_eq(set_exact(h, min, max, sum * 2 + 2, sat), ERR_CORRUPT);
        ck_assert_int_eq(set_exact(h, min, max, sum / 2 - (sum == 0), sat), ERR_CORRUPT);
        ck_assert(hist_equal(h, before));
        ck_assert_int_eq(set_exact(h, min, max, sum, sat), ERR_OK);
        ck_assert(hist_equal(h, before));
        hist_free(h);
        hist_free(before);
    }
}
END_TEST

/* Three samples, at most two buckets: the bounds of the sum are the attainable ones. */
START_TEST(test_set_exact_bounds_are_tight)
{
    struct hist *h = hist_new_default();
    hist_record(h, 4096, 3); /* its bucket is 4096..4099 */
    ck_assert_int_eq(set_exact(h, 4096, 4099, 4096 + 4096 + 4099, 0), ERR_OK);
    ck_assert_int_eq(set_exact(h, 4096, 4099, 4096 + 4099 + 4099, 0), ERR_OK);
    ck_assert_int_eq(set_exact(h, 4096, 4099, 4096 + 4096 + 4099 - 1, 0), ERR_CORRUPT);
    ck_assert_int_eq(set_exact(h, 4096, 4099, 4096 + 4099 + 4099 + 1, 0), ERR_CORRUPT);
    ck_assert_int_eq(set_exact(h, 4098, 4097, 3 * 4097, 0), ERR_CORRUPT);
    ck_assert_int_eq(set_exact(h, 4097, 4097, 3 * 4097, 0), ERR_OK);
    ck_assert_uint_eq(hist_min(h), 4097);
    ck_assert_uint_eq(hist_max(h), 4097);
    ck_assert_double_eq(hist_sum(h), 3 * 4097);
    hist_record(h, 4200, 1); /* 4200..4203 */
    ck_assert_int_eq(set_exact(h, 4098, 4201, 3 * 4098 + 4201, 0), ERR_OK);
    ck_assert_int_eq(set_exact(h, 4098, 4201, 3 * 4098 + 4200, 0), ERR_CORRUPT);
    ck_assert_int_eq(set_exact(h, 4098, 4201, 4098 + 2 * 4099 + 4201, 0), ERR_OK);
    ck_assert_int_eq(set_exact(h, 4098, 4201, 3 * 4099 + 4201, 0), ERR_CORRUPT);
    hist_reset(h);
    ck_assert_int_eq(set_exact(h, 0, 0, 0, 0), ERR_OK);
    ck_assert_int_eq(set_exact(h, 0, 0, 1, 0), ERR_CORRUPT);
    ck_assert_int_eq(set_exact(h, 0, 1, 0, 0), ERR_CORRUPT);
    ck_assert_int_eq(set_exact(h, 0, 0, 0, 1), ERR_CORRUPT);
    hist_free(h);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hist");
    TCase *t = tcase_create("hist");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_index_as_java);
    tcase_add_test(t, test_geometry_limits);
    tcase_add_test(t, test_buckets_tile_the_range);
    tcase_add_test(t, test_recorder_equals_direct_recording);
    tcase_add_test(t, test_adding_is_associative_and_commutative);
    tcase_add_test(t, test_adding_another_geometry_records_low_values);
    tcase_add_test(t, test_figures_against_sorted_samples);
    tcase_add_test(t, test_exact_mean_lies_between_min_and_max);
    tcase_add_test(t, test_rank_is_the_exact_rational);
    tcase_add_test(t, test_rank_edges);
    tcase_add_test(t, test_empty_reset_and_copy);
    tcase_add_test(t, test_equal_sees_each_figure);
    tcase_add_test(t, test_clamps_and_stops_at_the_largest_total);
    tcase_add_test(t, test_set_exact_checks_against_the_buckets);
    tcase_add_test(t, test_set_exact_bounds_are_tight);
    suite_add_tcase(s, t);
    return check_main(s);
}
