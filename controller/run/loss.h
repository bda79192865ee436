/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_LOSS_H
#define HAMMER_CONTROLLER_LOSS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/plan.h"
#include "proto/schedule.h"

/*
 * PURE: what is missing of a run because an agent was lost. Who owned which request follows from
 * the parts and from the indices at which lost agents' shares were taken over, so what was due and
 * is not known to be sent can be named request by request:
 *   known of the lost + missing + the others' = the schedule, up to the horizon.
 */

/* One agent of the run, lost or not. */
struct loss_agent {
    struct plan_part part; /* as prepared; weight 0 = it took no part */
    bool lost;
    uint64_t at_ns;           /* lost: when, ns after t0 */
    uint64_t taken_over_from; /* its share belongs to the others from this global index on;
                                 UINT64_MAX = it does not */
    uint64_t scheduled;       /* requests it is known to have had due */
};

/* The ledger of a lost agent. */
struct loss {
    bool any;                         /* false: it was not lost, nothing else counts */
    bool collected;                   /* lost, but what it did until it stopped is known */
    uint64_t at_ns;                   /* ns after t0 */
    uint64_t last_seq, last_to_ns;    /* end of what is known of it; 0 = nothing is */
    uint64_t scheduled;               /* requests known to have been due */
    uint64_t open;                    /* of these, how many ended nobody knows how */
    uint64_t first_index, last_index; /* global: missing ones lie in between; when count > 0 */
    uint64_t overlap; /* of scheduled: due there after the others had taken over, so counted twice;
                         its lease had ended, it sent none of them */
    uint64_t count;   /* due but not known to be sent; UINT64_MAX = unknown */
    double share;     /* of the rate, at the loss */
    uint64_t taken_over_from, taken_ns; /* index and its due time; UINT64_MAX = by nobody */
};

/* Agent i's requests: its part, and what it took over from agents lost before. Those of a lost one
 * end where its share was taken over. */
enum err loss_schedule(const struct plan *p, const struct loss_agent *agents, size_t n, size_t i,
                       struct schedule *out) MUST_CHECK;

/* How far the run went, ns after t0: what was due before had to be sent. The plan's end when an
 * agent came to the end of its schedule. */
uint64_t loss_horizon(const struct plan *p, const struct loss_agent *agents, size_t n);

/* Agent i is lost: at_ns, scheduled, indices, count, share and takeover of its ledger; the rest
 * stays as it is. */
void loss_assess(const struct plan *p, const struct loss_agent *agents, size_t n, size_t i,
                 uint64_t horizon_ns, struct loss *out);

/* Is load of the lost agent missing between the two instants, after t0? */
bool loss_lacks(const struct loss *l, uint64_t from_ns, uint64_t to_ns);

/* What the plan wanted to be sent, less what the agents had due. UINT64_MAX: the plan has no known
 * total, or it was a closed loop bounded by time only. */
uint64_t loss_missing(const struct plan *p, uint64_t scheduled);

#endif
