/* SPDX-License-Identifier: MIT */
/* The figures of drawn blocks against those of added histograms, and what intervals must be like.
 */
#include "controller/compare/bootstrap.h"

#include <math.h>

#include "tests/lib/check_main.h"

#define BLOCKS 12

struct run {
    struct bootstrap_block blocks[BLOCKS];
    struct hist *hists[BLOCKS];
};

static void run_make(struct run *r, uint64_t *random, size_t samples, uint64_t scale)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        r->hists[i] = hist_new_default();
        for (size_t j = 0; j < samples; j++)
            hist_record(r->hists[i], scale * (1000 + check_below(random, 1000)), 1);
        r->blocks[i] = (struct bootstrap_block){.latencies = r->hists[i],
                                                .errors = check_below(random, 4),
                                                .ended = samples,
                                                .completed = samples,
                                                .length_ns = 1000000000};
    }
}

static void run_clear(struct run *r)
{
    for (size_t i = 0; i < BLOCKS; i++)
        hist_free(r->hists[i]);
}

static struct bootstrap_answer ask(const struct run *c, const struct run *b, size_t n,
                                   const struct bootstrap_question *q)
{
    struct bootstrap *candidate = bootstrap_new(c->blocks, n);
    struct bootstrap *baseline = bootstrap_new(b->blocks, n);
    struct bootstrap_answer a = bootstrap_ask(candidate, baseline, q);
    bootstrap_free(candidate);
    bootstrap_free(baseline);
    return a;
}

static const double percentiles[] = {1, 50, 90, 99, 99.9, 100};

/* The estimate is the ratio of the percentiles of all blocks added. */
START_TEST(test_estimate)
{
    struct run c, b;
    uint64_t random = check_seed() + (uint64_t)_i;
    double p = percentiles[_i];
    run_make(&c, &random, 50, 3);
    run_make(&b, &random, 80, 2);
    struct hist *all_c = hist_new_default(), *all_b = hist_new_default();
    for (size_t i = 0; i < BLOCKS; i++) {
        ck_assert_int_eq(hist_add(all_c, c.hists[i]), ERR_OK);
        ck_assert_int_eq(hist_add(all_b, b.hists[i]), ERR_OK);
    }
    uint64_t vc = hist_value_at_percentile(all_c, p), vb = hist_value_at_percentile(all_b, p);
    vc = vc < hist_max(all_c) ? vc : hist_max(all_c);
    vb = vb < hist_max(all_b) ? vb : hist_max(all_b);
    struct bootstrap_answer a =
        ask(&c, &b, BLOCKS,
            &(struct bootstrap_question){BOOTSTRAP_PERCENTILE, p, EFFECT_RATIO, 0.05, 1.1, 7});
    ck_assert(fabs(a.effect.estimate - (double)vc / (double)vb) < 1e-9);
    ck_assert(a.effect.low <= a.effect.high && a.effect.low > 1.1 && a.above < 0.01);
    ck_assert(a.below > 0.99);
    hist_free(all_c);
    hist_free(all_b);
    run_clear(&c);
    run_clear(&b);
}
END_TEST

/* The same run twice: no change lies within; the same seed gives the same answer. */
START_TEST(test_same)
{
    static const enum bootstrap_figure figures[] = {BOOTSTRAP_PERCENTILE, BOOTSTRAP_MEAN,
                                                    BOOTSTRAP_ERRORS, BOOTSTRAP_RATE};
    struct run r;
    uint64_t random = check_seed();
    run_make(&r, &random, 60, 1);
    for (size_t i = 0; i < 4; i++) {
        struct bootstrap_question q = {figures[i], 90, EFFECT_DIFFERENCE, 0.05, 0, 42};
        struct bootstrap_answer a = ask(&r, &r, BLOCKS, &q), again = ask(&r, &r, BLOCKS, &q);
        ck_assert(a.effect.estimate == 0 && a.effect.low <= 0 && a.effect.high >= 0);
        ck_assert(a.effect.low == again.effect.low && a.effect.high == again.effect.high);
        ck_assert(a.above > 0.05 && a.below > 0.05);
    }
    run_clear(&r);
}
END_TEST

/* Requests without a response are later than everything; where both sides' rank falls on one
 * nothing can be said. */
START_TEST(test_unanswered)
{
    struct run c, b;
    uint64_t random = check_seed();
    struct bootstrap_question q = {BOOTSTRAP_PERCENTILE, 50, EFFECT_RATIO, 0.05, 1.1, 1};
    run_make(&c, &random, 20, 1);
    run_make(&b, &random, 20, 1);
    for (size_t i = 0; i < BLOCKS; i++)
        c.blocks[i].unanswered = 21;
    struct bootstrap_answer a = ask(&c, &b, BLOCKS, &q);
    ck_assert(isinf(a.effect.estimate) && isinf(a.effect.low) && a.above < 0.01);
    for (size_t i = 0; i < BLOCKS; i++)
        b.blocks[i].unanswered = 21;
    a = ask(&c, &b, BLOCKS, &q);
    ck_assert(isnan(a.effect.estimate) && isinf(a.effect.high) && a.above == 1);
    run_clear(&c);
    run_clear(&b);
}
END_TEST

START_TEST(test_too_few)
{
    struct run c, b;
    uint64_t random = check_seed();
    struct bootstrap_question q = {BOOTSTRAP_PERCENTILE, 50, EFFECT_RATIO, 0.05, 1.1, 1};
    run_make(&c, &random, 20, 5);
    run_make(&b, &random, 20, 1);
    struct bootstrap_answer a = ask(&c, &b, BOOTSTRAP_BLOCKS_MIN - 1, &q);
    ck_assert(a.effect.estimate > 4 && a.effect.low == 0 && isinf(a.effect.high) && a.above == 1);
    a = ask(&c, &b, 0, &q);
    ck_assert(isnan(a.effect.estimate));
    run_clear(&c);
    run_clear(&b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("bootstrap");
    TCase *t = tcase_create("bootstrap");
    tcase_add_loop_test(t, test_estimate, 0, (int)(sizeof percentiles / sizeof *percentiles));
    tcase_add_test(t, test_same);
    tcase_add_test(t, test_unanswered);
    tcase_add_test(t, test_too_few);
    suite_add_tcase(s, t);
    return check_main(s);
}
