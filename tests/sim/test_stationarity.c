/* SPDX-License-Identifier: MIT */
#include "controller/run/stationarity.h"

#include <stdio.h>

#include "tests/lib/check_main.h"
#include "tests/lib/latency_model.h"

/*
 * How often does a run that is the same throughout pass for one that is not, and how often is one
 * found that is not? The table in docs/measuring.md is what this program prints; the seed is fixed.
 */

#define SEED 2026
#define RUNS 100

static const double slower[] = {1, 1.2, 1.5};
static const size_t seconds[] = {10, 60};

#define SLOWER_N  (sizeof slower / sizeof slower[0])
#define SECONDS_N (sizeof seconds / sizeof seconds[0])

static double warned(struct latency_run *run, const struct latency_model *m, uint64_t *rng)
{
    struct plan plan = {.rate = {LATENCY_MODEL_RATE, 1}};
    size_t n = 0;
    for (size_t k = 0; k < RUNS; k++) {
        latency_run_make(run, m, rng);
        struct result *r = latency_run_result(run, &plan);
        struct stationarity s = stationarity_of(r);
        ck_assert(s.tested);
        n += s.changed;
        result_free(r);
    }
    return 100.0 * (double)n / RUNS;
}

static void row(struct latency_run *run, struct latency_model m)
{
    uint64_t rng = SEED;
    const char *name = m.name;
    printf("| %-21s | %2zu s |", name, run->seconds);
    for (size_t i = 0; i < SLOWER_N; i++) {
        m.slower = slower[i];
        double percent = warned(run, &m, &rng);
        printf(" %5.1f %% |", percent);
        if (i == 0)
            ck_assert_double_le(percent, 5);
        if (slower[i] >= 1.5)
            ck_assert_double_ge(percent, 85);
    }
    printf("\n");
}

START_TEST(test_false_alarms_and_power)
{
    printf("| stalls                | run  |  same   | 20 %%    | 50 %%    |\n"
           "|---|---|---|---|---|\n");
    for (size_t k = 0; k < SECONDS_N; k++) {
        struct latency_run *run = latency_run_new(seconds[k]);
        for (size_t m = 0; m < LATENCY_MODELS; m++)
            row(run, latency_models[m]);
        latency_run_free(run);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("stationarity");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 100);
    suite_add_tcase(s, t);
    tcase_add_test(t, test_false_alarms_and_power);
    return check_main(s);
}
