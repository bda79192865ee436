/* SPDX-License-Identifier: MIT */
#include "controller/compare/bootstrap.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

#define NS 1e9

struct bootstrap {
    size_t n;         /* blocks */
    size_t n_buckets; /* occupied in any of them */
    uint64_t *highs;  /* of a bucket: the value that stands for it */
    /* upto[bucket * n + block]: samples of the block up to and with the bucket. A percentile of a
     * draw is then found by halving, without adding histograms. */
    uint64_t *upto;
    struct bootstrap_block *blocks; /* the histograms are not looked at any more */
    double *sums;                   /* of a block's latencies, ns */
};

uint64_t bootstrap_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* All blocks added: it says which buckets there are. A sum beyond 2^63 is refused by hist_add, and
 * by the run's own totals before. */
static struct hist *add_all(const struct bootstrap_block *blocks, size_t n)
{
    struct hist *all = hist_new_default();
    for (size_t i = 0; i < n; i++) {
        enum err e = hist_add(all, blocks[i].latencies);
        (void)e;
    }
    return all;
}

static void list_buckets(struct bootstrap *b, const struct hist *all, uint32_t *indices)
{
    const struct hist_geometry *g = hist_geometry_of(all);
    uint32_t top = hist_count(all) > 0 ? hist_top_index(all) + 1 : 0;
    uint64_t max = hist_max(all);
    for (uint32_t i = 0; i < top; i++) {
        if (hist_count_at(all, i) == 0)
            continue;
        uint64_t high = hist_high(g, i);
        indices[b->n_buckets] = i;
        b->highs[b->n_buckets++] = high < max ? high : max;
    }
}

struct bootstrap *bootstrap_new(const struct bootstrap_block *blocks, size_t n)
{
    struct bootstrap *b = mem_calloc(1, sizeof *b);
    struct hist *all = add_all(blocks, n);
    size_t room = hist_count(all) > 0 ? (size_t)hist_top_index(all) + 1 : 1;
    uint32_t *indices = mem_calloc(room, sizeof *indices);
    b->n = n;
    b->highs = mem_calloc(room, sizeof *b->highs);
    list_buckets(b, all, indices);
    b->upto = mem_calloc(b->n_buckets * n + 1, sizeof *b->upto);
    b->sums = mem_calloc(n + 1, sizeof *b->sums);
    b->blocks = mem_dup(blocks, n * sizeof *blocks);
    for (size_t j = 0; j < n; j++) {
        uint64_t upto = 0;
        b->sums[j] = hist_sum(blocks[j].latencies);
        for (size_t i = 0; i < b->n_buckets; i++) {
            upto += hist_count_at(blocks[j].latencies, indices[i]);
            b->upto[i * n + j] = upto;
        }
    }
    mem_free(indices);
    hist_free(all);
    return b;
}

void bootstrap_free(struct bootstrap *b)
{
    if (b == NULL)
        return;
    mem_free(b->highs);
    mem_free(b->upto);
    mem_free(b->blocks);
    mem_free(b->sums);
    mem_free(b);
}

/* --- a figure of blocks, each so many times ----------------------------------------------------
 */

static uint64_t answered_upto(const struct bootstrap *b, const uint32_t *times, size_t bucket)
{
    uint64_t sum = 0;
    const uint64_t *upto = &b->upto[bucket * b->n];
    for (size_t j = 0; j < b->n; j++)
        sum += times[j] * upto[j];
    return sum;
}

static double percentile(const struct bootstrap *b, const uint32_t *times, double p)
{
    uint64_t unanswered = 0;
    uint64_t answered = b->n_buckets > 0 ? answered_upto(b, times, b->n_buckets - 1) : 0;
    for (size_t j = 0; j < b->n; j++)
        unanswered += times[j] * b->blocks[j].unanswered;
    if (answered + unanswered == 0)
        return NAN;
    uint64_t rank = hist_rank(p, answered + unanswered);
    if (rank > answered)
        return INFINITY;
    size_t low = 0, high = b->n_buckets - 1;
    while (low < high) {
        size_t half = (low + high) / 2;
        if (answered_upto(b, times, half) >= rank)
            high = half;
        else
            low = half + 1;
    }
    return (double)b->highs[low];
}

static double mean(const struct bootstrap *b, const uint32_t *times)
{
    double sum = 0;
    for (size_t j = 0; j < b->n; j++)
        sum += times[j] * b->sums[j];
    uint64_t n = b->n_buckets > 0 ? answered_upto(b, times, b->n_buckets - 1) : 0;
    return n > 0 ? sum / (double)n : NAN;
}

