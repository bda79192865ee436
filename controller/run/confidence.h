/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_CONFIDENCE_H
#define HAMMER_CONTROLLER_CONFIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hist.h"
#include "controller/run/blocks.h"

/*
 * PURE: how far a percentile can be trusted. Slow responses come in bursts: a hundred of one stall
 * are one event, not a hundred. So the interval is by order statistics (Woodruff), its width by how
 * much the blocks of the run differ in their share of slow samples: the design effect, how many
 * samples are worth one independent sample. docs/measuring.md has the formulas and the coverage.
 */

enum confidence_method {
    CONFIDENCE_NONE,         /* nothing was recorded */
    CONFIDENCE_BLOCKS,       /* blocks of 5 s at least, ten or more of them */
    CONFIDENCE_SHORT_BLOCKS, /* the run is too short for that: fewer or shorter ones */
    CONFIDENCE_INDEPENDENT   /* too short for blocks: as if no sample depended on another */
};

struct confidence {
    enum confidence_method method;
    uint64_t lo, hi;    /* 95 %; lo 0 = no lower bound */
    bool has_hi;        /* false = the sample says nothing about how high it may be */
    double deff;        /* at least 1 */
    double tail_events; /* samples above the percentile, over deff: independent events they are
                           worth */
    uint64_t needed;    /* samples for it to be supported, if the rest of the run is like this */
    bool supported;     /* else it must not be relied on */
    bool wide;          /* supported, but the share beyond it is not known to +- 50 % */
};

struct confidence_run;

/* Of one clock of the blocks; NULL is fine for b and is no blocks. */
struct confidence_run *confidence_new(const struct blocks *b, enum blocks_clock clock);
void confidence_free(struct confidence_run *c); /* NULL is fine */
/* How many blocks were added together to those that are compared, and the shortest length. */
size_t confidence_parts(const struct confidence_run *c);
uint64_t confidence_part_ns(const struct confidence_run *c);
/* `whole` is what the percentile is of: the sum of the blocks, or nearly so. 0 < percentile < 100.
 */
struct confidence confidence_at(const struct confidence_run *c, const struct hist *whole,
                                double percentile);
const char *confidence_method_name(enum confidence_method m); /* "blocks", "independent" ... */

/* --- pieces, for those who have histograms of their own ----------------------------------------
 */

/* The same with any disjoint parts of the whole, none of which is NULL; n < 5: independent. */
struct confidence confidence_of(const struct hist *whole, struct hist *const *parts, size_t n,
                                double percentile);
/* Variance of the share of samples in buckets above that of v, between n >= 2 parts, over what it
 * would be if every sample stood for itself; at least 1. */
double confidence_deff(struct hist *const *parts, size_t n, uint64_t v);
/* Blocks of b added together: in each group at least as many as make it 5 s long where that leaves
 * enough groups, see confidence.c. The number of groups; *per is how many blocks make one, the last
 * has up to twice as many less one. */
size_t confidence_grouping(const struct blocks *b, size_t *per, bool *shorter);

#endif
