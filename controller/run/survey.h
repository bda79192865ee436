/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_SURVEY_H
#define HAMMER_CONTROLLER_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/loop.h"
#include "controller/run/clock_estimate.h"
#include "controller/run/inventory.h"
#include "proto/link.h"
#include "proto/msg.h"

/*
 * Asks every agent of an inventory what it is (QUERY, INFO, clock probes), without taking any, or
 * tells each to end its run (HALT, INFO): at
 * most SURVEY_AT_ONCE at a time (TLS handshakes and probes disturb each other), each within
 * 13 s: 3 to connect, 6 for INFO, 3 for the probes. Main thread; runs the loop.
 */

#define SURVEY_AT_ONCE 16
#define SURVEY_PROBES  32

struct survey_agent {
    bool reached;      /* INFO came: the next ones are filled */
    char problem[384]; /* why not reached */
    struct msg_info info;
    bool same_clock;             /* offset exactly 0 */
    struct clock_estimate clock; /* good 0 = not measured */
};

struct survey_config {
    struct loop *loop;
    const struct inventory *inventory;
    const struct link_options *link; /* for every dial; NULL = none. server_name is ignored */
    const char *scheme;              /* of the target */
    const char *target;              /* "HOST:PORT"; NULL = none */
    const struct msg_halt *halt;     /* not NULL: that in place of the question, and no probes */
};

/* Fills agents[inventory->n]. ERR_CLOSED: the loop was stopped (a signal) before all had answered;
 * the rest then says so. */
enum err survey_run(const struct survey_config *cfg, struct survey_agent *agents) MUST_CHECK;

#endif
