/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_ROW_WALK_H
#define HAMMER_AGENT_ROW_WALK_H

#include <stdint.h>

#include "agent/engine/pacer.h"
#include "agent/engine/recorder.h"

/*
 * Tells a recorder what became of slots of an open loop, row by row. Where requests have names, one
 * step a slot; else one a stage, however many slots there are. Every slot becomes due once and is
 * given up at most once, so that this is O(1) a request. Worker's thread.
 */

typedef void (*row_walk_fn)(struct recorder *r, uint32_t row, uint64_t n, uint64_t age_ns);

/* fn is called in the order of the slots, with the age of the oldest of each group at now_ns. */
void row_walk(struct recorder *r, const struct pacer *p, struct pacer_range slots, uint64_t now_ns,
              row_walk_fn fn);
/* The n slots that became due last. */
void row_walk_due(struct recorder *r, const struct pacer *p, uint64_t n);

#endif
