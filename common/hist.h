/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_HIST_H
#define HAMMER_COMMON_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * Log-linear histogram with HdrHistogram's geometry (https://github.com/HdrHistogram): values are
 * grouped in buckets of relative width < 1/1024 at 3 significant digits. Two forms share it:
 *   struct hist     any geometry, counts up to HIST_TOTAL_MAX, memory for the occupied buckets
 * only, 1 to 2 bytes each as a rule; totals, reports, decoding struct hist_rec u32 counters, the
 * default geometry; what a worker records into for one interval Beside the buckets both carry the
 * exact minimum, maximum and sum of what was recorded, which the V2 encoding does not have. Values
 * above the highest are recorded as the highest and counted. Not thread safe; each histogram has
 * one owner.
 */

#define HIST_LOWEST     UINT64_C(1)
#define HIST_HIGHEST    UINT64_C(3600000000000) /* 1 h in ns */
#define HIST_DIGITS     3
#define HIST_SUB_BITS   11         /* default geometry: 2048 sub-buckets */
#define HIST_COUNTS     33792      /* counters of the default geometry */
#define HIST_COUNTS_MAX (1u << 22) /* larger geometries are refused before allocating: 32 MiB */
#define HIST_TOTAL_MAX  UINT64_C(0x7fffffffffffffff) /* samples; V2 counts are signed */

struct hist_geometry {
    uint64_t lowest;
    uint64_t highest;
    uint32_t digits;
    uint32_t unit_magnitude;
    uint32_t sub_half_magnitude; /* shm */
    uint32_t counts_len;
    uint64_t sub_mask;
};

struct hist;

/* ERR_INVALID unless 1 <= lowest, 2 lowest <= highest <= INT64_MAX, 1 <= digits <= 5 and the first
 * bucket fits in 62 bits; ERR_TOO_BIG over HIST_COUNTS_MAX. *g is written on success only. */
enum err hist_geometry_init(struct hist_geometry *g, uint64_t lowest, uint64_t highest,
                            uint32_t digits) MUST_CHECK;
/* 1 ns .. 1 h, 3 digits. */
struct hist_geometry hist_geometry_default(void);
/* Index of the bucket of v; may exceed counts_len for v far above highest: the caller checks. */
uint32_t hist_index(const struct hist_geometry *g, uint64_t v);
/* Lowest, highest and median value that share bucket i. */
uint64_t hist_low(const struct hist_geometry *g, uint32_t i);
uint64_t hist_high(const struct hist_geometry *g, uint32_t i);
uint64_t hist_median(const struct hist_geometry *g, uint32_t i);

/* Heap object, zeroed. Out of memory ends the process. The geometry must be valid. */
struct hist *hist_new(const struct hist_geometry *g);
struct hist *hist_new_default(void);
void hist_free(struct hist *h);  /* NULL is fine */
void hist_reset(struct hist *h); /* empty; keeps its memory for what comes next */
struct hist *hist_copy(const struct hist *h);

/* Records `count` times v; above highest it is clamped and counted in hist_saturated. The total
 * stops at HIST_TOTAL_MAX. */
void hist_record(struct hist *h, uint64_t v, uint64_t count);
/* a += b. Same geometry: counters are added. Other geometry: each bucket's low value is re-recorded
 * with its count (Java's rule), clamped like any value; the exact figures of `a` may then lie
 * beside its buckets. Exact min, max, sum and saturated are added too. Overflow of the total is
 * ERR_RANGE and leaves `a` untouched. */
enum err hist_add(struct hist *a, const struct hist *b) MUST_CHECK;
/* Geometry, counters, min, max, sum, saturated. */
bool hist_equal(const struct hist *a, const struct hist *b);

