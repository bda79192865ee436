/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_REFRESH_H
#define HAMMER_AGENT_REFRESH_H

#include <stdint.h>

#include "agent/service/run_targets.h"
#include "common/err.h"
#include "common/loop.h"
#include "proto/snapshot.h"

/*
 * Looks a run's names up again and again, on a thread of its own, and hands new addresses to the
 * workers, for connections that are opened from then on. What cannot be looked up, or leads where
 * this agent's policy forbids, changes nothing and is counted. One look-up of all names at a time,
 * however long it takes. Main thread.
 */

struct refresh;

/* Every interval_ns from now on. targets outlives it. */
enum err refresh_new(struct loop *loop, struct run_targets *targets, uint64_t interval_ns,
                     struct refresh **out, struct errmsg *msg) MUST_CHECK;
/* Adds what was counted since the last call (lookups, lookup_errors, HIST_DNS) to both. NULL r:
 * nothing. */
void refresh_take(struct refresh *r, struct series *interval, struct series *total);
/* Does not wait for the resolver: a look-up that is still out ends by itself, unheard. NULL is
 * fine. */
void refresh_free(struct refresh *r);

#endif
