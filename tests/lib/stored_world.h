/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_STORED_WORLD_H
#define HAMMER_TESTS_STORED_WORLD_H

#include <stddef.h>
#include <stdint.h>

#include "controller/store/replay_core.h"
#include "proto/snapshot.h"

/*
 * A run that never was, with what its agents would have sent: two stages, two requests, a rate of
 * 100/s over 4 s in intervals of 500 ms, each request answered in the interval in which it is due.
 * The ledger of each agent adds up, and its cumulative snapshot is the sum.
 */

#define STORED_AGENTS   4
#define STORED_SLOTS    8
#define STORED_INTERVAL (500 * NS_PER_MS)

struct stored_row {
    size_t agent;
    uint64_t seq;
    uint8_t *bytes;
    size_t len;
};

struct stored_world {
    struct recording *recording;
    size_t n_rows;
    struct stored_row rows[STORED_AGENTS * (STORED_SLOTS + 1)];
};

/* `number` makes ids and names; agents are named "a", "b" ... or, with `shared`, all worlds' alike.
 */
void stored_world_make(struct stored_world *w, uint64_t *rng, unsigned number, size_t agents,
                       bool shared);
/* Agents first .. first + n - 1 of it, as another run of the same load. */
void stored_world_part(struct stored_world *part, const struct stored_world *w, unsigned number,
                       size_t first, size_t n);
void stored_world_clear(struct stored_world *w);
struct replay_source stored_world_source(struct stored_world *w);

#endif
