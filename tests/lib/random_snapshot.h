/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_RANDOM_SNAPSHOT_H
#define HAMMER_TESTS_RANDOM_SNAPSHOT_H

#include "proto/snapshot.h"

/* A small snapshot that could have been measured: completed equals the corrected count. More error
 * texts than fit one are met after adding a few. Caller frees. */
struct snapshot *random_snapshot(uint64_t *rng);

/* check's assertions: snapshot_same_data holds, and its message is printed when not. */
void assert_same_data(const struct snapshot *a, const struct snapshot *b);
/* The same, and bounds, gauges, CPU. */
void assert_same_snapshot(const struct snapshot *a, const struct snapshot *b);

#endif
