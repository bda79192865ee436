/* SPDX-License-Identifier: MIT */
#include "controller/run/stationarity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/units.h"
#include "controller/run/blocks.h"
#include "controller/run/confidence.h"
#include "controller/run/result.h"

#define PART_NS     (5 * NS_PER_SEC)
#define PARTS_MIN   5     /* of a half */
#define KOLMOGOROV  1.358 /* 95 % */
#define P50_RATIO   0.9
#define P99_RATIO   0.8
#define RANKED_MIN  20
#define RHO_BOUND   0.5
#define RHO_OF_FEW  0.7 /* to name what it was */
#define TREND_MIN   8
#define RHO_TREND   0.9 /* of 8 independent intervals by chance in less than one run of 200 */
#define ONE_LARGEST 1e-12

struct half {
    size_t n; /* parts that have samples */
    struct hist *whole, *parts[BLOCKS_MAX];
};

struct halves {
    struct half first, second;
};

/* --- the halves --------------------------------------------------------------------------------
 */

static void half_init(struct half *h, size_t parts)
{
    *h = (struct half){.n = parts, .whole = hist_new_default()};
    for (size_t i = 0; i < parts; i++)
        h->parts[i] = hist_new_default();
}

static void half_clear(struct half *h)
{
    for (size_t i = 0; i < h->n; i++)
        hist_free(h->parts[i]);
    hist_free(h->whole);
}

static void half_record(struct half *h, size_t part, uint64_t v, uint64_t count)
{
    hist_record(h->parts[part], v, count);
    hist_record(h->whole, v, count);
}

static void drop_empty(struct half *h)
{
    size_t kept = 0;
    for (size_t i = 0; i < h->n; i++) {
        if (hist_count(h->parts[i]) > 0)
            h->parts[kept++] = h->parts[i];
        else
            hist_free(h->parts[i]);
    }
    h->n = kept;
}

/* What was complete at t after v was due at t - v; t is the block's middle. */
static void split_block(struct halves *s, size_t part, const struct hist *h, uint64_t middle_ns,
                        uint64_t split_ns)
{
    const struct hist_geometry *g = hist_geometry_of(h);
    uint32_t first = hist_index(g, hist_min(h)), top = hist_top_index(h);
    for (uint32_t i = first; hist_count(h) > 0 && i <= top; i++) {
        uint64_t n = hist_count_at(h, i), v = hist_low(g, i);
        bool early = middle_ns < split_ns || v > middle_ns - split_ns;
        if (n > 0)
            half_record(early ? &s->first : &s->second, part, v, n);
    }
}

static void split(struct halves *s, const struct result *r, size_t per, uint64_t split_ns)
{
    size_t n = blocks_n(r->blocks), parts = n / per;
    enum blocks_clock clock = result_one_clock(r) ? BLOCKS_UNCORRECTED : BLOCKS_CORRECTED;
    half_init(&s->first, parts);
    half_init(&s->second, parts);
    for (size_t i = 0; i < n; i++) {
        struct block b = blocks_at(r->blocks, i);
        struct hist *h = blocks_hist(r->blocks, i, clock);
        size_t part = i / per < parts ? i / per : parts - 1;
        split_block(s, part, h, b.from_ns + (b.to_ns - b.from_ns) / 2, split_ns);
        hist_free(h);
    }
    drop_empty(&s->first);
    drop_empty(&s->second);
}

/* --- what is asked of them ---------------------------------------------------------------------
 */

/* The largest gap of the two distributions, and the value it is at. */
static double distance(const struct hist *a, const struct hist *b, uint64_t *at)
{
    const struct hist_geometry *g = hist_geometry_of(a);
    uint32_t top = hist_top_index(a) > hist_top_index(b) ? hist_top_index(a) : hist_top_index(b);
    double na = (double)hist_count(a), nb = (double)hist_count(b), largest = 0;
    uint64_t below_a = 0, below_b = 0;
    *at = 0;
    for (uint32_t i = 0; i <= top; i++) {
        below_a += hist_count_at(a, i);
        below_b += hist_count_at(b, i);
        double gap = fabs((double)below_a / na - (double)below_b / nb);
        if (gap > largest + ONE_LARGEST) {
            largest = gap;
            *at = hist_low(g, i);
        }
    }
    return largest;
}

