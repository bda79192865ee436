/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_ENGINE_H
#define HAMMER_AGENT_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/client/client.h"
#include "agent/engine/dump_ring.h"
#include "agent/engine/recorder.h"
#include "proto/schedule.h"

/*
 * The open-loop engine of one worker: two cursors on the schedule, due and sent; the backlog is
 * their difference, unbounded and O(1). Every request due before the end is sent as soon as a
 * connection is free, oldest first, whatever the server does. The engine has no clock and no timer:
 * whoever drives it (worker: libevent; tests: virtual time) passes `now_ns` and asks when to call
 * again.
 *
 *   IDLE -> OPENING -> READY -> WAITING(t0) -> SENDING -> DRAINING -> ENDED
 *
 * End of run: everything due before the duration is sent until duration + timeout; what is left
 * then is unsent(no_connection). In-flight requests get their timeout (or the drain time of a
 * stop), the rest is unfinished. After engine_stop nothing more is sent, and what was due until
 * then and not sent is unsent(stopped). ENDED comes as soon as nothing is left to do, which may be
 * before the duration is over.
 *
 * With `drop` a request that finds no connection idle when it is due is unsent(dropped), at once.
 *
 * A request whose send waited because no connection was idle is recorded as such (the server's
 * delay), any other delay as send lag (ours): pacer.h has the rule. One thread; callbacks of the
 * client run inside its own events and inside engine_pump. Not to be called from them.
 */

struct engine;

struct engine_config {
    struct schedule schedule;
    const struct client_ops *ops;
    struct client_env env; /* done, ready, fault, arg are filled in by the engine */
    struct recorder *recorder;
    struct dump_ring *dump; /* gets a record of each request; NULL = nobody wants them */
    uint64_t timeout_ns;
    uint64_t quantum_ns; /* dispatch quantum, see pacer.h; at most timeout_ns; 0 = none */
    bool drop;           /* a request that finds no idle connection is never sent */
    bool from_send;      /* no corrected latency, as in a closed loop */
    /* A fresh stamp for each send, so that a burst of due requests records its true send lags
     * (CLOCK_MONOTONIC on a worker); NULL = the now_ns passed in (virtual time). */
    uint64_t (*now)(void);
};

enum engine_phase {
    ENGINE_IDLE,
    ENGINE_OPENING, /* connections are being opened */
    ENGINE_READY,   /* every slot has been attempted once */
    ENGINE_WAITING, /* t0 is known and ahead */
    ENGINE_SENDING,
    ENGINE_DRAINING, /* nothing more will be sent */
    ENGINE_ENDED,    /* the ledger is closed */
    ENGINE_PHASES
};

/* Copies cfg; recorder and what env points to stay the caller's and live longer. Everything is
 * allocated here. */
enum err engine_new(const struct engine_config *cfg, struct engine **out,
                    struct errmsg *msg) MUST_CHECK;
/* NULL is fine. In any phase: the client is stopped and what it had in flight is not recorded. */
void engine_free(struct engine *e);

void engine_open(struct engine *e, uint64_t now_ns);
/* Request i is due at t0_ns + schedule_due(i). In OPENING or READY, else it does nothing. */
void engine_start(struct engine *e, uint64_t t0_ns);
/* Sends what is due, handles timeouts, moves the phase. Cheap when there is nothing to do. Call it
 * at least at engine_wake and after each batch of socket events. */
void engine_pump(struct engine *e, uint64_t now_ns);
/* Next instant at which engine_pump must be called if no socket event comes before; NS_NEVER =
 * only events matter. */
uint64_t engine_wake(const struct engine *e);
/* When the next request is to leave, as far as that is known: NS_NEVER = no connection is idle for
 * it, there is none, or it goes by no schedule. May be past. Never before engine_wake. */
uint64_t engine_due(const struct engine *e);
/* From that global index on this shard owns another part of the schedule (schedule_reshare):
 * ERR_STATE when it would be due already, or when this engine has nothing left to send. */
enum err engine_reshare(struct engine *e, uint64_t from, const struct share *share, uint64_t now_ns,
                        struct errmsg *msg) MUST_CHECK;
/* Nothing more is sent; in-flight requests get drain_ns (at most the timeout). In any phase, any
 * number of times: the earliest end counts. */
void engine_stop(struct engine *e, uint64_t now_ns, uint64_t drain_ns);

/* Hands what the client counted (bytes, connects, retries) and the time at the limit so far to the
 * recorder: before recorder_take. At the end it is done here. */
void engine_collect(struct engine *e, uint64_t now_ns);

enum engine_phase engine_phase(const struct engine *e);
uint64_t engine_backlog(const struct engine *e);
uint64_t engine_in_flight(const struct engine *e);
uint32_t engine_connected(const struct engine *e);
/* enum client_fault of the last failed connection attempt and its errno; -1 = none so far. */
int engine_fault(const struct engine *e, int *code);
/* The client met an address that the target's guard forbids: whoever drives the engine stops it. */
bool engine_forbidden(const struct engine *e);
/* The client's state, for the driver of client_null. */
void *engine_client(struct engine *e);

#endif