const struct hist_geometry *hist_geometry_of(const struct hist *h);
uint64_t hist_count(const struct hist *h); /* samples */
uint64_t hist_count_at(const struct hist *h, uint32_t index);
/* Number of samples in buckets whose low value is > v, that is above the bucket of v. */
uint64_t hist_count_above(const struct hist *h, uint64_t v);
/* Samples in the buckets first .. last; last may lie beyond the highest. */
uint64_t hist_count_between(const struct hist *h, uint32_t first, uint32_t last);
/* Largest index with a count, 0 when empty. */
uint32_t hist_top_index(const struct hist *h);
uint64_t hist_saturated(const struct hist *h);

/* Exact figures of what was recorded (0 when empty). After decoding bare V2 bytes they are the
 * bucket-rounded ones until hist_set_exact. */
uint64_t hist_min(const struct hist *h);
uint64_t hist_max(const struct hist *h);
double hist_sum(const struct hist *h);
double hist_mean_exact(const struct hist *h);
/* Figures that travel beside the V2 bytes. */
struct hist_exact {
    uint64_t min, max, sum_hi, sum_lo, saturated;
};

/* Puts figures that travelled beside the V2 bytes. ERR_CORRUPT and nothing changed when they
 * contradict the buckets: min not in the lowest occupied bucket, max not in the highest one, sum
 * outside what the buckets, min and max allow, saturated above the count in the bucket of highest.
 * An empty histogram has only zeros. */
enum err hist_set_exact(struct hist *h, uint64_t min, uint64_t max, uint64_t sum_hi,
                        uint64_t sum_lo, uint64_t saturated) MUST_CHECK;
void hist_sum128(const struct hist *h, uint64_t *hi, uint64_t *lo);

/* HdrHistogram's figures, from buckets only (measurement rules of Java 2.1.11):
 * quantile: k = max(1, ceil(nextafter(p,-inf) * N / 100)); high value of the first bucket whose
 * cumulative count is >= k; p = 0 gives the low value; empty gives 0. p is clamped to 0..100. */
uint64_t hist_value_at_percentile(const struct hist *h, double percentile);
/* Value at nearest rank k (1-based, clamped to 1..N); the same bucket rule. */
uint64_t hist_value_at_rank(const struct hist *h, uint64_t k);
/* Rank of a percentile among n samples: the k above; 0 when n is 0. */
uint64_t hist_rank(double percentile, uint64_t n);
uint64_t hist_min_bucket(const struct hist *h);
uint64_t hist_max_bucket(const struct hist *h);
/* In doubles, as Java does it: may be an ulp outside min..max. hist_mean_exact is not. */
double hist_mean(const struct hist *h);
double hist_stddev(const struct hist *h);

/*
 * Interval recorder, default geometry only. Its body is public so that recording inlines: 1 to 2
 * ns. The touched range is the buckets of min..max, so adding and clearing cost what was used.
 */
struct hist_rec {
    uint32_t counts[HIST_COUNTS];
    uint64_t total, saturated;
    uint64_t min, max; /* min > max = empty */
    unsigned __int128 sum;
};

void hist_rec_init(struct hist_rec *r);
void hist_rec_reset(struct hist_rec *r); /* clears the touched range only */
/* h += r; h has the default geometry. u32 counters cannot overflow u64 totals. */
void hist_rec_add_to(const struct hist_rec *r, struct hist *h);

static inline void hist_rec_record(struct hist_rec *r, uint64_t v)
{
    if (v > HIST_HIGHEST) {
        v = HIST_HIGHEST;
        r->saturated++;
    }
    /* hist_index for unit 1: the mask keeps everything below 2048 in the first, exact bucket. */
    uint64_t mask = (UINT64_C(1) << HIST_SUB_BITS) - 1;
    uint32_t shift = 64 - HIST_SUB_BITS - (uint32_t)__builtin_clzll(v | mask);
    r->counts[(shift << (HIST_SUB_BITS - 1)) + (uint32_t)(v >> shift)]++;
    r->total++;
    r->sum += v;
    if (v < r->min)
        r->min = v;
    if (v > r->max)
        r->max = v;
}

#endif
