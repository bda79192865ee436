/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_WORKER_H
#define HAMMER_AGENT_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/client/client.h"
#include "agent/engine/placement.h"
#include "agent/engine/series_map.h"
#include "common/err.h"
#include "common/mailbox.h"
#include "proto/schedule.h"

/*
 * One load thread ("hammer-w0"): its own loop, engine and recorder. Commands go in and reports come
 * out by mailbox only. All calls below are the main thread's.
 */

struct worker;
struct part;

struct worker_config {
    uint32_t number;
    struct schedule schedule;
    const struct client_ops *ops;
    const struct targets *targets;   /* shared, read-only, outlives the worker */
    const struct reqset *requests;   /* the same */
    const struct series_map *series; /* the same; NULL = one row */
    struct client_rules rules;
    uint32_t connections;
    bool drop, from_send; /* see engine.h */
    uint64_t timeout_ns;
    uint64_t interval_ns;
    uint64_t spin_ns;    /* spin_init's setting; not looked at with a quantum */
    uint64_t quantum_ns; /* dispatch quantum, see pacer.h; 0 = none */
    struct placement placement;
    uint64_t lease_ns;       /* see worker_lease; 0 = none so far */
    uint64_t send_limit_ns;  /* nothing is sent later than this after t0, by the worker's own clock;
                                0 = no limit */
    struct mailbox *reports; /* to the main loop */
    struct dump_ring *dump;  /* outlives the worker; NULL = see engine.h */
};

/* Letters in `reports` (letter.kind). A struct part is returned with worker_give. */
enum worker_report {
    WORKER_PREPARED, /* struct worker_status: every slot has been attempted once */
    WORKER_STARTED,  /* struct worker_status: t0 has come, awake and sending */
    WORKER_RESHARED, /* struct worker_status: answer to worker_reshare */
    WORKER_PART,     /* struct part; the last one has `final` set */
};

struct worker_status {
    struct letter letter; /* embedded in the worker: read it, do not free or keep it */
    uint32_t worker;
    uint32_t connected;
    int fault; /* enum client_fault of the last failed attempt, -1 = none */
    int fault_code;
    uint64_t at_ns; /* monotonic: STARTED: when it was awake */
    bool failed;    /* RESHARED: its part of the schedule stays as it was */
    char problem[128];
};

/* Starts the thread, which opens its connections at once. */
enum err worker_start(const struct worker_config *cfg, struct worker **out,
                      struct errmsg *msg) MUST_CHECK;
/* Request i is due at t0 + ...; the thread sleeps on the instant itself. */
void worker_arm(struct worker *w, uint64_t t0_ns);
/* See engine_stop. May be called in any phase, several times. The final part follows within
 * drain_ns. */
void worker_halt(struct worker *w, uint64_t drain_ns);
/* The worker halts by itself at this instant, whatever becomes of the main thread; a later call
 * moves it. */
void worker_lease(struct worker *w, uint64_t until_ns);
/* engine_reshare; answered by WORKER_RESHARED. One at a time. */
void worker_reshare(struct worker *w, uint64_t from, const struct share *share);
void worker_give(struct worker *w, struct part *p);
/* Ends the thread, halting at once if it still runs; nothing is posted afterwards. What it posted
 * before stays valid until worker_free: free the mailbox `reports` in between (its letters are
 * handed out or discarded then), or call this after the final part only. */
void worker_join(struct worker *w);
/* worker_join if that was not done, then frees everything, parts and status letters included. NULL
 * is fine. */
void worker_free(struct worker *w);

#endif
