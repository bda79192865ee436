/* SPDX-License-Identifier: MIT */
#include "proto/arrivals.h"

#include <stdbool.h>
#include <stddef.h>

#define EPOCH_BITS  24 /* arrivals whose total length is fixed */
#define BLOCK_BITS  5  /* arrivals that are uniform points */
#define BLOCK       (1u << BLOCK_BITS)
#define EPOCH_PLACE (EPOCH_BITS + ARRIVALS_FRACTION)

typedef unsigned __int128 u128;

/* A stretch of 2^bits gaps. */
struct stretch {
    uint64_t node;   /* its name in the tree of its epoch: the root is 1, its halves 2 and 3, ... */
    uint64_t length; /* in 2^-32 units */
};

/* splitmix64's finaliser. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t key_of(uint64_t seed, uint64_t epoch, uint64_t node)
{
    return mix(mix(seed + UINT64_C(0x9e3779b97f4a7c15)) ^ mix(epoch << EPOCH_BITS | node));
}

static uint64_t draw(uint64_t key, uint64_t k)
{
    return mix(key + k * UINT64_C(0x9e3779b97f4a7c15));
}

/* 2^64 times the standard deviation of Beta(m, m) over that of the sum of 256 bits and a uniform,
 * 1 / (2 sqrt(2m + 1)) / sqrt(64 + 1/12), for stretches of 2m = 2^6 .. 2^24 gaps. */
static const uint64_t scales[EPOCH_BITS - BLOCK_BITS] = {
    [6 - BLOCK_BITS - 1] = UINT64_C(142909303181903063),
    [7 - BLOCK_BITS - 1] = UINT64_C(101443056193564975),
    [8 - BLOCK_BITS - 1] = UINT64_C(71870492065323409),
    [9 - BLOCK_BITS - 1] = UINT64_C(50869620464770970),
    [10 - BLOCK_BITS - 1] = UINT64_C(35987795774650629),
    [11 - BLOCK_BITS - 1] = UINT64_C(25453423341522984),
    [12 - BLOCK_BITS - 1] = UINT64_C(18000484635598144),
    [13 - BLOCK_BITS - 1] = UINT64_C(12729041503581150),
    [14 - BLOCK_BITS - 1] = UINT64_C(9001066226592077),
    [15 - BLOCK_BITS - 1] = UINT64_C(6364812080870982),
    [16 - BLOCK_BITS - 1] = UINT64_C(4500636119573654),
    [17 - BLOCK_BITS - 1] = UINT64_C(3182442459696104),
    [18 - BLOCK_BITS - 1] = UINT64_C(2250330936124092),
    [19 - BLOCK_BITS - 1] = UINT64_C(1591225782353312),
    [20 - BLOCK_BITS - 1] = UINT64_C(1125167077621473),
    [21 - BLOCK_BITS - 1] = UINT64_C(795613460242866),
    [22 - BLOCK_BITS - 1] = UINT64_C(562583740006204),
    [23 - BLOCK_BITS - 1] = UINT64_C(397806801254804),
    [24 - BLOCK_BITS - 1] = UINT64_C(281291895152552),
};

/* The compiler's own is a call and a table where the processor is not known to have it. */
static uint32_t count_ones(uint64_t x)
{
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)(x * UINT64_C(0x0101010101010101) >> 56);
}

/* How much of the stretch is its first half. */
static uint64_t first_half(uint64_t seed, uint64_t epoch, const struct stretch *s, uint32_t bits)
{
    uint64_t key = key_of(seed, epoch, s->node);
    int64_t ones = 0;
    for (uint64_t k = 1; k <= 4; k++)
        ones += count_ones(draw(key, k));
    int64_t sum =
        (ones - 128) * (INT64_C(1) << 32) + (int64_t)(draw(key, 5) >> 32) - (INT64_C(1) << 31);
    __int128 share = (__int128)sum * (int64_t)scales[bits - BLOCK_BITS - 1] / (INT64_C(1) << 32);
    const __int128 half = (__int128)1 << 63;
    if (share >= half) /* 2^-200 */
        share = half - 1;
    if (share < -half)
        share = -half;
    return (uint64_t)((u128)s->length * (uint64_t)(half + share) >> 64);
}

