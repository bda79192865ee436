/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_RUN_OPTIONS_H
#define HAMMER_CONTROLLER_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/option.h"
#include "controller/cmd/secret_options.h"
#include "controller/run/inventory.h"
#include "proto/plan.h"

/* Flags of `hammer-ctl run`: the plan's and those about agents and reports. The plan comes first in
 * the struct, so that the plan's rows work on it unchanged. */
struct run_options {
    struct plan plan;
    char *agents;
    uint32_t local;
    bool local_set;
    char *name;
    struct option_list outputs;
    struct secret_options secrets;
    bool json, spectrum, uncorrected, verbose, quiet, debug, insecure_agents, help;
};

/* Parses environment and argv, and checks everything. *inv is filled when --agents was given. */
enum err run_options_parse(int argc, char **argv, struct run_options *o, struct inventory *inv,
                           struct errmsg *msg) MUST_CHECK;
/* The plan's flags and run's own; returns how many groups it filled in (2). */
size_t run_options_groups(struct option_group groups[]);
void run_options_help(void);
void run_options_clear(struct run_options *o);

#endif