/* Each half by its own parts: between the halves is what is asked for. */
static double critical(const struct halves *s, uint64_t at)
{
    double first = confidence_deff(s->first.parts, s->first.n, at);
    double second = confidence_deff(s->second.parts, s->second.n, at);
    return KOLMOGOROV * sqrt(first / (double)hist_count(s->first.whole) +
                             second / (double)hist_count(s->second.whole));
}

static bool apart(const struct confidence *a, const struct confidence *b)
{
    return (a->has_hi && a->hi < b->lo) || (b->has_hi && b->hi < a->lo);
}

static struct stationarity_change change(const struct halves *s, double percentile, double bound)
{
    const struct half *a = &s->first, *b = &s->second;
    struct stationarity_change c = {.first_ns = hist_value_at_percentile(a->whole, percentile),
                                    .second_ns = hist_value_at_percentile(b->whole, percentile)};
    struct confidence first = confidence_of(a->whole, a->parts, a->n, percentile);
    struct confidence second = confidence_of(b->whole, b->parts, b->n, percentile);
    if (c.first_ns > 0)
        c.ratio = (double)c.second_ns / (double)c.first_ns;
    c.large = (c.ratio < bound || c.ratio > 1 / bound) && apart(&first, &second);
    return c;
}

struct ranked {
    double x;
    size_t at;
};

static int by_value(const void *a, const void *b)
{
    double x = ((const struct ranked *)a)->x, y = ((const struct ranked *)b)->x;
    return x < y ? -1 : x > y;
}

/* Both means are (n - 1) / 2. */
double stationarity_rank_correlation(const double *x, size_t n)
{
    struct ranked *r = mem_calloc(n + 1, sizeof *r);
    double mean = ((double)n - 1) / 2, product = 0, squares = 0, times = 0;
    for (size_t i = 0; i < n; i++)
        r[i] = (struct ranked){x[i], i};
    qsort(r, n, sizeof *r, by_value);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !(r[end].x > r[i].x);)
            end++;
        double rank = (double)(i + end - 1) / 2 - mean;
        for (size_t k = i; k < end; k++) {
            double time = (double)r[k].at - mean;
            product += rank * time;
            squares += rank * rank;
            times += time * time;
        }
    }
    mem_free(r);
    return squares > 0 && times > 0 ? product / sqrt(squares * times) : 0;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Sorts x. */
static uint64_t median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, by_size);
    return (uint64_t)x[n / 2];
}

/* No design effect here: it would take the trend for bursts. What goes with time as closely as this
 * is no chance, also where neighbours are alike. Sorts p50. */
static void follow(struct stationarity *s, double *p50, size_t n)
{
    struct stationarity_change *c = &s->trend;
    s->trended = n >= TREND_MIN;
    if (!s->trended)
        return;
    *c = (struct stationarity_change){.first_ns = median(p50, n / 2),
                                      .second_ns = median(p50 + n - n / 2, n / 2)};
    if (c->first_ns > 0)
        c->ratio = (double)c->second_ns / (double)c->first_ns;
    c->large = (s->rho_p50 > RHO_TREND && c->ratio > 1 / P50_RATIO) ||
               (s->rho_p50 < -RHO_TREND && c->ratio < P50_RATIO);
}

/* Of whole intervals in which requests were due. */
static void rank(struct stationarity *s, const struct result *r)
{
    double *p50 = mem_calloc(r->n_intervals + 1, sizeof *p50);
    double *backlog = mem_calloc(r->n_intervals + 1, sizeof *backlog);
    bool one_clock = result_one_clock(r);
    size_t n = 0;
    for (size_t i = 0; i < r->n_intervals; i++) {
        const struct result_interval *row = &r->intervals[i];
        const struct result_latency *l = one_clock ? &row->uncorrected : &row->corrected;
        if (l->count == 0 || row->from_ns < result_warmup_ns(r) || row->to_ns > r->duration_ns)
            continue;
        p50[n] = (double)l->p50;
        backlog[n++] = (double)row->backlog;
    }
    s->ranked = n >= RANKED_MIN;
    s->rho_p50 = stationarity_rank_correlation(p50, n);
    s->rho_backlog = stationarity_rank_correlation(backlog, n);
    follow(s, p50, n);
    mem_free(p50);
    mem_free(backlog);
}

