/* SPDX-License-Identifier: MIT */
#include "tests/lib/gate_trials.h"

#include <math.h>
#include <string.h>

#include "common/hist.h"
#include "controller/compare/bootstrap.h"
#include "controller/compare/gate.h"
#include "controller/compare/rank_test.h"

#define SECONDS   60
#define RATE      200
#define BLOCKS    12
#define STALLS    64
#define MEDIAN_MS 10
#define SIGMA     0.5
#define LIMIT     1.1
#define NS_OF_MS  1e6

const struct gate_world gate_worlds[GATE_WORLDS] = {
    {"independent", 0, 0, 0, 0},
    {"independent, runs differ by 5 %", 0.05, 0, 0, 0},
    {"stalls of 50-150 ms every 10 s", 0, 10, 50, 150},
    {"stalls of 250-750 ms every 20 s, runs differ by 5 %", 0.05, 20, 250, 750},
};

static double uniform(uint64_t *random)
{
    return ((double)(bootstrap_random(random) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *random)
{
    double radius = sqrt(-2 * log(uniform(random)));
    return radius * cos(2 * M_PI * uniform(random));
}

struct stall_plan {
    double from_ms[STALLS], to_ms[STALLS];
    size_t n;
};

static void plan_stalls(const struct gate_world *w, uint64_t *random, struct stall_plan *p)
{
    double at_ms = 0;
    p->n = 0;
    while (w->stall_every_s > 0 && p->n < STALLS) {
        at_ms += -log(uniform(random)) * w->stall_every_s * 1000;
        if (at_ms >= SECONDS * 1000)
            break;
        double length = w->stall_min_ms + uniform(random) * (w->stall_max_ms - w->stall_min_ms);
        p->from_ms[p->n] = at_ms;
        p->to_ms[p->n++] = at_ms + length;
        at_ms += length;
    }
}

struct run {
    struct hist *blocks[BLOCKS], *all;
};

/* Whoever is due in a stall waits until its end, and is then served as usual. */
static void simulate(const struct gate_world *w, double slower, uint64_t *random, struct run *r)
{
    struct stall_plan stalls;
    double scale = MEDIAN_MS * slower * exp(w->hysteresis * normal(random));
    size_t next = 0;
    plan_stalls(w, random, &stalls);
    r->all = hist_new_default();
    for (size_t i = 0; i < BLOCKS; i++)
        r->blocks[i] = hist_new_default();
    for (size_t i = 0; i < SECONDS * RATE; i++) {
        double due_ms = (double)i * 1000 / RATE, took_ms = scale * exp(SIGMA * normal(random));
        while (next < stalls.n && stalls.to_ms[next] <= due_ms)
            next++;
        if (next < stalls.n && stalls.from_ms[next] <= due_ms)
            took_ms += stalls.to_ms[next] - due_ms;
        hist_record(r->blocks[i * BLOCKS / (SECONDS * RATE)], (uint64_t)(took_ms * NS_OF_MS), 1);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        enum err e = hist_add(r->all, r->blocks[i]);
        (void)e;
    }
}

static void run_clear(struct run *r)
{
    hist_free(r->all);
    for (size_t i = 0; i < BLOCKS; i++)
        hist_free(r->blocks[i]);
}

static struct bootstrap *cut(const struct run *r)
{
    struct bootstrap_block blocks[BLOCKS];
    memset(blocks, 0, sizeof blocks);
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = (struct bootstrap_block){.latencies = r->blocks[i]};
    return bootstrap_new(blocks, BLOCKS);
}

static void judge(struct effect effect, double p, size_t *regression, size_t *pass)
{
    struct gate_row row = {.judged = true, .limit = LIMIT, .effect = effect, .p = p};
    gate_judge(&row, 1);
    *regression += row.verdict == GATE_REGRESSION;
    *pass += row.verdict == GATE_PASS;
}

static void compare_pair(const struct run *candidate, const struct run *baseline, double percentile,
                         uint64_t seed, struct gate_counts *n)
{
    struct bootstrap *a = cut(candidate), *b = cut(baseline);
    struct bootstrap_question q = {BOOTSTRAP_PERCENTILE, percentile, EFFECT_RATIO,
                                   GATE_ALPHA,           LIMIT,      seed};
    struct bootstrap_answer answer = bootstrap_ask(a, b, &q);
    n->pair_differs += answer.effect.low > 1 || answer.effect.high < 1;
    judge(answer.effect, fmin(1, 2 * answer.above), &n->pair_regression, &n->pair_pass);
    bootstrap_free(a);
    bootstrap_free(b);
}

static void compare_sets(const struct run *candidate, const struct run *baseline, double percentile,
                         struct gate_counts *n)
{
    double a[GATE_TRIALS_RUNS], b[GATE_TRIALS_RUNS];
    for (size_t i = 0; i < GATE_TRIALS_RUNS; i++) {
        a[i] = (double)hist_value_at_percentile(candidate[i].all, percentile);
        b[i] = (double)hist_value_at_percentile(baseline[i].all, percentile);
    }
    double p = rank_test(a, GATE_TRIALS_RUNS, b, GATE_TRIALS_RUNS).p;
    n->sets_differ += p < GATE_ALPHA;
    judge(rank_test_effect(a, GATE_TRIALS_RUNS, b, GATE_TRIALS_RUNS, EFFECT_RATIO, GATE_ALPHA), p,
          &n->sets_regression, &n->sets_pass);
}

struct gate_counts gate_trials(const struct gate_world *w, double percentile, double slower,
                               size_t trials, uint64_t seed)
{
    struct gate_counts n = {.trials = trials};
    struct run candidate[GATE_TRIALS_RUNS], baseline[GATE_TRIALS_RUNS];
    for (size_t i = 0; i < trials; i++) {
        for (size_t j = 0; j < GATE_TRIALS_RUNS; j++) {
            simulate(w, slower, &seed, &candidate[j]);
            simulate(w, 1, &seed, &baseline[j]);
        }
        compare_pair(&candidate[0], &baseline[0], percentile, seed, &n);
        compare_sets(candidate, baseline, percentile, &n);
        for (size_t j = 0; j < GATE_TRIALS_RUNS; j++) {
            run_clear(&candidate[j]);
            run_clear(&baseline[j]);
        }
    }
    return n;
}
