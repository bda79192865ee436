/* SPDX-License-Identifier: MIT */
#include "controller/compare/sample.h"

#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/report/figures.h"
#include "controller/run/blocks.h"

/* A block is long enough to hold a stall and what follows from it, where the run is long enough to
 * be cut into so many of them. */
#define BLOCK_NS      (5 * NS_PER_SEC)
#define BLOCKS_WANTED 10

struct sums {
    struct counters counters;
    struct hist *latencies; /* NULL = none */
};

static bool is_meant(const struct criterion *c, const struct series *s)
{
    return s->stage != SERIES_STAGE_WARMUP && (c->stage == 0 || s->stage + 1 == c->stage) &&
           (c->name[0] == '\0' || strcmp(s->name, c->name) == 0);
}

static struct hist *latencies(const struct snapshot *s, const struct criterion *c,
                              enum hist_kind kind)
{
    struct hist *h = NULL;
    for (size_t i = 0; i < s->n_series; i++) {
        const struct hist *one = s->series[i].hists[kind];
        if (one == NULL || !is_meant(c, &s->series[i]))
            continue;
        if (h == NULL)
            h = hist_copy(one);
        else if (hist_add(h, one) != ERR_OK)
            break; /* 2^63 samples */
    }
    return h;
}

static struct sums add_up(const struct result *r, const struct criterion *c)
{
    const struct snapshot *s = r->total;
    struct sums sums = {.latencies = NULL};
    for (size_t i = 0; i < s->n_series; i++)
        if (is_meant(c, &s->series[i]))
            counters_add(&sums.counters, &s->series[i].counters);
    if (!c->uncorrected)
        sums.latencies = latencies(s, c, HIST_CORRECTED);
    if (sums.latencies == NULL)
        sums.latencies = latencies(s, c, HIST_UNCORRECTED);
    return sums;
}

static uint64_t broken_off(const struct counters *c)
{
    return counters_failed(c) + c->timeouts;
}

static uint64_t never_sent(const struct counters *c)
{
    return c->unsent_no_connection + c->unsent_dropped;
}

static uint64_t ended(const struct counters *c)
{
    return c->completed + broken_off(c);
}

static double percentile(const struct sums *s, double p)
{
    uint64_t answered = s->latencies != NULL ? hist_count(s->latencies) : 0;
    uint64_t all = answered + broken_off(&s->counters) + never_sent(&s->counters);
    if (all == 0)
        return NAN;
    uint64_t rank = hist_rank(p, all);
    if (rank > answered)
        return INFINITY;
    uint64_t value = hist_value_at_rank(s->latencies, rank), max = hist_max(s->latencies);
    return (double)(value < max ? value : max);
}

static double figure(const struct result *r, const struct sums *s, const struct criterion *c)
{
    bool any = s->latencies != NULL && hist_count(s->latencies) > 0;
    uint64_t ns = figures_measured_ns(r), n = ended(&s->counters);
    switch (c->metric) {
    case CRITERION_PERCENTILE:
        return percentile(s, c->percentile);
    case CRITERION_MEAN:
        return any ? hist_mean_exact(s->latencies) : NAN;
    case CRITERION_MAX:
        return any ? (double)hist_max(s->latencies) : NAN;
    case CRITERION_ERRORS:
        return n > 0 ? (double)(s->counters.http_errors + broken_off(&s->counters)) / (double)n
                     : NAN;
    case CRITERION_RATE:
        return ns > 0 ? (double)s->counters.completed * (double)NS_PER_SEC / (double)ns : NAN;
    }
    return NAN;
}

double sample_figure(const struct result *r, const struct criterion *c)
{
    struct sums sums = add_up(r, c);
    double f = figure(r, &sums, c);
    hist_free(sums.latencies);
    return f;
}

