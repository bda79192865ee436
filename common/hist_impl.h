/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_HIST_IMPL_H
#define HAMMER_COMMON_HIST_IMPL_H

#include "common/hist.h"

/*
 * Body of struct hist, shared by hist.c, hist_blocks.c and hist_codec.c only. Most of the 33 792
 * counters of a histogram are 0 and most of the others are small: counters are kept in blocks that
 * are there when one of them is not 0, each as wide as its largest needs. A controller holds some
 * for each of a thousand agents.
 *
 * Invariants: the counters at `first` and `top` are not 0 and none outside is; total is
 * the sum of the counters and at most HIST_TOTAL_MAX, so 128 bits always hold the sum of values.
 */

#define HIST_BLOCK_LOG2 6
#define HIST_BLOCK      (1u << HIST_BLOCK_LOG2) /* counters of a block */
#define HIST_PAGE       16 /* blocks of a page; a page is one doubling of the default geometry */

/* One allocation for the blocks of a page: each of them alone would cost a quarter more. */
struct hist_page {
    uint8_t *bytes; /* of the blocks that are there, one behind the other */
    /* Where a block begins, in units of HIST_BLOCK bytes: up to the next one's begin it is as many
     * as a counter has bytes, 1, 2, 4 or 8, or none = 0 throughout. */
    uint8_t start[HIST_PAGE + 1];
    uint8_t room; /* there is in `bytes`, in the same units */
};

struct hist {
    struct hist_geometry g;
    uint32_t first, top; /* occupied range; empty: UINT32_MAX and 0 */
    uint64_t total, saturated;
    uint64_t min, max; /* empty: UINT64_MAX and 0 */
    unsigned __int128 sum;
    uint32_t n_pages;
    struct hist_page *pages[]; /* NULL = 0 throughout */
};

/* --- hist_blocks.c: block b holds the counters HIST_BLOCK * b and up ----------------------------
 */

/* False = all are 0, `out` is not touched then. */
bool hist_blocks_read(const struct hist *h, uint32_t b, uint64_t out[HIST_BLOCK]);
/* Of its counters; 0 where there is none. */
uint64_t hist_blocks_sum(const struct hist *h, uint32_t b);
/* Counter by counter; totals and the occupied range are the caller's. */
void hist_blocks_add(struct hist *h, uint32_t b, const uint64_t add[HIST_BLOCK]);
/* Every block of `from`, which has the same geometry. */
void hist_blocks_add_all(struct hist *to, const struct hist *from);
uint64_t hist_blocks_get(const struct hist *h, uint32_t i);
/* One counter. */
void hist_blocks_count(struct hist *h, uint32_t i, uint64_t n);
/* The block's counters, made when missing; NULL = they are wider than a byte. For who adds many in
 * order: valid until anything else is done to the histogram. */
uint8_t *hist_blocks_bytes(struct hist *h, uint32_t b);
/* All counters are 0; the memory of the blocks stays, for the next ones. */
void hist_blocks_clear(struct hist *h);
void hist_blocks_free(struct hist *h);

/* Goes through the counters that are not 0, upwards. */
struct hist_cursor {
    const struct hist *h;
    uint32_t next; /* counter to look at */
};

/* From counter `from` on. */
void hist_cursor_init(struct hist_cursor *c, const struct hist *h, uint32_t from);
bool hist_cursor_next(struct hist_cursor *c, uint32_t *index, uint64_t *count);

/* --- hist.c -------------------------------------------------------------------------------------
 */

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

/* The least and the most that the samples in the buckets can add up to. */
struct hist_edges {
    unsigned __int128 low, high;
};

static inline void hist_edges_add(struct hist_edges *e, struct hist_span span, uint64_t n)
{
    e->low += (unsigned __int128)span.low * n;
    e->high += (unsigned __int128)(span.low + (span.width - 1)) * n;
}

/* hist_set_exact for who has added the edges up already. */
enum err hist_set_exact_within(struct hist *h, const struct hist_exact *x,
                               const struct hist_edges *edges);

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
