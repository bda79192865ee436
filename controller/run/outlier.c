/* SPDX-License-Identifier: MIT */
#include "controller/run/outlier.h"

#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/student.h"

#define BLOCKS      32
#define BUCKETS     96
#define FIRST       1024 /* counters of the default geometry below the first octave */
#define COUNTERS    256  /* of a quarter of an octave, from there on */
#define PERCENTILES 3
#define RATIO       1.25
#define DISTANCE_NS (100 * NS_PER_US)

static const double percentiles[PERCENTILES] = {50, 90, 99};

/* Of one block, from the first bucket that ever had samples to the last: a controller keeps 32 of
 * them for each of a thousand agents, and latencies cover a fraction of the buckets. */
struct row {
    uint32_t first, n;
    uint32_t counts[];
};

struct blocks {
    struct row *rows[BLOCKS]; /* NULL = no samples */
};

struct outliers {
    size_t n_agents;
    uint64_t block_ns;
    struct blocks **agents; /* NULL = no samples yet */
};

struct outliers *outliers_new(size_t n_agents, uint64_t interval_ns)
{
    struct outliers *o = mem_calloc(1, sizeof *o);
    o->n_agents = n_agents;
    o->block_ns = interval_ns;
    o->agents = mem_calloc(n_agents + 1, sizeof(struct blocks *));
    return o;
}

void outliers_free(struct outliers *o)
{
    if (o == NULL)
        return;
    for (size_t i = 0; i < o->n_agents; i++) {
        for (size_t k = 0; o->agents[i] != NULL && k < BLOCKS; k++)
            mem_free(o->agents[i]->rows[k]);
        mem_free(o->agents[i]);
    }
    mem_free(o->agents);
    mem_free(o);
}

/* --- collecting ------------------------------------------------------------------------------- */

static void add_u32(uint32_t *to, uint64_t n)
{
    *to = n > UINT32_MAX - *to ? UINT32_MAX : *to + (uint32_t)n;
}

static void expand(const struct row *r, uint32_t out[BUCKETS])
{
    memset(out, 0, BUCKETS * sizeof out[0]);
    if (r != NULL)
        memcpy(&out[r->first], r->counts, r->n * sizeof r->counts[0]);
}

/* The row with room for the buckets from..to as well. */
static struct row *widen(struct row *old, uint32_t from, uint32_t to)
{
    if (old != NULL && from >= old->first && to < old->first + old->n)
        return old;
    if (old != NULL && old->first < from)
        from = old->first;
    if (old != NULL && old->first + old->n - 1 > to)
        to = old->first + old->n - 1;
    struct row *r = mem_calloc(1, sizeof *r + (to - from + 1) * sizeof r->counts[0]);
    r->first = from;
    r->n = to - from + 1;
    if (old != NULL)
        memcpy(&r->counts[old->first - from], old->counts, old->n * sizeof r->counts[0]);
    mem_free(old);
    return r;
}

static void row_add(struct row **row, const uint32_t add[BUCKETS])
{
    uint32_t from = 0, to = BUCKETS - 1;
    while (from < BUCKETS && add[from] == 0)
        from++;
    if (from == BUCKETS)
        return;
    while (add[to] == 0)
        to--;
    struct row *r = *row = widen(*row, from, to);
    for (uint32_t i = from; i <= to; i++)
        add_u32(&r->counts[i - r->first], add[i]);
}

/* Blocks become twice as long. */
static void fold(struct outliers *o)
{
    uint32_t add[BUCKETS];
    o->block_ns *= 2;
    for (size_t a = 0; a < o->n_agents; a++) {
        struct blocks *b = o->agents[a];
        if (b == NULL)
            continue;
        for (size_t k = 0; k < BLOCKS / 2; k++) {
            struct row *first = b->rows[2 * k], *second = b->rows[2 * k + 1];
            b->rows[2 * k] = b->rows[2 * k + 1] = NULL;
            expand(second, add);
            row_add(&first, add);
            mem_free(second);
            b->rows[k] = first;
        }
    }
}

/* Of the default geometry, which is what snapshots have. What is outside goes to the ends. */
static uint32_t first_counter(size_t i)
{
    return i == 0 ? 0 : FIRST + COUNTERS
    *(uint32_t)i;
}

