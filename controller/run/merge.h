/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_MERGE_H
#define HAMMER_CONTROLLER_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "controller/run/result.h"
#include "proto/snapshot.h"

/*
 * PURE: adds the agents' snapshots. Keeps one cumulative snapshot per agent (sum of deltas), one
 * for all, and the timeline; proves at the end that each agent's own cumulative figures equal the
 * sum. An interval closes when all live agents have reported it or at its deadline; what comes
 * later is still added to its row. Of an interval that nobody will report any more only the line of
 * the result is kept. Never averages a percentile.
 */

struct merge;

/* A row of the timeline and what it was made of: the histograms of all agents, of what was due
 * after the warm-up. NULL = nothing was recorded. Valid during the call. */
struct merge_view {
    const struct result_interval *row;
    const struct hist *corrected, *uncorrected, *send_lag, *receive;
};

typedef void (*merge_view_fn)(void *arg, const struct merge_view *v);

struct merge *merge_new(size_t n_agents, uint64_t interval_ns);
void merge_free(struct merge *m);
/* What was stored is made anew: the timeline begins at that slot, a number of intervals after t0,
 * and no interval is late. Before anything is added. */
void merge_stored(struct merge *m, size_t first_slot);
/* Called once per interval, in order, when it closes (live line). May be NULL. */
void merge_on_interval(struct merge *m, merge_view_fn fn, void *arg);
/* Called once per interval, in order, when it is final: no agent can report it any more. At the
 * latest in merge_finish, which settles what is left before it returns. May be NULL. */
void merge_on_settled(struct merge *m, merge_view_fn fn, void *arg);

/* Called for each snapshot that was taken, before the intervals it completes are closed. */
typedef void (*merge_snapshot_fn)(void *arg, const struct snapshot *s);
void merge_on_snapshot(struct merge *m, merge_snapshot_fn fn, void *arg);

/* Takes a copy of what it needs. ERR_CORRUPT: a seq that is not the next one of this agent (the
 * coordinator delivers in order), or an interval from before what all agents have reported. */
enum err merge_add(struct merge *m, size_t agent, const struct snapshot *s,
                   struct errmsg *msg) MUST_CHECK;
/* The agent's cumulative snapshot: ERR_CORRUPT + text when it differs from the sum of deltas. */
enum err merge_final(struct merge *m, size_t agent, const struct snapshot *s,
                     struct errmsg *msg) MUST_CHECK;
/* No more will come from this agent: intervals no longer wait for it. */
void merge_gone(struct merge *m, size_t agent);
/* Closes intervals that ended more than `grace_ns` before run time `t_ns`. */
void merge_tick(struct merge *m, uint64_t t_ns, uint64_t grace_ns);

/* --every: the timeline also in groups of so many ns, a multiple of the interval; before the first
 * snapshot. */
void merge_every(struct merge *m, uint64_t every_ns);

/* Closes everything and moves totals, per-agent totals, timeline, groups and blocks into the
 * result. What was due in the warm-up comes apart from all of them. */
void merge_finish(struct merge *m, struct result *into);

#endif
