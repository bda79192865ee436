/* SPDX-License-Identifier: MIT */
#include "controller/run/confidence.h"

#include <math.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/run/result.h"

#define PART_NS        (5 * NS_PER_SEC)
#define PARTS_WANTED   10
#define PARTS_MIN      5
#define Z_975          1.959963984540054
#define EXACT_MAX      1000 /* samples up to which the ranks are the binomial distribution's own */
#define ONE_SIDE       0.025
#define WIDE_PRECISION 0.5 /* of the share of samples beyond the percentile */

struct confidence_run {
    size_t n;
    bool shorter;
    uint64_t part_ns;
    struct hist *parts[BLOCKS_MAX];
};

static const char *const method_names[] = {
    [CONFIDENCE_NONE] = "none",
    [CONFIDENCE_BLOCKS] = "blocks",
    [CONFIDENCE_SHORT_BLOCKS] = "short-blocks",
    [CONFIDENCE_INDEPENDENT] = "independent",
};

const char *confidence_method_name(enum confidence_method m)
{
    return method_names[m];
}

/* --- blocks to parts ---------------------------------------------------------------------------
 */

size_t confidence_grouping(const struct blocks *b, size_t *per, bool *shorter)
{
    size_t n = b != NULL ? blocks_n(b) : 0;
    uint64_t length_ns = n > 0 ? blocks_length_ns(b) : 0;
    *per = 1;
    *shorter = true;
    if (n < PARTS_MIN || length_ns == 0)
        return 0;
    size_t five_s = (size_t)((PART_NS + length_ns - 1) / length_ns);
    *shorter = n / five_s < PARTS_WANTED;
    *per = !*shorter || n / five_s >= PARTS_MIN ? five_s : n / PARTS_MIN;
    return n / *per;
}

/* What is left over, the end of the run with its late answers above all, is the last one's. */
static void fill_part(struct confidence_run *c, const struct blocks *b, enum blocks_clock clock,
                      size_t i, size_t per)
{
    size_t first = i * per, end = i + 1 < c->n ? first + per : blocks_n(b);
    struct hist *sum = blocks_hist(b, first, clock);
    for (size_t k = first + 1; k < end; k++) {
        struct hist *h = blocks_hist(b, k, clock);
        enum err e = hist_add(sum, h);
        (void)e; /* no more than the total, which was added */
        hist_free(h);
    }
    uint64_t ns = blocks_at(b, end - 1).to_ns - blocks_at(b, first).from_ns;
    if (c->part_ns == 0 || ns < c->part_ns)
        c->part_ns = ns;
    c->parts[i] = sum;
}

struct confidence_run *confidence_new(const struct blocks *b, enum blocks_clock clock)
{
    struct confidence_run *c = mem_calloc(1, sizeof *c);
    size_t per;
    c->n = confidence_grouping(b, &per, &c->shorter);
    for (size_t i = 0; i < c->n; i++)
        fill_part(c, b, clock, i, per);
    return c;
}

void confidence_free(struct confidence_run *c)
{
    for (size_t i = 0; c != NULL && i < c->n; i++)
        hist_free(c->parts[i]);
    mem_free(c);
}

size_t confidence_parts(const struct confidence_run *c)
{
    return c->n;
}

uint64_t confidence_part_ns(const struct confidence_run *c)
{
    return c->part_ns;
}

/* --- the interval ------------------------------------------------------------------------------
 */

/* Quantile 0.975 of Student's t, by the expansion of Cornish and Fisher: to 0.1 % from 4 on. */
static double student(size_t freedom)
{
    double z = Z_975, z2 = z * z, v = (double)freedom;
    double g1 = z * (z2 + 1) / 4;
    double g2 = z * ((5 * z2 + 16) * z2 + 3) / 96;
    double g3 = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
    double g4 = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
    return z + (g1 + (g2 + (g3 + g4 / v) / v) / v) / v;
}

static uint64_t above(const struct hist *h, uint64_t v, bool with_bucket)
{
    uint64_t n = hist_count_above(h, v);
    if (with_bucket)
        n += hist_count_at(h, hist_index(hist_geometry_of(h), v));
    return n;
}

double confidence_deff(struct hist *const *parts, size_t n, uint64_t v)
{
    double total = 0, slow = 0, squares = 0;
    bool none = true;
    for (size_t i = 0; i < n; i++)
        none = none && hist_count_above(parts[i], v) == 0;
    for (size_t i = 0; i < n; i++) {
        total += (double)hist_count(parts[i]);
        slow += (double)above(parts[i], v, none);
    }
    double share = total > 0 ? slow / total : 0;
    if (n < 2 || share <= 0 || share >= 1)
        return 1;
    for (size_t i = 0; i < n; i++) {
        double d = (double)above(parts[i], v, none) - share * (double)hist_count(parts[i]);
        squares += d * d;
    }
    double deff = (double)n / (double)(n - 1) * squares / total / (share * (1 - share));
    return deff > 1 ? deff : 1;
}

