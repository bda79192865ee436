/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_MERGE_ROW_H
#define HAMMER_CONTROLLER_MERGE_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hist.h"
#include "controller/run/merge.h"
#include "controller/run/result.h"
#include "proto/snapshot.h"

/*
 * One line of the timeline while it can still change: sums, which agents reported, and the
 * histograms its percentiles come from. A row covers slots first..last of the interval grid; more
 * than one when an agent sent one snapshot for several intervals. Histograms of old rows that wait
 * for an agent are kept packed (V2 bytes, a few KB instead of 1 MB): what it sends is still added
 * exactly.
 * Part of merge; nobody else uses it.
 */

#define MERGE_ROW_HISTS 4

struct merge_pack {
    uint8_t *bytes; /* NULL = nothing recorded */
    size_t len;
    uint64_t min, max, sum_hi, sum_lo, saturated;
};

struct merge_row {
    size_t first, last;
    uint64_t interval_ns;
    size_t agent_words;
    uint64_t *agents; /* bit set of agents that reported */
    bool packed;
    struct hist *hists[MERGE_ROW_HISTS];
    struct merge_pack packs[MERGE_ROW_HISTS];
    struct result_interval out; /* sums always, percentiles after merge_row_figures */
};

struct merge_row *merge_row_new(size_t slot, uint64_t interval_ns, size_t n_agents);
void merge_row_free(struct merge_row *r); /* NULL is fine */

/* Adds a snapshot. `replaces_backlog` is what this agent's earlier snapshot put into the row's
 * gauge, 0 when there is none. */
enum err merge_row_add(struct merge_row *r, size_t agent, const struct snapshot *s,
                       uint64_t replaces_backlog) MUST_CHECK;
/* r takes over what `from` holds and covers its slots too; `from` is freed. */
enum err merge_row_join(struct merge_row *r, struct merge_row *from) MUST_CHECK;

/* Brings the percentiles of r->out up to date. Not needed for packed rows: packing did it. */
void merge_row_figures(struct merge_row *r);
/* Calls fn, if there is one, with the row and its histograms, unpacked; figures are up to date
 * then.
 */
void merge_row_show(struct merge_row *r, merge_view_fn fn, void *arg);
void merge_row_pack(struct merge_row *r);

#endif
