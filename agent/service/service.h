/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_SERVICE_H
#define HAMMER_AGENT_SERVICE_H

#include "agent/service/setup.h"
#include "common/err.h"

/*
 * The agent at work: listens, obeys signals, speaks to systemd.
 *   SIGTERM, SIGINT  ends within 2 s: a run is halted, its final figures leave
 *   SIGHUP           reads policy, certificates, log level and audit file again (setup_reload)
 */

/* Returns when the agent has ended. The main thread's one call. */
enum err service_run(struct setup *setup, struct errmsg *msg) MUST_CHECK;

#endif
