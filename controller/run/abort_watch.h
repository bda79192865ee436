/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_ABORT_WATCH_H
#define HAMMER_CONTROLLER_ABORT_WATCH_H

#include "controller/run/condition.h"
#include "controller/run/result.h"
#include "proto/snapshot.h"

/*
 * PURE: is one of the conditions met at which the run is to be aborted (--abort-on)? Adds up what
 * the agents send and looks at it whenever an interval is closed.
 *   without "for"   the metric of the whole run so far
 *   "for TIME"      the metric of each interval by itself: it must hold in all intervals of the
 *                   last TIME, as alerts have it. An interval in which it has no value (no request
 *                   ended) says nothing either way, but the run is not aborted at one.
 */

struct abort_watch;

/* The conditions outlive it. A rate counts from begin_ns, the end of the warm-up, to planned_ns,
 * the planned end of the load. */
struct abort_watch *abort_watch_new(const struct condition_list *conditions, uint64_t interval_ns,
                                    uint64_t begin_ns, uint64_t planned_ns);
void abort_watch_free(struct abort_watch *w); /* NULL is fine */

/* An agent's snapshot; before the interval it belongs to is closed, or late. */
void abort_watch_add(struct abort_watch *w, const struct snapshot *s);
/* The interval is closed: the first time that a condition is met, true. */
bool abort_watch_closed(struct abort_watch *w, const struct result_interval *row);
/* All intervals are closed: what came late is looked at, too. */
bool abort_watch_end(struct abort_watch *w);

/* The condition that was met, when, and what the metric was, in one sentence; "" = none. */
const char *abort_watch_reason(const struct abort_watch *w);

#endif
