/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_FLEET_H
#define HAMMER_CONTROLLER_FLEET_H

#include "common/err.h"
#include "common/loop.h"
#include "controller/run/coordinator.h"
#include "controller/run/journal.h"
#include "controller/run/merge.h"
#include "proto/link_tls.h"

/*
 * Carries the coordinator's actions out: one link per agent, snapshots into the journal and the
 * merge, one timer.
 * Everything that decides is in the coordinator. Main thread.
 */

struct fleet;

struct fleet_config {
    struct loop *loop;
    const struct inventory *inventory;
    const struct plan *plan;
    struct merge *merge;
    struct coord_patience patience;
    /* Ids of the run, and what its journal is to say of it: filled in once it is armed. NULL = ids
     * of our own. Outlives the fleet. */
    struct journal_run *record;
    struct journal *journal; /* NULL = none is kept. The same */
    bool resume;             /* the run is another hammer-ctl's: what the journal has comes first */
    const struct link_tls *tls; /* for agents with a server_name; outlives the fleet */
    void (*note)(void *arg, const char *text); /* for the user's eyes */
    /* A snapshot or final of an agent, in order, exactly once, before it is merged; of the journal,
     * too. And REQUESTS, which no journal has. May be NULL. */
    void (*message)(void *arg, size_t agent, const struct msg *msg);
    void *arg;
};

enum err fleet_new(const struct fleet_config *cfg, struct fleet **out,
                   struct errmsg *msg) MUST_CHECK;
/* Runs the loop until the coordinator has finished. */
void fleet_run(struct fleet *f);
/* Ctrl-C: stop all agents, report what there is. The second time: let go of them at once. */
void fleet_interrupt(struct fleet *f);
/* Stop all agents at the user's condition, report what there is; from a merge's callback, too: done
 * once the message under way is. The reason is copied. */
void fleet_abort(struct fleet *f, const char *reason);
const struct coordinator *fleet_coordinator(const struct fleet *f);
/* Run id of this run, 32 hex digits. */
const char *fleet_run_id(const struct fleet *f);
/* Was sum(deltas) == cumulative proven for the agent? "" = yes or not applicable, else why not. */
const char *fleet_check_problem(const struct fleet *f, size_t agent);
bool fleet_checked(const struct fleet *f, size_t agent);
void fleet_free(struct fleet *f);

#endif