static bool rate_equal(const struct rate *a, const struct rate *b)
{
    return (unsigned __int128)a->num * b->den == (unsigned __int128)b->num * a->den;
}

/* Stages that all have the same rate are one. */
static bool one_rate(const struct plan *p)
{
    for (size_t i = 0; p != NULL && i < p->n_stages; i++)
        if (!rate_equal(&p->stages[i].from, &p->stages[0].from) ||
            !rate_equal(&p->stages[i].to, &p->stages[0].from))
            return false;
    return true;
}

static void compare(struct stationarity *s, const struct halves *h)
{
    uint64_t at;
    s->tested = true;
    s->p50 = change(h, 50, P50_RATIO);
    s->p99 = change(h, 99, P99_RATIO);
    s->distance = distance(h->first.whole, h->second.whole, &at);
    s->critical = critical(h, at);
}

static void test_halves(struct stationarity *s, const struct result *r, size_t per)
{
    struct halves h;
    split(&h, r, per, s->split_ns);
    if (h.first.n < PARTS_MIN || h.second.n < PARTS_MIN)
        s->untested = "requests were completed in too few intervals";
    else
        compare(s, &h);
    half_clear(&h.first);
    half_clear(&h.second);
}

struct stationarity stationarity_of(const struct result *r)
{
    struct stationarity s = {0};
    size_t n = r->blocks != NULL ? blocks_n(r->blocks) : 0;
    if (!one_rate(r->plan)) {
        s.untested = "the rate changes on purpose";
        return s;
    }
    rank(&s, r);
    s.changed = s.trend.large;
    if (n < 2 * PARTS_MIN || blocks_length_ns(r->blocks) == 0) {
        s.untested = "the run has too few intervals";
        return s;
    }
    uint64_t from_ns = blocks_at(r->blocks, 0).from_ns, to_ns = blocks_at(r->blocks, n - 1).to_ns;
    if (from_ns < result_warmup_ns(r))
        from_ns = result_warmup_ns(r);
    if (to_ns > r->duration_ns)
        to_ns = r->duration_ns;
    s.split_ns = to_ns > from_ns ? from_ns + (to_ns - from_ns) / 2 : from_ns;
    size_t per = (size_t)(PART_NS / blocks_length_ns(r->blocks));
    size_t most = n / (2 * PARTS_MIN);
    test_halves(&s, r, per == 0 ? 1 : per < most ? per : most);
    bool drifts = s.ranked && fabs(s.rho_p50) > RHO_BOUND && s.p50.large;
    bool differs = s.distance > s.critical && (s.p50.large || s.p99.large);
    s.changed = s.trend.large || (s.tested && (drifts || differs));
    return s;
}

static const char *cause(const struct stationarity *s, const struct stationarity_change *c)
{
    if (c->ratio < 1)
        return "the target was still warming up";
    return s->rho_backlog > (s->ranked ? RHO_BOUND : RHO_OF_FEW)
               ? "a backlog grows, and the latencies with the length of the run"
               : "the target degrades, or had not settled yet";
}

const char *stationarity_say(const struct stationarity *s, char text[STATIONARITY_WARNING])
{
    const struct stationarity_change *c = s->trend.large ? &s->trend
                                          : s->p50.large ? &s->p50
                                                         : &s->p99;
    char what[64], first[UNITS_TEXT], second[UNITS_TEXT];
    if (c == &s->trend)
        snprintf(what, sizeof what, "latency kept %s: the intervals' p50",
                 c->ratio > 1 ? "rising" : "falling");
    else
        snprintf(what, sizeof what, "%s", c == &s->p50 ? "p50" : "p99");
    snprintf(text, STATIONARITY_WARNING,
             "not stationary: %s of the second half is %.2g times that of the first (%s -> %s): %s",
             what, c->ratio, units_format_latency(c->first_ns, first),
             units_format_latency(c->second_ns, second), cause(s, c));
    return text;
}
