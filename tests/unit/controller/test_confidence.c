/* SPDX-License-Identifier: MIT */
#include "controller/run/confidence.h"

#include <math.h>

#include "common/clock.h"
#include "controller/run/result.h"
#include "tests/lib/check_main.h"

#define PARTS 12

/* Parts of `each` samples of 1..1000 us; the first `bursts` of them have `slow` that took 1 s
 * instead. */
struct parts {
    struct hist *parts[PARTS], *whole;
};

static void parts_make(struct parts *p, uint64_t each, size_t bursts, uint64_t slow)
{
    p->whole = hist_new_default();
    for (size_t i = 0; i < PARTS; i++) {
        p->parts[i] = hist_new_default();
        uint64_t late = i < bursts ? slow : 0;
        for (uint64_t k = late; k < each; k++)
            hist_record(p->parts[i], (1 + k * 1000 / each) * NS_PER_US, 1);
        hist_record(p->parts[i], NS_PER_SEC, late);
        ck_assert_int_eq(hist_add(p->whole, p->parts[i]), ERR_OK);
    }
}

static void parts_clear(struct parts *p)
{
    for (size_t i = 0; i < PARTS; i++)
        hist_free(p->parts[i]);
    hist_free(p->whole);
}

START_TEST(same_parts_have_no_design_effect)
{
    struct parts p;
    parts_make(&p, 1000, 0, 0);
    struct confidence c = confidence_of(p.whole, p.parts, PARTS, 99);
    ck_assert_int_eq(c.method, CONFIDENCE_BLOCKS);
    ck_assert_double_eq_tol(c.deff, 1, 1e-9);
    ck_assert_double_eq_tol(c.tail_events, 120, 1);
    ck_assert(c.supported && !c.wide && c.has_hi);
    ck_assert_uint_le(c.lo, hist_value_at_percentile(p.whole, 99));
    ck_assert_uint_ge(c.hi, hist_value_at_percentile(p.whole, 99));
    ck_assert_uint_gt(c.lo, 980 * NS_PER_US);
    ck_assert_uint_lt(c.hi, 1000 * NS_PER_US);
    ck_assert_uint_eq(c.needed, 299);
    parts_clear(&p);
}
END_TEST

/* 120 slow ones spread evenly are 120 events; in one part they are one. */
START_TEST(a_burst_is_one_event)
{
    struct parts spread, burst;
    parts_make(&spread, 1000, PARTS, 11);
    parts_make(&burst, 1000, 1, 132);
    struct confidence a = confidence_of(spread.whole, spread.parts, PARTS, 98.5);
    struct confidence b = confidence_of(burst.whole, burst.parts, PARTS, 98.5);
    ck_assert_double_lt(a.deff, 1.5);
    ck_assert_double_gt(b.deff, 90);
    ck_assert_double_lt(b.tail_events, 2);
    ck_assert(a.supported && !b.supported);
    ck_assert_uint_gt(b.needed, 50 * a.needed);
    ck_assert(a.has_hi && !b.has_hi);
    ck_assert_uint_le(b.lo, a.lo);
    parts_clear(&spread);
    parts_clear(&burst);
}
END_TEST

/* The formula of docs/measuring.md by hand: two parts of 100 with 10 and 30 above. */
START_TEST(design_effect_is_the_formulas)
{
    struct hist *parts[2] = {hist_new_default(), hist_new_default()};
    hist_record(parts[0], 1000, 90);
    hist_record(parts[0], 5000, 10);
    hist_record(parts[1], 1000, 70);
    hist_record(parts[1], 5000, 30);
    double v = 2.0 * (10 * 10 + 10 * 10) / (200.0 * 200), share = 0.2;
    ck_assert_double_eq_tol(confidence_deff(parts, 2, 1000), v * 200 / (share * (1 - share)), 1e-9);
    ck_assert_double_eq(confidence_deff(parts, 1, 1000), 1);
    hist_free(parts[0]);
    hist_free(parts[1]);
}
END_TEST

/* P(x_l <= p < x_u) >= 0.95, known from tables of order statistics. */
START_TEST(few_samples_have_exact_ranks)
{
    static const struct {
        uint64_t n;
        double p;
        uint64_t lo, hi; /* ranks; 0 = none */
    } rows[] = {{10, 50, 2, 9},    {20, 50, 6, 15},   {5, 50, 0, 0},
                {100, 50, 40, 61}, {367, 99, 359, 0}, {368, 99, 360, 368}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hist *h = hist_new_default();
        for (uint64_t k = 1; k <= rows[i].n; k++)
            hist_record(h, k, 1);
        struct confidence c = confidence_of(h, NULL, 0, rows[i].p);
        ck_assert_int_eq(c.method, CONFIDENCE_INDEPENDENT);
        ck_assert_uint_eq(c.lo, rows[i].lo);
        ck_assert_uint_eq(c.has_hi, rows[i].hi > 0);
        ck_assert_uint_eq(c.hi, rows[i].hi);
        hist_free(h);
    }
}
END_TEST