static double share_of_errors(const struct bootstrap *b, const uint32_t *times)
{
    double errors = 0, ended = 0;
    for (size_t j = 0; j < b->n; j++) {
        errors += (double)times[j] * (double)b->blocks[j].errors;
        ended += (double)times[j] * (double)b->blocks[j].ended;
    }
    return ended > 0 ? errors / ended : NAN;
}

static double rate(const struct bootstrap *b, const uint32_t *times)
{
    double completed = 0, ns = 0;
    for (size_t j = 0; j < b->n; j++) {
        completed += (double)times[j] * (double)b->blocks[j].completed;
        ns += (double)times[j] * (double)b->blocks[j].length_ns;
    }
    return ns > 0 ? completed / ns * NS : NAN;
}

static double figure(const struct bootstrap *b, const uint32_t *times,
                     const struct bootstrap_question *q)
{
    switch (q->figure) {
    case BOOTSTRAP_PERCENTILE:
        return percentile(b, times, q->percentile);
    case BOOTSTRAP_MEAN:
        return mean(b, times);
    case BOOTSTRAP_ERRORS:
        return share_of_errors(b, times);
    case BOOTSTRAP_RATE:
        return rate(b, times);
    }
    return NAN;
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* One block fewer than there are: the spread of n draws of n is too small by 1 - 1/n. */
static void draw(size_t n, uint32_t *times, uint64_t *random)
{
    memset(times, 0, n * sizeof *times);
    for (size_t i = 1; i < n; i++)
        times[(size_t)(((unsigned __int128)bootstrap_random(random) * n) >> 64)]++;
}

static double estimate(const struct bootstrap *candidate, const struct bootstrap *baseline,
                       const struct bootstrap_question *q)
{
    size_t n = candidate->n > baseline->n ? candidate->n : baseline->n;
    uint32_t *once = mem_calloc(n + 1, sizeof *once);
    for (size_t i = 0; i < n; i++)
        once[i] = 1;
    double e = effect_of(q->kind, figure(candidate, once, q), figure(baseline, once, q));
    mem_free(once);
    return e;
}

/* The effect in each draw, not in order; how many of them were none. */
static size_t draw_all(const struct bootstrap *candidate, const struct bootstrap *baseline,
                       const struct bootstrap_question *q, double *effects)
{
    size_t undefined = 0;
    uint64_t random = q->seed;
    uint32_t *of_candidate = mem_calloc(candidate->n, sizeof *of_candidate);
    uint32_t *of_baseline = mem_calloc(baseline->n, sizeof *of_baseline);
    for (size_t i = 0; i < BOOTSTRAP_DRAWS; i++) {
        draw(candidate->n, of_candidate, &random);
        draw(baseline->n, of_baseline, &random);
        effects[i] = effect_of(q->kind, figure(candidate, of_candidate, q),
                               figure(baseline, of_baseline, q));
        undefined += isnan(effects[i]) ? 1 : 0;
    }
    mem_free(of_candidate);
    mem_free(of_baseline);
    return undefined;
}

struct bootstrap_answer bootstrap_ask(const struct bootstrap *candidate,
                                      const struct bootstrap *baseline,
                                      const struct bootstrap_question *q)
{
    struct bootstrap_answer a = {.effect = effect_unknown(q->kind), .above = 1, .below = 1};
    double effects[BOOTSTRAP_DRAWS];
    a.effect.estimate = estimate(candidate, baseline, q);
    if (candidate->n < BOOTSTRAP_BLOCKS_MIN || baseline->n < BOOTSTRAP_BLOCKS_MIN ||
        isnan(a.effect.estimate) || draw_all(candidate, baseline, q, effects) > 0)
        return a;
    qsort(effects, BOOTSTRAP_DRAWS, sizeof *effects, effect_order);
    size_t not_above = 0, not_below = 0;
    for (size_t i = 0; i < BOOTSTRAP_DRAWS; i++) {
        not_above += effects[i] <= q->limit;
        not_below += effects[i] >= q->limit;
    }
    a.above = (double)(not_above + 1) / (BOOTSTRAP_DRAWS + 1);
    a.below = (double)(not_below + 1) / (BOOTSTRAP_DRAWS + 1);
    size_t cut = (size_t)((BOOTSTRAP_DRAWS + 1) * q->alpha / 2);
    a.effect.low = effects[cut > 0 ? cut - 1 : 0];
    a.effect.high = effects[BOOTSTRAP_DRAWS - (cut > 0 ? cut : 1)];
    return a;
}
