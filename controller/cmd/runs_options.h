/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_RUNS_OPTIONS_H
#define HAMMER_CONTROLLER_RUNS_OPTIONS_H

#include "controller/cmd/run_options.h"
#include "controller/run/journal_list.h"

/* Flags of the commands about runs that are there already: attach, stop, status. Each takes some of
 * run's flags and the id of a run, or its first digits. */

enum runs_command {
    RUNS_ATTACH,
    RUNS_STOP,
    RUNS_STATUS
};

struct runs_options {
    struct run_options run;         /* first: its rows work on it unchanged */
    char which[2 * MSG_ID_LEN + 1]; /* lower case; "" = none was given */
};

size_t runs_options_groups(enum runs_command command, struct option_group groups[]);
/* Parses the command line (argv[0] is the command), prints the help or calls fn, and says on stderr
 * what was wrong. Returns the exit code. */
int runs_options_exec(enum runs_command command, int argc, char **argv,
                      int (*fn)(struct runs_options *o, struct errmsg *msg));

/* The journals of this user, and which of them is meant. `which` "" and no need: ERR_OK, *index is
 * SIZE_MAX. *l is the caller's in any case. */
enum err runs_options_find(const struct runs_options *o, struct journal_list *l, size_t *index,
                           struct errmsg *msg) MUST_CHECK;
/* Where they are; "" when there is no home. */
void runs_options_folder(char *buf, size_t cap);

#endif
