/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_RUN_STORE_H
#define HAMMER_CONTROLLER_RUN_STORE_H

#include <limits.h>
#include <stdbool.h>

#include "common/err.h"
#include "controller/cmd/run_options.h"

/*
 * Which database a run goes into while it goes on: the history, or with --no-save, where a file
 * RUN.hammer is asked for, one beside that file until it is written. Main thread.
 */

enum run_store_kind {
    RUN_STORE_NONE,
    RUN_STORE_HISTORY,
    RUN_STORE_PASSING /* removed at the end */
};

struct run_store {
    enum run_store_kind kind;
    bool asked_for; /* --db or a file of the run: the user wants to know when it cannot be */
    char path[PATH_MAX];
};

/* ERR_NOT_FOUND: there is no home folder to have a history in, or its name is too long. */
enum err run_store_find(const struct run_options *o, struct run_store *out,
                        struct errmsg *msg) MUST_CHECK;
/* The run as a database of its own; nobody may be writing it any more. */
enum err run_store_export(const struct run_options *o, const char *run_id, const char *path,
                          struct errmsg *msg) MUST_CHECK;
/* Of a passing one, closed by whoever opened it. */
void run_store_remove(const struct run_store *s);

#endif
