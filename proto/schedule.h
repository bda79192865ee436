/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_SCHEDULE_H
#define HAMMER_PROTO_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/units.h"
#include "proto/profile.h"

/*
 * PURE: which requests a shard owns and when each is due. When request i of the whole run is due
 * says the profile: at a constant rate i * 1e9 * den / num ns after t0 (128-bit integer arithmetic,
 * rounded down, never accumulated), with stages likewise (see profile.h). Agent k of weights w owns
 * w_k consecutive residues of i mod sum(w); thread j of T owns every T-th of the agent's own
 * requests, from its j-th. The union over agents and threads IS the single-machine schedule. No
 * clock, no I/O, no state: any thread.
 *
 * Rate 0 is a closed loop at full speed: no request has a due time (every one counts as due at t0),
 * a request is sent as soon as a connection is free, and only `requests` bounds the index.
 */

/* What part of the global index a shard owns. */
struct share {
    uint32_t total;   /* sum of all agents' weights, >= 1 */
    uint32_t first;   /* first residue of this agent */
    uint32_t weight;  /* number of its residues, >= 1; first + weight <= total */
    uint32_t threads; /* T >= 1 */
    uint32_t thread;  /* 0 .. T-1 */
};

/* A stretch of the global index in which the shard owns the same part of it. */
struct schedule_piece {
    uint64_t from;  /* global index; the share's residues count from here */
    uint64_t first; /* the shard's own number of its first request in the piece */
    struct share share;
};

#define SCHEDULE_PIECES_MAX 8

struct schedule {
    uint64_t duration_ns; /* due < duration; NS_NEVER = no end */
    uint64_t requests;    /* global limit on the index; UINT64_MAX = none */
    uint64_t count;       /* requests of this shard; UINT64_MAX = endless */
    uint32_t n_pieces;    /* >= 1; in order of the index */
    struct schedule_piece pieces[SCHEDULE_PIECES_MAX];
    struct profile profile; /* rate 0 = closed loop */
};

/* Checks and completes (count). ERR_INVALID names what is wrong in msg. */
enum err schedule_init(struct schedule *s, const struct rate *rate, const struct share *share,
                       uint64_t duration_ns, uint64_t requests, struct errmsg *msg) MUST_CHECK;
/* The same with any profile, which is copied. Its stages end the run too. */
enum err schedule_init_profile(struct schedule *s, const struct profile *profile,
                               const struct share *share, uint64_t duration_ns, uint64_t requests,
                               struct errmsg *msg) MUST_CHECK;

/* From global index `from` on the shard owns `share`, whose residues are those of i - from; what it
 * owns below stays. When every survivor of a lost agent does so, the union from `from` on is the
 * single-machine schedule again. ERR_STATE: `from` lies before the last piece; ERR_BUSY: no more
 * pieces; ERR_INVALID: not a share, or a closed loop, which has nothing to take over. */
enum err schedule_reshare(struct schedule *s, uint64_t from, const struct share *share,
                          struct errmsg *msg) MUST_CHECK;

bool schedule_is_closed(const struct schedule *s);
/* Global index of the shard's n-th request. */
uint64_t schedule_index(const struct schedule *s, uint64_t n);
/* Due time of the shard's n-th request, ns after t0; saturates at UINT64_MAX. */
uint64_t schedule_due(const struct schedule *s, uint64_t n);
/* How many of the shard's requests are due at or before `ns` after t0 (never more than count). */
uint64_t schedule_due_until(const struct schedule *s, uint64_t ns);
/* Requests of the whole run (all shards). */
uint64_t schedule_total(const struct schedule *s);
/* Due time of global index i, whoever owns it. */
uint64_t schedule_due_at(const struct schedule *s, uint64_t i);
/* The same of a constant rate. */
uint64_t schedule_due_of_index(const struct rate *rate, uint64_t i);

#endif