START_TEST(far_percentiles_need_ten_events)
{
    ck_assert_uint_eq(result_samples_needed(99), 299);
    ck_assert_uint_eq(result_samples_needed(99.9), 10000);
    ck_assert_uint_eq(result_samples_needed(99.99), 100000);
    struct hist *h = hist_new_default();
    hist_record(h, 1000, 9999);
    struct confidence c = confidence_of(h, NULL, 0, 99.9);
    ck_assert(!c.supported && !c.wide);
    hist_record(h, 1000, 1);
    c = confidence_of(h, NULL, 0, 99.9);
    ck_assert(c.supported && c.wide);
    ck_assert_double_eq_tol(c.tail_events, 10, 0.01);
    hist_record(h, 1000, 10000);
    c = confidence_of(h, NULL, 0, 99.9);
    ck_assert(c.supported && !c.wide);
    hist_free(h);
}
END_TEST

START_TEST(nothing_says_nothing)
{
    struct hist *h = hist_new_default();
    struct confidence_run *run = confidence_new(NULL, BLOCKS_CORRECTED);
    struct confidence c = confidence_at(run, h, 99);
    ck_assert_int_eq(c.method, CONFIDENCE_NONE);
    ck_assert(!c.supported && !c.has_hi && c.lo == 0 && c.tail_events == 0);
    ck_assert_uint_eq(c.needed, 299);
    hist_record(h, 1000, 1);
    c = confidence_at(run, h, 99);
    ck_assert_int_eq(c.method, CONFIDENCE_INDEPENDENT);
    confidence_free(run);
    confidence_free(NULL);
    hist_free(h);
}
END_TEST

static struct blocks *run_of(size_t rows, uint64_t interval_ns)
{
    struct blocks *b = blocks_new();
    struct hist *h = hist_new_default();
    hist_record(h, 1000, 100);
    for (size_t i = 0; i < rows; i++) {
        struct result_interval row = {
            .from_ns = i * interval_ns, .to_ns = (i + 1) * interval_ns, .sent = 100, .slots = 1};
        struct merge_view v = {.row = &row, .corrected = h};
        blocks_add(b, &v);
    }
    hist_free(h);
    return b;
}

START_TEST(blocks_are_put_together_to_five_seconds)
{
    static const struct {
        size_t rows;
        uint64_t interval_ns;
        enum confidence_method method;
        size_t parts;
        uint64_t part_ns;
    } rows[] = {
        {60, NS_PER_SEC, CONFIDENCE_BLOCKS, 12, 5 * NS_PER_SEC},
        {64, NS_PER_SEC, CONFIDENCE_BLOCKS, 12, 5 * NS_PER_SEC},
        {600, NS_PER_SEC, CONFIDENCE_BLOCKS, 38, 8 * NS_PER_SEC},
        {30, NS_PER_SEC, CONFIDENCE_SHORT_BLOCKS, 6, 5 * NS_PER_SEC},
        {10, NS_PER_SEC, CONFIDENCE_SHORT_BLOCKS, 5, 2 * NS_PER_SEC},
        {4, NS_PER_SEC, CONFIDENCE_INDEPENDENT, 0, 0},
        {20, 10 * NS_PER_SEC, CONFIDENCE_BLOCKS, 20, 10 * NS_PER_SEC},
        {100, 100 * NS_PER_MS, CONFIDENCE_SHORT_BLOCKS, 5, 2 * NS_PER_SEC},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct blocks *b = run_of(rows[i].rows, rows[i].interval_ns);
        struct confidence_run *run = confidence_new(b, BLOCKS_CORRECTED);
        struct hist *whole = hist_new_default();
        hist_record(whole, 1000, 100 * rows[i].rows);
        ck_assert_int_eq(confidence_at(run, whole, 99).method, rows[i].method);
        ck_assert_uint_eq(confidence_parts(run), rows[i].parts);
        if (rows[i].rows != 600)
            ck_assert_uint_eq(confidence_part_ns(run), rows[i].part_ns);
        hist_free(whole);
        confidence_free(run);
        blocks_free(b);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("confidence");
    TCase *t = tcase_create("confidence");
    tcase_add_test(t, same_parts_have_no_design_effect);
    tcase_add_test(t, a_burst_is_one_event);
    tcase_add_test(t, design_effect_is_the_formulas);
    tcase_add_test(t, few_samples_have_exact_ranks);
    tcase_add_test(t, far_percentiles_need_ten_events);
    tcase_add_test(t, nothing_says_nothing);
    tcase_add_test(t, blocks_are_put_together_to_five_seconds);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
