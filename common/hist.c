/* SPDX-License-Identifier: MIT */
#include "common/hist.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "common/hist_impl.h"
#include "common/mem.h"

typedef unsigned __int128 u128;

/* M = ceil(log2(2 * 10^digits)): sub-buckets enough for the relative width at that precision. */
static const uint32_t sub_bits[] = {0, 5, 8, 11, 15, 18};

#define DIGITS_MAX     (sizeof sub_bits / sizeof sub_bits[0] - 1)
#define FIRST_BITS_MAX 62

_Static_assert(HIST_DIGITS == 3 && HIST_SUB_BITS == 11, "hist_rec_record is written for these");

static uint32_t bit_length(uint64_t v)
{
    return v == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(v);
}

/* Buckets, each doubling the range, until `highest` is covered: 2^bits, 2^(bits+1), ... > highest.
 * Values are signed in the format, so no more than 2^63 needs covering. */
static uint32_t bucket_count(uint64_t highest, uint32_t first_bits)
{
    uint32_t need = bit_length(highest);
    return need <= first_bits ? 1 : 1 + need - first_bits;
}

enum err hist_geometry_init(struct hist_geometry *g, uint64_t lowest, uint64_t highest,
                            uint32_t digits)
{
    if (lowest < 1 || highest > INT64_MAX || highest / 2 < lowest)
        return ERR_INVALID;
    if (digits < 1 || digits > DIGITS_MAX)
        return ERR_INVALID;
    uint32_t unit = bit_length(lowest) - 1;
    uint32_t bits = sub_bits[digits];
    if (unit + bits > FIRST_BITS_MAX)
        return ERR_INVALID;
    uint32_t counts_len = (bucket_count(highest, unit + bits) + 1) << (bits - 1);
    if (counts_len > HIST_COUNTS_MAX)
        return ERR_TOO_BIG;
    *g = (struct hist_geometry){.lowest = lowest,
                                .highest = highest,
                                .digits = digits,
                                .unit_magnitude = unit,
                                .sub_half_magnitude = bits - 1,
                                .counts_len = counts_len,
                                .sub_mask = ((UINT64_C(1) << bits) - 1) << unit};
    return ERR_OK;
}

struct hist_geometry hist_geometry_default(void)
{
    return (struct hist_geometry){.lowest = HIST_LOWEST,
                                  .highest = HIST_HIGHEST,
                                  .digits = HIST_DIGITS,
                                  .unit_magnitude = 0,
                                  .sub_half_magnitude = HIST_SUB_BITS - 1,
                                  .counts_len = HIST_COUNTS,
                                  .sub_mask = (UINT64_C(1) << HIST_SUB_BITS) - 1};
}

bool hist_same_geometry(const struct hist_geometry *a, const struct hist_geometry *b)
{
    return a->lowest == b->lowest && a->highest == b->highest && a->digits == b->digits;
}

uint32_t hist_index(const struct hist_geometry *g, uint64_t v)
{
    uint32_t bucket = bit_length(v | g->sub_mask) - g->unit_magnitude - (g->sub_half_magnitude + 1);
    uint32_t sub = (uint32_t)(v >> (bucket + g->unit_magnitude));
    return (bucket << g->sub_half_magnitude) + sub;
}

uint64_t hist_low(const struct hist_geometry *g, uint32_t i)
{
    return hist_span_of(g, i).low;
}

uint64_t hist_high(const struct hist_geometry *g, uint32_t i)
{
    struct hist_span span = hist_span_of(g, i);
    return span.low + (span.width - 1);
}

uint64_t hist_median(const struct hist_geometry *g, uint32_t i)
{
    struct hist_span span = hist_span_of(g, i);
    return span.low + (span.width >> 1);
}

static void set_empty(struct hist *h)
{
    h->first = UINT32_MAX;
    h->top = 0;
    h->total = h->saturated = 0;
    h->min = UINT64_MAX;
    h->max = 0;
    h->sum = 0;
}

struct hist *hist_new(const struct hist_geometry *g)
{
    uint32_t counts = HIST_BLOCK * HIST_PAGE;
    uint32_t n_pages = (g->counts_len + counts - 1) / counts;
    struct hist *h = mem_calloc(1, sizeof *h + n_pages * sizeof h->pages[0]);
    h->g = *g;
    h->n_pages = n_pages;
    set_empty(h);
    return h;
}