static void go_left(struct stretch *s, uint64_t length)
{
    s->node = 2 * s->node;
    s->length = length;
}

static void go_right(struct stretch *s, uint64_t left_length)
{
    s->node = 2 * s->node + 1;
    s->length -= left_length;
}

static uint64_t point(uint64_t key, const struct stretch *s, uint64_t k)
{
    return (uint64_t)((u128)s->length * draw(key, k) >> 64);
}

/* The n-th smallest of a block's points, from 0; the last arrival is at its end. */
static uint64_t nth_point(uint64_t key, const struct stretch *s, uint32_t n)
{
    uint64_t sorted[BLOCK - 1];
    if (n == BLOCK - 1)
        return s->length;
    for (uint32_t i = 0; i < BLOCK - 1; i++) {
        uint64_t p = point(key, s, i + 1);
        uint32_t at = i;
        for (; at > 0 && sorted[at - 1] > p; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = p;
    }
    return sorted[n];
}

arrivals_place arrivals_at(uint64_t seed, uint64_t i)
{
    uint64_t epoch = i >> EPOCH_BITS;
    arrivals_place place = (arrivals_place)epoch << EPOCH_PLACE;
    struct stretch s = {.node = 1, .length = UINT64_C(1) << EPOCH_PLACE};
    for (uint32_t bits = EPOCH_BITS; bits > BLOCK_BITS; bits--) {
        uint64_t left = first_half(seed, epoch, &s, bits);
        if ((i >> (bits - 1) & 1) == 0) {
            go_left(&s, left);
        } else {
            place += left;
            go_right(&s, left);
        }
    }
    return place + nth_point(key_of(seed, epoch, s.node), &s, (uint32_t)i % BLOCK);
}

uint64_t arrivals_until(uint64_t seed, arrivals_place place)
{
    uint64_t epoch = (uint64_t)(place >> EPOCH_PLACE), n = epoch << EPOCH_BITS;
    uint64_t rest = (uint64_t)(place - ((arrivals_place)epoch << EPOCH_PLACE));
    struct stretch s = {.node = 1, .length = UINT64_C(1) << EPOCH_PLACE};
    for (uint32_t bits = EPOCH_BITS; bits > BLOCK_BITS; bits--) {
        uint64_t left = first_half(seed, epoch, &s, bits);
        if (rest < left) {
            go_left(&s, left);
        } else { /* the last of the first half is at its end */
            n += UINT64_C(1) << (bits - 1);
            rest -= left;
            go_right(&s, left);
        }
    }
    uint64_t key = key_of(seed, epoch, s.node);
    for (uint32_t k = 1; k < BLOCK; k++)
        n += point(key, &s, k) <= rest;
    return n;
}

/* --- jitter ------------------------------------------------------------------------------------
 */

#define BILLION UINT64_C(1000000000)

static uint64_t jitter_key(uint64_t seed)
{
    return mix(seed + UINT64_C(0x6a09e667f3bcc909)); /* not the keys of the tree */
}

arrivals_place arrivals_jittered_at(uint64_t seed, uint32_t jitter, uint64_t i)
{
    uint64_t u = draw(jitter_key(seed), i) >> (64 - ARRIVALS_FRACTION);
    return ((arrivals_place)i << ARRIVALS_FRACTION) + u * jitter / BILLION;
}

/* Those below the place's whole part are before it, those above are behind it. */
uint64_t arrivals_jittered_until(uint64_t seed, uint32_t jitter, arrivals_place place)
{
    uint64_t whole = (uint64_t)(place >> ARRIVALS_FRACTION);
    return whole + (arrivals_jittered_at(seed, jitter, whole) <= place);
}
