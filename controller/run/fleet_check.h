/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_FLEET_CHECK_H
#define HAMMER_CONTROLLER_FLEET_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/plan.h"

/*
 * PURE: the preflight. What agents tell of themselves against what the plan asks of each: what
 * cannot work is refused, what may disappoint is warned of, and each sentence names the remedy.
 * `run` does it between WELCOME and PREPARE, `agents check` with what INFO tells.
 */

struct fleet_fact {
    const char *address;               /* as the user calls the agent */
    const char *build;                 /* "" = unknown */
    uint32_t version_min, version_max; /* of the protocol; max 0 = known to meet ours */
    uint64_t fd_limit;                 /* 0 = unknown, as the next two */
    uint64_t tested_rate;
    uint32_t ports;
    uint64_t addresses;    /* of the target, as this agent resolves it; 0 = unknown */
    bool loopback;         /* all of them are */
    struct plan_part part; /* of the plan; weight 0 = it could not be split */
};

struct fleet_problem {
    bool refused;     /* else a warning */
    size_t agent;     /* SIZE_MAX = of all of them together */
    const char *text; /* a sentence that names the agent; valid during the call */
};

typedef void (*fleet_check_fn)(void *arg, const struct fleet_problem *p);

/* Calls fn for each problem; returns how many of them refuse. Where the target is an address, that
 * is what agents resolve it to; of a name with unknown addresses, ports are not judged (agents do
 * it themselves at PREPARE). */
size_t fleet_check(const struct plan *p, const struct fleet_fact *facts, size_t n,
                   fleet_check_fn fn, void *arg);

#endif
