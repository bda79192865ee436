/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_AGENTS_OPTIONS_H
#define HAMMER_CONTROLLER_AGENTS_OPTIONS_H

#include "controller/cmd/run_options.h"

/* Flags of `hammer-ctl agents` and `agents check`. The first takes those of run that say which
 * agents and how to print, and --target; the second everything that run takes, so that a run's
 * command line can be checked by putting two words in front. */
struct agents_options {
    struct run_options run; /* first: its rows work on it unchanged */
    char *target;
    bool check;
    bool all;              /* no agents were named: those of the inventory file */
    char scheme[8];        /* of the target; "" = none named */
    char target_text[272]; /* "HOST:PORT", "[IPV6]:PORT" */
};

/* argv[0] is "agents"; the word "check" may follow. *inv = the agents. */
enum err agents_options_parse(int argc, char **argv, struct agents_options *o,
                              struct inventory *inv, struct errmsg *msg) MUST_CHECK;
size_t agents_options_groups(struct option_group groups[]);
void agents_options_help(const struct agents_options *o);
void agents_options_clear(struct agents_options *o);

#endif
