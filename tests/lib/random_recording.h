/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_RANDOM_RECORDING_H
#define HAMMER_TESTS_RANDOM_RECORDING_H

#include "controller/store/recording.h"

/* A run that was never there; texts hold what JSON and SQL could stumble over. recording_free. */
struct recording *random_recording(uint64_t *rng, size_t n_agents);
/* check's assertion: equal in everything. */
void assert_same_recording(const struct recording *a, const struct recording *b);

#endif