struct hist *hist_new_default(void)
{
    struct hist_geometry g = hist_geometry_default();
    return hist_new(&g);
}

void hist_free(struct hist *h)
{
    if (h == NULL)
        return;
    hist_blocks_free(h);
    mem_free(h);
}

void hist_reset(struct hist *h)
{
    hist_blocks_clear(h);
    set_empty(h);
}

struct hist *hist_copy(const struct hist *h)
{
    struct hist *copy = hist_new(&h->g);
    memcpy(copy, h,
           offsetof(struct hist, pages)); /* an assignment copies padding, which they use */
    hist_blocks_add_all(copy, h);
    return copy;
}

void hist_record(struct hist *h, uint64_t v, uint64_t count)
{
    if (count > HIST_TOTAL_MAX - h->total)
        count = HIST_TOTAL_MAX - h->total;
    if (count == 0)
        return;
    if (v > h->g.highest) {
        v = h->g.highest;
        h->saturated += count;
    }
    uint32_t i = hist_index(&h->g, v);
    hist_blocks_count(h, i, count);
    h->total += count;
    h->sum += (u128)v * count;
    hist_widen(h, i, i, v, v);
}

/* Records the low value of each bucket of b. Counters and saturated only. */
static void rerecord(struct hist *a, const struct hist *b)
{
    /* Samples clamped in b that are clamped here again must not count twice. */
    if (hist_low(&b->g, hist_index(&b->g, b->g.highest)) <= a->g.highest)
        a->saturated += b->saturated;
    struct hist_cursor c;
    uint32_t j;
    uint64_t n;
    hist_cursor_init(&c, b, b->first);
    while (hist_cursor_next(&c, &j, &n)) {
        uint64_t v = hist_low(&b->g, j);
        if (v > a->g.highest) {
            v = a->g.highest;
            a->saturated += n;
        }
        uint32_t i = hist_index(&a->g, v);
        hist_blocks_count(a, i, n);
        hist_widen(a, i, i, b->min, b->max);
    }
}

enum err hist_add(struct hist *a, const struct hist *b)
{
    if (b->total > HIST_TOTAL_MAX - a->total)
        return ERR_RANGE;
    if (b->total == 0)
        return ERR_OK;
    if (hist_same_geometry(&a->g, &b->g)) {
        hist_blocks_add_all(a, b);
        a->saturated += b->saturated;
        hist_widen(a, b->first, b->top, b->min, b->max);
    } else {
        rerecord(a, b);
    }
    a->total += b->total;
    a->sum += b->sum;
    return ERR_OK;
}

static bool same_blocks(const struct hist *a, const struct hist *b)
{
    uint64_t x[HIST_BLOCK], y[HIST_BLOCK];
    for (uint32_t k = a->first / HIST_BLOCK; k <= a->top / HIST_BLOCK; k++) {
        bool some = hist_blocks_read(a, k, x); /* only a block that is not 0 is there */
        if (some != hist_blocks_read(b, k, y) || (some && memcmp(x, y, sizeof x) != 0))
            return false;
    }
    return true;
}

bool hist_equal(const struct hist *a, const struct hist *b)
{
    if (!hist_same_geometry(&a->g, &b->g) || a->total != b->total || a->first != b->first ||
        a->top != b->top || a->min != b->min || a->max != b->max || a->sum != b->sum ||
        a->saturated != b->saturated)
        return false;
    return a->total == 0 || same_blocks(a, b);
}

const struct hist_geometry *hist_geometry_of(const struct hist *h)
{
    return &h->g;
}

uint64_t hist_count(const struct hist *h)
{
    return h->total;
}

uint64_t hist_count_at(const struct hist *h, uint32_t index)
{
    return index < h->g.counts_len ? hist_blocks_get(h, index) : 0;
}

uint64_t hist_count_between(const struct hist *h, uint32_t first, uint32_t last)
{
    uint64_t sum = 0;
    if (h->total == 0)
        return 0;
    first = first > h->first ? first : h->first;
    last = last < h->top ? last : h->top;
    while (first <= last) {
        if (first % HIST_BLOCK == 0 && last - first >= HIST_BLOCK - 1) {
            sum += hist_blocks_sum(h, first / HIST_BLOCK);
            first += HIST_BLOCK;
        } else {
            sum += hist_blocks_get(h, first++);
        }
    }
    return sum;
}

