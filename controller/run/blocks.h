/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_BLOCKS_H
#define HAMMER_CONTROLLER_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/hist.h"
#include "controller/run/merge.h"

/*
 * PURE: the run in a bounded number of blocks of equal length, each with its own histograms,
 * however long it takes: neighbours are added together once there are too many, so that memory does
 * not grow with the run. What confidence intervals, stationarity, the bootstrap and the heat map
 * are made of. A block covers whole intervals of the timeline, of what was due after the warm-up;
 * rows before the first request are in none. The blocks of a run take 1 MB or so, 6 MB where
 * latencies are spread evenly over a microsecond to a minute.
 */

#define BLOCKS_MAX 64 /* between half of it and it, once the run is long enough */

struct blocks;

struct block {
    uint64_t from_ns, to_ns;
    uint64_t sent, completed, errors;
};

struct blocks *blocks_new(void);
void blocks_free(struct blocks *b); /* NULL is fine */
/* The next row of the timeline, in order. */
void blocks_add(struct blocks *b, const struct merge_view *v);

size_t blocks_n(const struct blocks *b);
struct block blocks_at(const struct blocks *b, size_t i);
enum blocks_clock {
    BLOCKS_CORRECTED,
    BLOCKS_UNCORRECTED
};
/* A new histogram, the caller's (hist_free), never NULL; empty where nothing was recorded. */
struct hist *blocks_hist(const struct blocks *b, size_t i, enum blocks_clock clock);
/* What every block but the last is as long as at least; 0 = there is none. */
uint64_t blocks_length_ns(const struct blocks *b);

#endif
