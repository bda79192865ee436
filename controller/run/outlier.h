/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_OUTLIER_H
#define HAMMER_CONTROLLER_OUTLIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hist.h"

/*
 * PURE: which agents measured other latencies than the rest, beyond chance. The run is cut into 16
 * to 32 blocks of equal length, and in each block the share of an agent's samples above the run's
 * p50, p90 and p99 is held against the share of the others' samples: what they have in common, a
 * stall for instance, cancels out, and what repeats from sample to sample stays inside a block. A
 * t-test over the blocks decides, corrected for all agents and percentiles: the chance that any
 * agent of a run without a difference is named is OUTLIER_ALPHA. A difference must also matter: the
 * percentile is 25 % and 0.1 ms away from the others' at least. The one that differs most is taken
 * out, and the rest is looked at again.
 *
 * Memory: 12 KiB an agent, however long the run is. Buckets are a quarter of an octave wide, 1 us
 * to 17 s; percentiles are interpolated in them.
 */

#define OUTLIER_ALPHA      0.01
#define OUTLIERS_MAX       16
#define OUTLIER_BLOCKS_MIN 8
#define OUTLIER_SAMPLES    2 /* above the percentile, a block and agent, on average */

struct outlier {
    bool tested; /* there was enough to compare */
    bool any;    /* it differs */
    bool pair;   /* from one other only: nobody can tell which of the two is odd */
    double percentile;
    uint64_t here_ns, others_ns; /* there, approximately */
};

struct outliers;

struct outliers *outliers_new(size_t n_agents, uint64_t interval_ns);
void outliers_free(struct outliers *o); /* NULL is fine */
/* Latencies of an agent's interval that began at from_ns; h may be NULL. */
void outliers_add(struct outliers *o, size_t agent, uint64_t from_ns, const struct hist *h);
/* Fills one entry an agent. */
void outliers_find(const struct outliers *o, struct outlier *found);

#endif