uint64_t hist_count_above(const struct hist *h, uint64_t v)
{
    struct hist_cursor c;
    uint32_t i, above = hist_index(&h->g, v) + 1;
    uint64_t n, sum = 0;
    hist_cursor_init(&c, h, above > h->first ? above : h->first);
    while (hist_cursor_next(&c, &i, &n))
        sum += n;
    return sum;
}

uint32_t hist_top_index(const struct hist *h)
{
    return h->top;
}

uint64_t hist_saturated(const struct hist *h)
{
    return h->saturated;
}

uint64_t hist_min(const struct hist *h)
{
    return h->total == 0 ? 0 : h->min;
}

uint64_t hist_max(const struct hist *h)
{
    return h->max;
}

double hist_sum(const struct hist *h)
{
    return (double)h->sum;
}

/* Whole part and rest apart: dividing two rounded doubles can land just outside min..max. */
double hist_mean_exact(const struct hist *h)
{
    if (h->total == 0)
        return 0;
    uint64_t whole = (uint64_t)(h->sum / h->total), rest = (uint64_t)(h->sum % h->total);
    return (double)whole + (double)rest / (double)h->total;
}

void hist_sum128(const struct hist *h, uint64_t *hi, uint64_t *lo)
{
    *hi = (uint64_t)(h->sum >> 64);
    *lo = (uint64_t)h->sum;
}

/* Can samples in these buckets, with this min and max, have this sum? The lowest bucket's samples
 * are at least min and one is min; the same for max. */
static bool sum_is_possible(const struct hist *h, uint64_t min, uint64_t max, u128 sum,
                            const struct hist_edges *edges)
{
    u128 least = edges->low, most = edges->high;
    least += (u128)(min - hist_low(&h->g, h->first)) * hist_blocks_get(h, h->first);
    most -= (u128)(hist_high(&h->g, h->top) - max) * hist_blocks_get(h, h->top);
    least += max - (h->first == h->top ? min : hist_low(&h->g, h->top));
    most -= (h->first == h->top ? max : hist_high(&h->g, h->first)) - min;
    return least <= sum && sum <= most;
}

enum err hist_set_exact(struct hist *h, uint64_t min, uint64_t max, uint64_t sum_hi,
                        uint64_t sum_lo, uint64_t saturated)
{
    struct hist_exact x = {min, max, sum_hi, sum_lo, saturated};
    struct hist_edges edges = {0};
    struct hist_cursor c;
    uint32_t i;
    uint64_t n;
    hist_cursor_init(&c, h, h->first);
    while (hist_cursor_next(&c, &i, &n))
        hist_edges_add(&edges, hist_span_of(&h->g, i), n);
    return hist_set_exact_within(h, &x, &edges);
}

enum err hist_set_exact_within(struct hist *h, const struct hist_exact *x,
                               const struct hist_edges *edges)
{
    uint64_t min = x->min, max = x->max;
    u128 sum = (u128)x->sum_hi << 64 | x->sum_lo;
    if (h->total == 0)
        return (min | max | x->sum_hi | x->sum_lo | x->saturated) == 0 ? ERR_OK : ERR_CORRUPT;
    if (min > max || hist_index(&h->g, min) != h->first || hist_index(&h->g, max) != h->top)
        return ERR_CORRUPT;
    if (x->saturated > hist_blocks_get(h, hist_index(&h->g, h->g.highest)))
        return ERR_CORRUPT;
    if (!sum_is_possible(h, min, max, sum, edges))
        return ERR_CORRUPT;
    h->min = min;
    h->max = max;
    h->sum = sum;
    h->saturated = x->saturated;
    return ERR_OK;
}

uint64_t hist_rank(double percentile, uint64_t n)
{
    if (n == 0 || percentile >= 100)
        return n;
    /* One ulp less, so that p * n / 100 does not land just above an integer and round up past it.
     * Written so that NaN counts as 0. */
    double p = percentile > 0 ? nextafter(percentile, -INFINITY) : 0;
    double k = ceil(p * (double)n / 100);
    if (k <= 1)
        return 1;
    return k >= (double)n ? n : (uint64_t)k;
}

