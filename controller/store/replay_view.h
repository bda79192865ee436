/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_REPLAY_VIEW_H
#define HAMMER_CONTROLLER_REPLAY_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "controller/run/result.h"
#include "proto/plan.h"
#include "proto/snapshot.h"

/*
 * PURE: which part of a stored run is asked for, and that part of a snapshot. Part of replay.
 *
 * A window takes the snapshots that begin in it; one that covers several intervals is not cut. Of a
 * stage or a request name there are the two clocks and the ledger: what is kept once for all rows
 * (lags, phases, status codes, error texts, connections, CPU) is left out, it is not known by row.
 */

struct replay_cut {
    struct result_view view; /* settled to bounds of intervals */
    uint64_t interval_ns;
    size_t agent;          /* SIZE_MAX = all */
    uint64_t end_ns;       /* of everything that was seen, taken or not */
    struct snapshot taken; /* borrows from the snapshot it was made of */
    struct series series[SNAPSHOT_SERIES_MAX];
};

/* ERR_NOT_FOUND names the flag, the value and what there is. */
enum err replay_cut_init(struct replay_cut *c, const struct result_view *asked,
                         const struct plan *p, const struct result_agent *agents, size_t n_agents,
                         uint64_t interval_ns, struct errmsg *msg) MUST_CHECK;
/* What of the snapshot belongs to the part, with that number; NULL = nothing does. Valid until the
 * next call and as long as `s` is. */
const struct snapshot *replay_cut_take(struct replay_cut *c, const struct snapshot *s,
                                       uint64_t seq);
/* After the last snapshot: the window ends where the run does. ERR_NOT_FOUND: it begins after the
 * end. */
enum err replay_cut_end(struct replay_cut *c, struct errmsg *msg) MUST_CHECK;
/* Only some rows: figures that are kept once for all rows are not known. */
bool replay_cut_by_row(const struct replay_cut *c);

#endif
