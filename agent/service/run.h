/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_RUN_H
#define HAMMER_AGENT_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/engine/placement.h"
#include "agent/service/policy.h"
#include "common/err.h"
#include "common/loop.h"
#include "proto/plan.h"
#include "proto/snapshot.h"

/*
 * One run on this agent: owns the workers, adds their parts into snapshots. Main thread. Control
 * talks to it through struct run_ops, so that a test can put a scripted one in its place.
 */

struct run;
struct run_dump;

enum run_event {
    RUN_PREPARED, /* info: connections, threads, address, problem */
    RUN_REFUSED,  /* info: problem = why it cannot be done, policy */
    RUN_STARTED,  /* info: started_ns = last worker awake */
    RUN_RESHARED, /* info: problem = why some requests are not taken over; empty = all are */
    RUN_SNAPSHOT, /* info: snapshot (ownership moves to the receiver), seq set */
    RUN_ENDED     /* info: snapshot = cumulative (moves), ended_ns, lease_lost, policy, problem */
};

struct run_info {
    uint32_t connections, threads;
    char address[96];
    char problem[256];
    bool policy; /* it is the agent's policy that refuses, or that ended the run: `problem` */
    uint64_t started_ns;
    uint64_t ended_ns;
    bool lease_lost; /* workers stopped by themselves: nobody renewed their lease */
    struct snapshot *snapshot;
};

/* What a run borrows from the process; outlives it. */
struct run_env {
    struct loop *loop;
    const struct policy *policy;       /* copied by each run: may change between two */
    const struct placement *placement; /* NULL = as it comes */
    struct resolving *resolving;       /* NULL = no bound */
};

typedef void (*run_fn)(void *arg, enum run_event ev, struct run_info *info);

struct run_ops {
    /* Takes a copy of plan and part. Answers later with RUN_PREPARED or RUN_REFUSED. */
    enum err (*prepare)(const struct run_env *env, const struct plan *plan,
                        const struct plan_part *part, run_fn fn, void *arg, struct run **out,
                        struct errmsg *msg);
    void (*arm)(struct run *r, uint64_t t0_ns);
    void (*halt)(struct run *r, uint64_t drain_ns);
    /* The workers stop by themselves at this instant unless it is moved again, even when the main
     * thread hangs. */
    void (*lease)(struct run *r, uint64_t until_ns);
    /* From that global index on this agent owns part->weight residues from part->first of
     * part->total. Answered by RUN_RESHARED; one at a time (ERR_BUSY). */
    enum err (*reshare)(struct run *r, uint64_t from, const struct plan_part *part,
                        struct errmsg *msg);
    /* Single requests, where the plan wants them, else NULL: run_dump.h. All are there before
     * RUN_ENDED. May be NULL itself. */
    struct run_dump *(*dump)(struct run *r);
    /* Frees in any phase; no event afterwards. */
    void (*free)(struct run *r);
};

const struct run_ops *run_ops(void);

#endif