static uint32_t last_counter(size_t i)
{
    return i == BUCKETS - 1 ? UINT32_MAX : FIRST + COUNTERS
    *(uint32_t)(i + 1) - 1;
}

void outliers_add(struct outliers *o, size_t agent, uint64_t from_ns, const struct hist *h)
{
    if (h == NULL || hist_count(h) == 0)
        return;
    while (from_ns / o->block_ns >= BLOCKS)
        fold(o);
    if (o->agents[agent] == NULL)
        o->agents[agent] = mem_calloc(1, sizeof *o->agents[agent]);
    uint32_t add[BUCKETS] = {0};
    for (size_t i = 0; i < BUCKETS; i++)
        add_u32(&add[i], hist_count_between(h, first_counter(i), last_counter(i)));
    row_add(&o->agents[agent]->rows[from_ns / o->block_ns], add);
}

/* --- comparing -------------------------------------------------------------------------------- */

/* Samples of those that are still compared, by block, and over the run. */
struct pool {
    uint64_t n[BLOCKS][BUCKETS];
    uint64_t run[BUCKETS];
};

struct difference {
    bool counts;
    double share; /* mean of the differences of shares above the percentile */
    size_t percentile;
    double here_ns, others_ns;
};

static void pool_add(struct pool *p, const struct blocks *b, bool out)
{
    for (size_t k = 0; k < BLOCKS; k++) {
        const struct row *r = b->rows[k];
        for (size_t i = 0; r != NULL && i < r->n; i++) {
            uint64_t n = out ? -(uint64_t)r->counts[i] : r->counts[i];
            p->n[k][r->first + i] += n;
            p->run[r->first + i] += n;
        }
    }
}

static uint64_t sum(const uint64_t *n, size_t from)
{
    uint64_t s = 0;
    for (size_t i = from; i < BUCKETS; i++)
        s += n[i];
    return s;
}

/* The edge with the share above it that is nearest to the percentile's. */
static size_t threshold(const uint64_t *run, double percentile)
{
    double all = (double)sum(run, 0), want = 1 - percentile / 100, best = 2;
    uint64_t above = 0;
    size_t at = BUCKETS;
    for (size_t i = BUCKETS; i > 0; i--) {
        above += run[i - 1];
        double miss = fabs((double)above / all - want);
        if (miss < best) {
            best = miss;
            at = i - 1;
        }
    }
    return at;
}

/* Interpolated inside the bucket. */
static double value_at(const uint64_t *run, double percentile)
{
    struct hist_geometry g = hist_geometry_default();
    double rank = percentile / 100 * (double)sum(run, 0), below = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        if (run[i] > 0 && below + (double)run[i] >= rank) {
            double low = (double)hist_low(&g, FIRST + COUNTERS * (uint32_t)i);
            double high = (double)hist_low(&g, FIRST + COUNTERS * (uint32_t)(i + 1));
            return low + (high - low) * (rank - below) / (double)run[i];
        }
        below += (double)run[i];
    }
    return 0;
}

/* Differences of an agent from the others, block by block. false = too little to compare. */
static bool compare(const struct blocks *b, const struct pool *p, size_t at, double *mean,
                    double *t, size_t *blocks)
{
    double s = 0, squares = 0, above = 0;
    size_t m = 0;
    for (size_t k = 0; k < BLOCKS; k++) {
        const struct row *r = b->rows[k];
        uint64_t here = 0, here_above = 0;
        for (size_t i = 0; r != NULL && i < r->n; i++) {
            here += r->counts[i];
            here_above += r->first + i >= at ? r->counts[i] : 0;
        }
        uint64_t others = sum(p->n[k], 0) - here, others_above = sum(p->n[k], at) - here_above;
        if (here == 0 || others == 0)
            continue;
        double d = (double)here_above / (double)here - (double)others_above / (double)others;
        s += d;
        squares += d * d;
        above += (double)here * (double)(here_above + others_above) / (double)(here + others);
        m++;
    }
    if (m < OUTLIER_BLOCKS_MIN || above < OUTLIER_SAMPLES * (double)m)
        return false;
    *mean = s / (double)m;
    double variance = (squares - s * *mean) / (double)(m - 1);
    double error = sqrt((variance > 0 ? variance : 0) / (double)m);
    *t = error > 1e-12 ? *mean / error : (fabs(*mean) > 1e-9 ? INFINITY : 0);
    *blocks = m;
    return true;
}

