/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_LOCAL_AGENTS_H
#define HAMMER_CONTROLLER_LOCAL_AGENTS_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "controller/run/inventory.h"

/*
 * Agents that a run starts for itself when none is named: hammer-agent beside hammer-ctl (or in
 * PATH), listening on ipc:// in a private temporary folder, allowed to reach any target but
 * link-local ones, ended with the run. Must be started before the first use of proto/link: nng does
 * not survive a fork.
 */

#define LOCAL_AGENTS_MAX 64

struct local_agents;

/* Starts n agents, waits (5 s) until each listens, and adds them to the inventory. */
enum err local_agents_start(uint32_t n, struct inventory *inv, struct local_agents **out,
                            struct errmsg *msg) MUST_CHECK;
/* SIGTERM, wait up to 2 s, SIGKILL; removes the folder. NULL is fine. */
void local_agents_stop(struct local_agents *l);
/* For a process that ends at once: SIGTERM, remove the folder, no waiting. Async-signal-unsafe. */
void local_agents_abandon(struct local_agents *l);

#endif
