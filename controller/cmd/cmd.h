/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_CMD_H
#define HAMMER_CONTROLLER_CMD_H

#include <stdbool.h>

/* One command = one file ending in its const entry; cmd.c has the list. */

#include <stddef.h>

#include "common/option.h"

#define EXIT_BAD_INPUT 1
#define EXIT_COULD_NOT 2

#define CMD_GROUPS_MAX 14

struct cmd_entry {
    const char *name;
    const char *usage; /* "run [flags] URL" */
    const char *text;  /* one line for the overview */
    bool has_help;     /* --help, as the last argument, prints more than these two */
    /* argv[0] is the command's name. Returns the exit code. */
    int (*exec)(int argc, char **argv);
    /* Its flags, as --help, the man page and the completions show them: fills in at most
     * CMD_GROUPS_MAX and returns how many. NULL = it takes none. */
    size_t (*options)(struct option_group groups[]);
    /* Space-separated words its first argument may be, each a command of its own ("init show");
     * NULL = none. */
    const char *words;
};

extern const struct cmd_entry cmd_run;
extern const struct cmd_entry cmd_pki;
extern const struct cmd_entry cmd_agents;
extern const struct cmd_entry cmd_attach;
extern const struct cmd_entry cmd_stop;
extern const struct cmd_entry cmd_status;
extern const struct cmd_entry cmd_runs;
extern const struct cmd_entry cmd_compare;
extern const struct cmd_entry cmd_report;
extern const struct cmd_entry cmd_merge;
extern const struct cmd_entry cmd_verify;
extern const struct cmd_entry cmd_version;
extern const struct cmd_entry cmd_help;

/* All commands, in the order of the overview. */
const struct cmd_entry *const *cmd_list(size_t *n);
/* NULL when there is no such command. */
const struct cmd_entry *cmd_find(const char *name);
/* Finds and executes argv[1]; prints usage and returns EXIT_BAD_INPUT when there is none. */
int cmd_main(int argc, char **argv);

#endif
