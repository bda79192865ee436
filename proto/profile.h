/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_PROFILE_H
#define HAMMER_PROTO_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/err.h"
#include "common/units.h"
#include "proto/arrivals.h"

/*
 * PURE: the rate of the whole run over its time, and from it when each request is due. A profile is
 * one rate without an end, or stages one after another, each with a constant rate or with one that
 * changes linearly. With N(t) the integral of the rate up to t, request i is due where N reaches i,
 * rounded down to a nanosecond. All of it is exact integer arithmetic from the index alone: nothing
 * is accumulated and nothing depends on who asks.
 *
 * A request belongs to the stage in which it is due. So the stage from t to u has the requests i
 * with N(t) <= i < N(u), and all stages together have the integral, rounded up once. No allocation,
 * no clock, no state: any thread.
 *
 * Requests may also come at random: request i is then due where N reaches the place of arrival i of
 * a Poisson process of rate 1 (arrivals.h), so that the rate is the mean one; or where it reaches i
 * and a random part of one more request, so that each is late by a part of the distance to the
 * next.
 */

#define PROFILE_STAGES_MAX 64

/* As the user puts it: "60s@100..2000". One of the two rates may be 0, not both. */
struct stage {
    uint64_t duration_ns;
    struct rate from, to; /* equal: constant */
};

/* A stage, computed. Requests are counted in units of 1 / profile.unit. */
struct profile_part {
    uint64_t index;            /* first request of the stage, if it has any */
    uint64_t start_ns;         /* after t0 */
    uint64_t duration_ns;      /* > 0 */
    uint64_t from, to;         /* rates, numerators over the common denominator */
    uint64_t before, fraction; /* N(start) = before + fraction / unit */
};

struct profile {
    struct rate rate; /* n == 0: the rate for ever; num 0 = no request has a due time */
    bool plain;       /* one rate, evenly spaced: the hot path */
    bool poisson;
    uint32_t jitter; /* parts per billion of the distance; 0 = none */
    uint32_t n;      /* stages; 0 = none */
    uint64_t seed;   /* of what is random */
    uint64_t unit;   /* 2e9 times the common denominator of the rates */
    uint64_t total;  /* requests of all stages, evenly spaced */
    uint64_t end_ns;
    uint64_t whole, fraction; /* N(end) = whole + fraction / unit */
    struct profile_part parts[PROFILE_STAGES_MAX];
};

/* Denominators of rates go up to RATE_DEN_MAX; beyond: ERR_INVALID. */
enum err profile_constant(struct profile *p, const struct rate *rate,
                          struct errmsg *msg) MUST_CHECK;

/* ERR_INVALID, and what is wrong with which stage: none or too many, one without a length or
 * without a rate, rates out of bounds or without a common denominator, a ramp too long for its
 * rates to be exact. */
enum err profile_stages(struct profile *p, const struct stage *stages, size_t n,
                        struct errmsg *msg) MUST_CHECK;

/* Makes what profile_constant or profile_stages made random; a closed loop stays what it is. */
void profile_poisson(struct profile *p, uint64_t seed);

/* Likewise with jitter: 1 to 10^9 parts per billion. */
void profile_jitter(struct profile *p, uint64_t seed, uint32_t jitter);

/* Requests of all stages; UINT64_MAX = no end. */
uint64_t profile_total(const struct profile *p);

/* --- when, and how many: hot, so that the common case is inline ------------------------------- */

typedef unsigned __int128 profile_u128;

/* profile_due of a constant rate. */
static inline uint64_t profile_rate_due(const struct rate *rate, uint64_t i)
{
    if (rate->num == 0)
        return 0;
    uint64_t k = NS_PER_SEC * rate->den, small;
    if (!__builtin_mul_overflow(i, k, &small)) /* a division of 128 bits costs ten times as much */
        return small / rate->num;
    profile_u128 due = (profile_u128)i * k / rate->num;
    return due > UINT64_MAX ? UINT64_MAX : (uint64_t)due;
}

/* Number of indices due at or before ns: floor(i*k/num) <= ns  <=>  i*k < (ns+1)*num. */
static inline uint64_t profile_rate_until(const struct rate *rate, uint64_t ns)
{
    if (rate->num == 0)
        return UINT64_MAX;
    uint64_t k = NS_PER_SEC * rate->den, small;
    if (ns < UINT64_MAX && !__builtin_mul_overflow(ns + 1, rate->num, &small) &&
        small <= UINT64_MAX - k)
        return (small + k - 1) / k;
    profile_u128 n = (((profile_u128)ns + 1) * rate->num + k - 1) / k;
    return n > UINT64_MAX ? UINT64_MAX : (uint64_t)n;
}

/* The same of any profile but a plain one. */
uint64_t profile_any_due(const struct profile *p, uint64_t i);
uint64_t profile_any_until(const struct profile *p, uint64_t ns);

/* Due time of request i, ns after t0; UINT64_MAX: never, or later than that. Does not decrease. */
static inline uint64_t profile_due(const struct profile *p, uint64_t i)
{
    return p->plain ? profile_rate_due(&p->rate, i) : profile_any_due(p, i);
}

/* How many requests are due at or before `ns` after t0: the exact inverse of profile_due. */
static inline uint64_t profile_until(const struct profile *p, uint64_t ns)
{
    return p->plain ? profile_rate_until(&p->rate, ns) : profile_any_until(p, ns);
}

#endif
