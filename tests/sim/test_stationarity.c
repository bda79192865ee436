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
static const double load[] = {1.05, 1.5, 3};
static const size_t seconds[] = {10, 20, 60};

#define SLOWER_N  (sizeof slower / sizeof slower[0])
#define LOAD_N    (sizeof load / sizeof load[0])
#define SECONDS_N (sizeof seconds / sizeof seconds[0])

struct percent {
    double warned, trend; /* of the runs; the second is part of the first */
};

static struct percent judge(struct latency_run *run, const struct latency_model *m, uint64_t *rng)
{
    struct plan plan = {.rate = {LATENCY_MODEL_RATE, 1}};
    struct percent p = {0, 0};
    for (size_t k = 0; k < RUNS; k++) {
        latency_run_make(run, m, rng);
        struct result *r = latency_run_result(run, &plan);
        struct stationarity s = stationarity_of(r);
        p.warned += s.changed ? 100.0 / RUNS : 0;
        p.trend += s.trend.large ? 100.0 / RUNS : 0;
        result_free(r);
    }
    return p;
}

static void row(struct latency_run *run, struct latency_model m)
{
    uint64_t rng = SEED;
    const char *name = m.name;
    printf("| %-21s | %2zu s |", name, run->seconds);
    for (size_t i = 0; i < SLOWER_N; i++) {
        m.slower = slower[i];
        double percent = judge(run, &m, &rng).warned;
        printf(" %5.1f %% |", percent);
        if (i == 0)
            ck_assert_double_le(percent, 2.01);
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

/* A queue that grows from begin to end: no half is like itself. And a target whose level goes up
 * and down by itself, seconds at a time, which is a trend only by chance. */
START_TEST(test_trend)
{
    printf("| load of capacity      | run  | warned  | trend   |\n|---|---|---|---|\n");
    for (size_t k = 0; k < SECONDS_N; k++) {
        struct latency_run *run = latency_run_new(seconds[k]);
        uint64_t rng = SEED;
        for (size_t i = 0; i < LOAD_N; i++) {
            struct percent p = judge(run, &(struct latency_model){.load = load[i]}, &rng);
            printf("| %-21.2f | %2zu s | %5.1f %% | %5.1f %% |\n", load[i], seconds[k], p.warned,
                   p.trend);
            ck_assert_double_ge(p.trend, 99);
        }
        struct percent p = judge(run, &(struct latency_model){.wander = 0.1}, &rng);
        printf("| %-21s | %2zu s | %5.1f %% | %5.1f %% |\n", "none, wanders by 10 %", seconds[k],
               p.warned, p.trend);
        ck_assert_double_le(p.trend, 2.01);
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
    tcase_add_test(t, test_trend);
    return check_main(s);
}
