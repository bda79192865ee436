/* SPDX-License-Identifier: MIT */
#include "controller/run/confidence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/latency_model.h"

/*
 * Does the interval of a percentile hold the truth as often as it says? The table in
 * docs/measuring.md is what this program prints; the seed is fixed.
 */

#define SEED        2026
#define RUNS        200
#define SECONDS     60
#define PERCENTILES 3

static const double percentiles[PERCENTILES] = {90, 99, 99.9};

struct score {
    size_t covered, independent, open;
    double deffs[RUNS];
};

static bool holds(const struct confidence *c, uint64_t truth)
{
    return c->lo <= truth && (!c->has_hi || c->hi >= truth);
}

static void score_run(struct score scores[PERCENTILES], size_t k, const uint64_t truth[PERCENTILES],
                      const struct latency_run *run)
{
    struct plan plan = {.rate = {LATENCY_MODEL_RATE, 1}};
    struct result *r = latency_run_result(run, &plan);
    struct confidence_run *parts = confidence_new(r->blocks, BLOCKS_CORRECTED);
    for (size_t i = 0; i < PERCENTILES; i++) {
        struct confidence c = confidence_at(parts, run->whole, percentiles[i]);
        struct confidence plain = confidence_of(run->whole, NULL, 0, percentiles[i]);
        ck_assert_int_eq(c.method, CONFIDENCE_BLOCKS);
        scores[i].covered += holds(&c, truth[i]);
        scores[i].independent += holds(&plain, truth[i]);
        scores[i].open += !c.has_hi;
        scores[i].deffs[k] = c.deff;
    }
    confidence_free(parts);
    result_free(r);
}

/* Of as many runs as are scored, all together. */
static void find_truth(struct latency_run *run, const struct latency_model *m, uint64_t *rng,
                       uint64_t truth[PERCENTILES])
{
    struct hist *all = hist_new_default();
    for (size_t k = 0; k < RUNS; k++) {
        latency_run_make(run, m, rng);
        ck_assert_int_eq(hist_add(all, run->whole), ERR_OK);
    }
    for (size_t i = 0; i < PERCENTILES; i++)
        truth[i] = hist_value_at_percentile(all, percentiles[i]);
    hist_free(all);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double percent(size_t n)
{
    return 100.0 * (double)n / RUNS;
}

static void print_row(const char *name, struct score scores[PERCENTILES])
{
    for (size_t i = 0; i < PERCENTILES; i++) {
        struct score *s = &scores[i];
        qsort(s->deffs, RUNS, sizeof s->deffs[0], by_size);
        printf("| %-21s | p%-4g | %8.0f %% | %6.0f %% | %14.0f %% | %6.1f |\n", name,
               percentiles[i], percent(s->independent), percent(s->covered), percent(s->open),
               s->deffs[RUNS / 2]);
    }
}

/* Where samples come in bursts the plain interval fails and ours does not. */
static void judge(size_t model, const struct score scores[PERCENTILES])
{
    for (size_t i = 0; i < PERCENTILES; i++) {
        ck_assert_double_ge(percent(scores[i].covered), model == 0 ? 94 : 80);
        ck_assert_uint_ge(scores[i].covered, scores[i].independent);
    }
    if (model > 0)
        ck_assert_double_lt(percent(scores[1].independent), 50);
}

START_TEST(test_coverage)
{
    static struct score scores[PERCENTILES];
    struct latency_run *run = latency_run_new(SECONDS);
    printf("| stalls                | of    | each alone | blocks   | no upper bound   | deff   |\n"
           "|---|---|---|---|---|---|\n");
    for (size_t m = 0; m < LATENCY_MODELS; m++) {
        uint64_t rng = SEED, truth[PERCENTILES];
        memset(scores, 0, sizeof scores);
        find_truth(run, &latency_models[m], &rng, truth);
        for (size_t k = 0; k < RUNS; k++) {
            latency_run_make(run, &latency_models[m], &rng);
            score_run(scores, k, truth, run);
        }
        print_row(latency_models[m].name, scores);
        judge(m, scores);
    }
    latency_run_free(run);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("confidence");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 100);
    suite_add_tcase(s, t);
    tcase_add_test(t, test_coverage);
    return check_main(s);
}
