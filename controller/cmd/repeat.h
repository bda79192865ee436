/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_REPEAT_H
#define HAMMER_CONTROLLER_REPEAT_H

#include "common/err.h"
#include "controller/cmd/run_options.h"

/*
 * run --repeat N [--interleave-with RUN]: a set of runs, each by a process of its own, each in the
 * history with a tag of the set's. With another run's plan in turn (A B B A ...), so that what
 * drifts meanwhile meets both alike: RUN's plan is the baseline. Ends with the command that
 * compares them. Ctrl-C, and a run that could not be done, end the set; what there is stays.
 */

/* ERR_INVALID: flags that do not go with --repeat. Without it nothing is checked but
 * --interleave-with. */
enum err repeat_check(const struct run_options *o, struct errmsg *msg) MUST_CHECK;
/* Main thread, before there is any other. Returns the exit code: that of the run that ended the
 * set, else the worst of all. */
int repeat_run(struct run_options *o, struct inventory *inventory, struct errmsg *msg);

/* Whose turn is it: run i, from 0, of A B B A B A A B ...: false = A, the baseline. */
bool repeat_is_candidate(size_t i);
/* "report-3.json" of "report.json": a file of each run. The caller's. */
char *repeat_file(const char *file, size_t number);

#endif
