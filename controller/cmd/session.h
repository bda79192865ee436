/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_SESSION_H
#define HAMMER_CONTROLLER_SESSION_H

#include "common/err.h"
#include "controller/cmd/run_options.h"
#include "controller/run/journal.h"

/*
 * One run from its first agent to its report, begun here or taken over from another hammer-ctl:
 * signals, agents, journal, report, exit code. Main thread; once per process (the signals stay).
 */

struct session_config {
    const struct run_options *options;
    struct inventory *inventory; /* empty: local agents are started and added */
    struct journal *journal;     /* to take over; becomes the session's. NULL = a new run */
    struct journal_run *record;  /* what it says; with a journal only */
};

/* Returns the exit code; `msg` says why there is no report. */
int session_run(const struct session_config *cfg, struct errmsg *msg);

#endif
