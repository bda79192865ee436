/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_ENGINE_RIG_H
#define HAMMER_TESTS_ENGINE_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/client/client.h"
#include "agent/engine/engine.h"
#include "proto/plan.h"

/*
 * One engine with client_null on a virtual clock, and a record of what happened to every request.
 * Each callback checks what must hold for any server: sent once, in order of the schedule, not
 * before it is due, done once, not after the engine ended.
 */

#define RIG_T0 UINT64_C(500000000000)

struct rig_request {
    uint64_t due_ns, sent_ns, done_ns; /* UINT64_MAX = not yet */
    enum outcome outcome;              /* OUTCOMES = none yet */
};

struct rig {
    struct client_ops ops;
    struct recorder *recorder;
    struct engine *engine;
    struct part *part; /* after rig_close */
    uint64_t capacity; /* requests that are followed one by one; the others are only counted */
    struct rig_request *requests;
    bool closed;         /* rate 0: a closed loop */
    bool drop;           /* on time or never */
    bool from_send;      /* no corrected latency */
    uint64_t next;       /* requests below are sent or dropped */
    uint64_t sent, done; /* counted at the client */
    uint64_t last_sent_ns;
    struct dump_ring *dump; /* what it says is held against the counters */
    uint64_t dumped[DUMP_OUTCOMES];
    uint64_t dumped_corrected, dumped_uncorrected;                 /* sums, ns */
    uint8_t *dumped_index;                                         /* up to capacity: how often */
    void (*answer)(struct rig *r, uint64_t tag, uint64_t sent_ns); /* NULL = never */
    void *arg;                                                     /* the test's */
};

struct rig_config {
    struct rate rate;
    uint64_t duration_ns, requests;
    uint32_t connections;
    uint64_t timeout_ns, reconnect_ns;
    uint64_t quantum_ns;
    const struct plan *plan;         /* instead of the three of the load above; NULL = those */
    const struct series_map *series; /* NULL = one row */
    struct client_rules rules;
    bool drop, from_send;
    uint64_t capacity;
    uint64_t (*now)(void);
};

/* Opened and started: READY, then WAITING for RIG_T0. */
struct rig *rig_new(const struct rig_config *cfg);
/* The engine must have ended: takes the part and checks the ledger, of every row and of all
 * together, against what was followed. */
void rig_close(struct rig *r);
void rig_free(struct rig *r);

/* The counters of all rows, after rig_close. */
struct counters rig_counters(const struct rig *r);

/* The server answers; false when the request is not in flight. */
bool rig_complete(struct rig *r, uint64_t tag, uint64_t now_ns);
/* Pumps at every wake of the engine up to and including `until_ns`. */
void rig_run(struct rig *r, uint64_t until_ns);

#endif
