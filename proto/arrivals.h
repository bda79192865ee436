/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_ARRIVALS_H
#define HAMMER_PROTO_ARRIVALS_H

#include <stdint.h>

/*
 * PURE: where requests are that come at random, with one a unit on average.
 *
 * A Poisson process of rate 1, as random as its seed and the same on every machine: where is
 * arrival i, and how many are there up to a place? Each answer is found from the seed and the
 * number alone, whoever asks and in whatever order: no stream is walked, so that agents and threads
 * that own every k-th arrival pay for their own only. Integers and hashes, no floating point.
 *
 * How: 2^24 arrivals fill exactly 2^24 units (over less than that nothing is fixed). The length of
 * a stretch of 2m gaps is divided between its halves as by Beta(m, m), down to 32 gaps, and these
 * by 31 uniform points, which is exact. The Beta is taken as normal, the sum of 256 fair bits and a
 * uniform: mean and variance are exact, the excess kurtosis is off by 0.08 at most.
 * About half a microsecond an answer.
 */

typedef unsigned __int128 arrivals_place; /* in 2^-32 units */
#define ARRIVALS_FRACTION 32

/* Where arrival i is, from 0 on; does not decrease with i. i < 2^63. */
arrivals_place arrivals_at(uint64_t seed, uint64_t i);
/* How many arrivals are at or before the place: the exact inverse. */
uint64_t arrivals_until(uint64_t seed, arrivals_place place);

/*
 * Evenly spaced, but each pushed back at random by less than `jitter` parts per billion of the
 * distance, at most 10^9: arrival i is at i + u(i) * jitter with u in [0, 1). The order stays.
 */
arrivals_place arrivals_jittered_at(uint64_t seed, uint32_t jitter, uint64_t i);
uint64_t arrivals_jittered_until(uint64_t seed, uint32_t jitter, arrivals_place place);

#endif
