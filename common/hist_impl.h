/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_HIST_IMPL_H
#define HAMMER_COMMON_HIST_IMPL_H

#include "common/hist.h"

/*
 * Body of struct hist, shared by hist.c and hist_codec.c only: the codec adds straight into the
 * counters. Invariants: the counters at `first` and `top` are not 0 and none outside is; total is
 * the sum of the counters and at most HIST_TOTAL_MAX, so 128 bits always hold the sum of values.
 */
struct hist {
    struct hist_geometry g;
    uint32_t first, top; /* occupied range; empty: UINT32_MAX and 0 */
    uint64_t total, saturated;
    uint64_t min, max; /* empty: UINT64_MAX and 0 */
    unsigned __int128 sum;
    uint64_t counts[];
};

bool hist_same_geometry(const struct hist_geometry *a, const struct hist_geometry *b);

/* The values that share bucket i. Inline: it is most of what decoding a bucket costs. */
struct hist_span {
    uint64_t low, width;
};

static inline struct hist_span hist_span_of(const struct hist_geometry *g, uint32_t i)
{
    uint32_t group = i >> g->sub_half_magnitude; /* the first two groups have the same width */
    uint32_t doublings = group == 0 ? 0 : group - 1;
    uint64_t sub = i - (doublings << g->sub_half_magnitude);
    uint32_t bits = g->unit_magnitude + doublings;
    return (struct hist_span){.low = sub << bits, .width = UINT64_C(1) << bits};
}

/* Widens the occupied range and the exact figures by what was added to the counters. */
static inline void hist_widen(struct hist *h, uint32_t first, uint32_t top, uint64_t min,
                              uint64_t max)
{
    if (first < h->first)
        h->first = first;
    if (top > h->top)
        h->top = top;
    if (min < h->min)
        h->min = min;
    if (max > h->max)
        h->max = max;
}

#endif
