/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_SAMPLING_H
#define HAMMER_AGENT_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * PURE: which reads ask the kernel when their bytes arrived, which costs a little. Up to
 * SAMPLING_ALL_RATE a second all do, above it one in SAMPLING_EVERY. Strides are counted, not
 * picked by time: whether a response is sampled has nothing to do with when it came. The rate is
 * that of the last SAMPLING_COUNT reads. One worker's thread.
 */

#define SAMPLING_ALL_RATE 10000
#define SAMPLING_EVERY    16
#define SAMPLING_COUNT    256

/* Embedded by value, private to sampling.c. */
struct sampling {
    uint32_t every, left; /* left: until the next one */
    uint32_t counted;
    uint64_t from_ns; /* when counting began */
};

void sampling_init(struct sampling *m);
/* One more read, at `now_ns` (monotonic): is it sampled? */
bool sampling_next(struct sampling *m, uint64_t now_ns);

#endif
