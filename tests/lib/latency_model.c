/* SPDX-License-Identifier: MIT */
#include "tests/lib/latency_model.h"

#include <math.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

#define TWO_PI      6.283185307179586
#define WANDER_KEPT 0.7

const struct latency_model latency_models[LATENCY_MODELS] = {
    {.name = "no stalls"},
    {.name = "50-150 ms every 10 s", .every_s = 10, .shortest_s = 0.05, .longest_s = 0.15},
    {.name = "250-750 ms every 20 s", .every_s = 20, .shortest_s = 0.25, .longest_s = 0.75},
};

struct latency_run *latency_run_new(size_t seconds)
{
    struct latency_run *run = mem_calloc(1, sizeof *run);
    run->seconds = seconds;
    run->rows = mem_calloc(seconds, sizeof(struct hist *));
    for (size_t i = 0; i < seconds; i++)
        run->rows[i] = hist_new_default();
    run->whole = hist_new_default();
    return run;
}

void latency_run_free(struct latency_run *run)
{
    for (size_t i = 0; i < run->seconds; i++)
        hist_free(run->rows[i]);
    hist_free(run->whole);
    mem_free(run->rows);
    mem_free(run);
}

/* Never 0, never 1. */
static double uniform(uint64_t *rng)
{
    return ((double)(check_random(rng) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *rng)
{
    return sqrt(-2 * log(uniform(rng))) * cos(TWO_PI * uniform(rng));
}

static double lognormal_ns(uint64_t *rng)
{
    return 1e6 * exp(0.5 * normal(rng));
}

struct stop {
    double begin_s, end_s;
};

static void next_stop(const struct latency_model *m, uint64_t *rng, struct stop *s)
{
    s->begin_s = m->every_s > 0 ? s->end_s - log(uniform(rng)) * m->every_s : INFINITY;
    s->end_s = s->begin_s + m->shortest_s + (m->longest_s - m->shortest_s) * uniform(rng);
}

/* An answer after the end of an overloaded run is none. */
static void record(struct latency_run *run, const struct latency_model *m, double due_s, double ns)
{
    size_t row = (size_t)(due_s + ns / (double)NS_PER_SEC);
    if (row >= run->seconds && m->load > 1)
        return;
    hist_record(run->rows[row < run->seconds ? row : run->seconds - 1], (uint64_t)ns, 1);
    hist_record(run->whole, (uint64_t)ns, 1);
}

void latency_run_make(struct latency_run *run, const struct latency_model *m, uint64_t *rng)
{
    struct stop stop = {0, 0};
    size_t n = run->seconds * LATENCY_MODEL_RATE;
    double level = m->wander > 0 ? m->wander * normal(rng) : 0;
    for (size_t i = 0; i < run->seconds; i++)
        hist_reset(run->rows[i]);
    hist_reset(run->whole);
    next_stop(m, rng, &stop);
    for (size_t i = 0; i < n; i++) {
        double due_s = (double)i / LATENCY_MODEL_RATE, ns = lognormal_ns(rng);
        if (m->slower > 0 && i >= n / 2)
            ns *= m->slower;
        if (m->wander > 0 && i > 0 && i % LATENCY_MODEL_RATE == 0)
            level =
                WANDER_KEPT * level + m->wander * sqrt(1 - WANDER_KEPT * WANDER_KEPT) * normal(rng);
        ns *= exp(level);
        if (m->load > 1)
            ns += due_s * (m->load - 1) * (double)NS_PER_SEC;
        while (due_s >= stop.end_s)
            next_stop(m, rng, &stop);
        if (due_s >= stop.begin_s)
            ns += (stop.end_s - due_s) * (double)NS_PER_SEC;
        record(run, m, due_s, ns);
    }
}

struct result *latency_run_result(const struct latency_run *run, struct plan *plan)
{
    struct result *r = result_new(0);
    r->plan = plan;
    r->intervals = mem_calloc(run->seconds, sizeof *r->intervals);
    r->blocks = blocks_new();
    for (size_t i = 0; i < run->seconds; i++) {
        struct result_interval *row = &r->intervals[r->n_intervals++];
        uint64_t n = hist_count(run->rows[i]);
        *row = (struct result_interval){.from_ns = i * NS_PER_SEC,
                                        .to_ns = (i + 1) * NS_PER_SEC,
                                        .sent = LATENCY_MODEL_RATE,
                                        .completed = n,
                                        .slots = 1};
        row->corrected =
            (struct result_latency){.count = n, .p50 = hist_value_at_percentile(run->rows[i], 50)};
        struct merge_view v = {.row = row, .corrected = run->rows[i]};
        blocks_add(r->blocks, &v);
    }
    r->end_ns = r->duration_ns = run->seconds * NS_PER_SEC;
    return r;
}