struct hist *sample_hist(const struct result *r, bool uncorrected)
{
    struct criterion c = {.uncorrected = uncorrected};
    struct sums sums = add_up(r, &c);
    return sums.latencies != NULL ? sums.latencies : hist_new_default();
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* How many neighbours make a block. */
static size_t neighbours(const struct blocks *b, size_t n)
{
    uint64_t length = blocks_length_ns(b);
    if (length == 0 || n == 0)
        return 1;
    size_t wanted = (size_t)((BLOCK_NS + length - 1) / length), most = n / BLOCKS_WANTED;
    if (wanted > most)
        wanted = most;
    return wanted > 0 ? wanted : 1;
}

static void join(struct bootstrap_block *into, struct hist *latencies, const struct blocks *b,
                 size_t i, enum blocks_clock clock)
{
    struct block one = blocks_at(b, i);
    struct hist *h = blocks_hist(b, i, clock);
    enum err e = hist_add(latencies, h); /* never more than the run's own total */
    (void)e;
    into->latencies = latencies;
    into->errors += one.errors;
    into->completed += one.completed;
    into->length_ns += one.to_ns - one.from_ns;
    hist_free(h);
}

/* A block knows its errors, not which of them had no response: of those there are in the run each
 * has its part by its errors. What was never sent is spread over all. */
static void share_out(struct bootstrap_block *blocks, size_t n, const struct counters *c)
{
    unsigned __int128 errors = 0, before = 0;
    uint64_t given = 0, spread = 0;
    for (size_t i = 0; i < n; i++)
        errors += blocks[i].errors;
    for (size_t i = 0; i < n; i++) {
        before += blocks[i].errors;
        uint64_t broken = errors > 0 ? (uint64_t)(broken_off(c) * before / errors) : 0;
        uint64_t unsent = (uint64_t)((unsigned __int128)never_sent(c) * (i + 1) / n);
        blocks[i].ended = blocks[i].completed + broken - given;
        blocks[i].unanswered = broken - given + unsent - spread;
        given = broken;
        spread = unsent;
    }
}

static struct bootstrap *cut(const struct blocks *b, const struct sums *whole,
                             enum blocks_clock clock)
{
    size_t n = blocks_n(b), each = neighbours(b, n), m = n / each > 0 ? n / each : n;
    struct bootstrap_block *list = mem_calloc(m + 1, sizeof *list);
    struct hist **hists = mem_calloc(m + 1, sizeof(struct hist *));
    for (size_t i = 0; i < n; i++) {
        size_t j = i / each < m ? i / each : m - 1; /* what is left over goes with the last */
        if (hists[j] == NULL)
            hists[j] = hist_new_default();
        join(&list[j], hists[j], b, i, clock);
    }
    share_out(list, m, &whole->counters);
    struct bootstrap *made = bootstrap_new(list, m);
    for (size_t j = 0; j < m; j++)
        hist_free(hists[j]);
    mem_free(hists);
    mem_free(list);
    return made;
}

struct bootstrap *sample_blocks(const struct result *whole, const struct blocks *blocks,
                                const struct criterion *c)
{
    if (blocks == NULL || blocks_n(blocks) == 0 || c->metric == CRITERION_MAX)
        return NULL;
    struct sums sums = add_up(whole, c);
    struct hist *corrected = latencies(whole->total, c, HIST_CORRECTED);
    struct bootstrap *b = cut(
        blocks, &sums, c->uncorrected || corrected == NULL ? BLOCKS_UNCORRECTED : BLOCKS_CORRECTED);
    hist_free(corrected);
    hist_free(sums.latencies);
    return b;
}

enum bootstrap_figure sample_bootstrap_figure(const struct criterion *c)
{
    static const enum bootstrap_figure figures[] = {[CRITERION_PERCENTILE] = BOOTSTRAP_PERCENTILE,
                                                    [CRITERION_MEAN] = BOOTSTRAP_MEAN,
                                                    [CRITERION_ERRORS] = BOOTSTRAP_ERRORS,
                                                    [CRITERION_RATE] = BOOTSTRAP_RATE};
    return c->metric == CRITERION_MAX ? BOOTSTRAP_PERCENTILE : figures[c->metric];
}