struct ranks {
    double lo, hi; /* below 1, above the count: none */
};

/* P(at most k of n) for the ranks at both sides; n is small. */
static struct ranks binomial_ranks(uint64_t n, double p)
{
    struct ranks r = {0, (double)n + 1};
    double logs = lgamma((double)n + 1), sum = 0;
    for (uint64_t k = 0; k <= n; k++) {
        double x = (double)k;
        sum += exp(logs - lgamma(x + 1) - lgamma((double)n - x + 1) + x * log(p) +
                   ((double)n - x) * log(1 - p));
        if (sum <= ONE_SIDE)
            r.lo = x + 1; /* P(X < lo) = P(X <= k) */
        if (sum >= 1 - ONE_SIDE) {
            r.hi = x + 1;
            break;
        }
    }
    return r;
}

static struct ranks normal_ranks(uint64_t n, double p, double t, double deff)
{
    double at = (double)n * p, s = sqrt(deff * at * (1 - p));
    return (struct ranks){floor(at - t * s), ceil(at + t * s) + 1};
}

static struct ranks ranks_of(const struct confidence *c, uint64_t n, double p, size_t parts)
{
    struct ranks exact = n <= EXACT_MAX ? binomial_ranks(n, p) : (struct ranks){0, 0};
    if (n <= EXACT_MAX && c->deff <= 1)
        return exact;
    bool blocks = c->method != CONFIDENCE_INDEPENDENT;
    struct ranks r = normal_ranks(n, p, blocks ? student(parts - 1) : Z_975, c->deff);
    if (n <= EXACT_MAX && exact.lo < r.lo)
        r.lo = exact.lo;
    if (n <= EXACT_MAX && exact.hi > r.hi)
        r.hi = exact.hi;
    return r;
}

/* From the lower edge of one bucket to the upper edge of the other. */
static void values_of(struct confidence *c, const struct hist *whole, struct ranks r)
{
    const struct hist_geometry *g = hist_geometry_of(whole);
    if (r.lo >= 1)
        c->lo = hist_low(g, hist_index(g, hist_value_at_rank(whole, (uint64_t)r.lo)));
    if (r.lo >= 1 && c->lo < hist_min(whole))
        c->lo = hist_min(whole);
    c->has_hi = r.hi <= (double)hist_count(whole);
    if (c->has_hi)
        c->hi = hist_value_at_rank(whole, (uint64_t)r.hi);
    if (c->hi > hist_max(whole))
        c->hi = hist_max(whole);
}

/* Samples for the share beyond the percentile to be known to so much of itself. */
static double samples_for(double p, double precision)
{
    return Z_975 * Z_975 * p / (1 - p) / (precision * precision);
}

static struct confidence judge(const struct hist *whole, struct hist *const *parts, size_t n,
                               double percentile, enum confidence_method method)
{
    uint64_t count = hist_count(whole);
    double p = percentile / 100;
    struct confidence c = {.method = method, .deff = 1};
    if (count > 0 && method != CONFIDENCE_INDEPENDENT)
        c.deff = confidence_deff(parts, n, hist_value_at_percentile(whole, percentile));
    c.needed = (uint64_t)ceil(c.deff * (double)result_samples_needed(percentile));
    if (count == 0) {
        c.method = CONFIDENCE_NONE;
        return c;
    }
    c.tail_events = (double)(count - hist_rank(percentile, count)) / c.deff;
    c.supported = count >= c.needed;
    c.wide = c.supported && (double)count < c.deff * samples_for(p, WIDE_PRECISION);
    values_of(&c, whole, ranks_of(&c, count, p, n));
    return c;
}

struct confidence confidence_of(const struct hist *whole, struct hist *const *parts, size_t n,
                                double percentile)
{
    return judge(whole, parts, n, percentile,
                 n >= PARTS_MIN ? CONFIDENCE_BLOCKS : CONFIDENCE_INDEPENDENT);
}

struct confidence confidence_at(const struct confidence_run *c, const struct hist *whole,
                                double percentile)
{
    enum confidence_method method = c->n < PARTS_MIN ? CONFIDENCE_INDEPENDENT
                                    : c->shorter     ? CONFIDENCE_SHORT_BLOCKS
                                                     : CONFIDENCE_BLOCKS;
    return judge(whole, c->parts, c->n, percentile, method);
}