static bool matters(double here_ns, double others_ns)
{
    double ratio = here_ns / others_ns;
    return others_ns > 0 && (ratio >= RATIO || ratio <= 1 / RATIO) &&
           fabs(here_ns - others_ns) >= (double)DISTANCE_NS;
}

/* The percentile at which the agent differs most. */
static struct difference differs(const struct blocks *b, const struct pool *p, double alpha,
                                 bool *tested)
{
    struct difference most = {0};
    uint64_t here[BUCKETS] = {0}, others[BUCKETS];
    for (size_t k = 0; k < BLOCKS; k++)
        for (size_t i = 0; b->rows[k] != NULL && i < b->rows[k]->n; i++)
            here[b->rows[k]->first + i] += b->rows[k]->counts[i];
    for (size_t i = 0; i < BUCKETS; i++)
        others[i] = p->run[i] - here[i];
    for (size_t q = 0; q < PERCENTILES; q++) {
        double mean, t;
        size_t m;
        if (!compare(b, p, threshold(p->run, percentiles[q]), &mean, &t, &m))
            continue;
        *tested = true;
        double x = value_at(here, percentiles[q]), y = value_at(others, percentiles[q]);
        if (!matters(x, y) || student_two_sided(t, (double)(m - 1)) >= alpha)
            continue;
        if (!most.counts || fabs(mean) > fabs(most.share))
            most = (struct difference){true, mean, q, x, y};
    }
    return most;
}

static void name(struct outlier *f, const struct difference *d, bool pair)
{
    f->any = true;
    f->pair = pair;
    f->percentile = percentiles[d->percentile];
    f->here_ns = (uint64_t)d->here_ns;
    f->others_ns = (uint64_t)d->others_ns;
}

static size_t to_compare(const struct outliers *o, struct pool *p)
{
    size_t n = 0;
    for (size_t i = 0; i < o->n_agents; i++) {
        if (o->agents[i] == NULL)
            continue;
        pool_add(p, o->agents[i], false);
        n++;
    }
    return n;
}

/* SIZE_MAX = none. */
static size_t odd_one(const struct outliers *o, const struct pool *p, double alpha,
                      struct outlier *found, struct difference *most)
{
    size_t odd = SIZE_MAX;
    for (size_t i = 0; i < o->n_agents; i++) {
        if (o->agents[i] == NULL || found[i].any)
            continue;
        struct difference d = differs(o->agents[i], p, alpha, &found[i].tested);
        if (!d.counts || (odd != SIZE_MAX && fabs(d.share) <= fabs(most->share)))
            continue;
        *most = d;
        odd = i;
    }
    return odd;
}

static void name_pair(const struct outliers *o, struct outlier *found, size_t odd,
                      const struct difference *d)
{
    struct difference other = *d;
    other.here_ns = d->others_ns;
    other.others_ns = d->here_ns;
    for (size_t i = 0; i < o->n_agents; i++)
        if (o->agents[i] != NULL && !found[i].any)
            name(&found[i], i == odd ? d : &other, true);
}

void outliers_find(const struct outliers *o, struct outlier *found)
{
    struct pool *p = mem_calloc(1, sizeof *p);
    size_t left = to_compare(o, p);
    double alpha = OUTLIER_ALPHA / (double)(PERCENTILES * (left + 1));
    memset(found, 0, o->n_agents * sizeof *found);
    for (size_t named = 0; named < OUTLIERS_MAX && left >= 2; named++, left--) {
        struct difference d = {0};
        size_t odd = odd_one(o, p, alpha, found, &d);
        if (odd == SIZE_MAX)
            break;
        if (left == 2) {
            name_pair(o, found, odd, &d);
            break;
        }
        name(&found[odd], &d, false);
        pool_add(p, o->agents[odd], true);
    }
    mem_free(p);
}