static uint32_t index_at_rank(const struct hist *h, uint64_t k)
{
    struct hist_cursor c;
    uint32_t i = h->top, block = h->first / HIST_BLOCK;
    uint64_t n, seen = 0;
    for (; block < h->top / HIST_BLOCK; block++, seen += n)
        if ((n = hist_blocks_sum(h, block)) >= k - seen)
            break;
    hist_cursor_init(&c, h, block * HIST_BLOCK);
    while (hist_cursor_next(&c, &i, &n) && (seen += n) < k) {
    }
    return i;
}

uint64_t hist_value_at_rank(const struct hist *h, uint64_t k)
{
    return h->total == 0 ? 0 : hist_high(&h->g, index_at_rank(h, k < 1 ? 1 : k));
}

uint64_t hist_value_at_percentile(const struct hist *h, double percentile)
{
    if (!(percentile > 0))
        return hist_min_bucket(h);
    return hist_value_at_rank(h, hist_rank(percentile, h->total));
}

uint64_t hist_min_bucket(const struct hist *h)
{
    return h->total == 0 ? 0 : hist_low(&h->g, h->first);
}

uint64_t hist_max_bucket(const struct hist *h)
{
    return h->total == 0 ? 0 : hist_high(&h->g, h->top);
}

double hist_mean(const struct hist *h)
{
    struct hist_cursor c;
    uint32_t i;
    uint64_t n;
    double sum = 0;
    hist_cursor_init(&c, h, h->first);
    while (hist_cursor_next(&c, &i, &n))
        sum += (double)hist_median(&h->g, i) * (double)n;
    return h->total == 0 ? 0 : sum / (double)h->total;
}

double hist_stddev(const struct hist *h)
{
    struct hist_cursor c;
    uint32_t i;
    uint64_t n;
    double mean = hist_mean(h), sum = 0;
    hist_cursor_init(&c, h, h->first);
    while (hist_cursor_next(&c, &i, &n)) {
        double deviation = (double)hist_median(&h->g, i) - mean;
        sum += deviation * deviation * (double)n;
    }
    return h->total == 0 ? 0 : sqrt(sum / (double)h->total);
}

static void rec_set_empty(struct hist_rec *r)
{
    r->total = r->saturated = 0;
    r->min = UINT64_MAX;
    r->max = 0;
    r->sum = 0;
}

void hist_rec_init(struct hist_rec *r)
{
    memset(r->counts, 0, sizeof r->counts);
    rec_set_empty(r);
}

void hist_rec_reset(struct hist_rec *r)
{
    if (r->total > 0) {
        struct hist_geometry g = hist_geometry_default();
        uint32_t first = hist_index(&g, r->min), top = hist_index(&g, r->max);
        memset(&r->counts[first], 0, (top - first + 1) * sizeof r->counts[0]);
    }
    rec_set_empty(r);
}

_Static_assert(HIST_COUNTS % HIST_BLOCK == 0, "blocks of a recorder are whole");

/* Widens a block; false = all are 0. */
static bool any_counts(const uint32_t from[HIST_BLOCK], uint64_t to[HIST_BLOCK])
{
    uint64_t bits = 0;
    for (size_t i = 0; i < HIST_BLOCK; i++)
        bits |= to[i] = from[i];
    return bits != 0;
}

void hist_rec_add_to(const struct hist_rec *r, struct hist *h)
{
    if (r->total == 0)
        return;
    struct hist_geometry g = hist_geometry_default();
    assert(hist_same_geometry(&g, &h->g) && r->total <= HIST_TOTAL_MAX - h->total);
    uint32_t first = hist_index(&g, r->min), top = hist_index(&g, r->max);
    uint64_t counts[HIST_BLOCK];
    for (uint32_t k = first / HIST_BLOCK; k <= top / HIST_BLOCK; k++)
        if (any_counts(&r->counts[k * HIST_BLOCK], counts))
            hist_blocks_add(h, k, counts);
    h->total += r->total;
    h->saturated += r->saturated;
    h->sum += r->sum;
    hist_widen(h, first, top, r->min, r->max);
}
