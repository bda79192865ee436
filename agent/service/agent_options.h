/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_OPTIONS_H
#define HAMMER_AGENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/engine/placement.h"
#include "agent/service/policy.h"
#include "common/err.h"
#include "common/option.h"

/* hammer-agent's own flags. */
struct agent_options {
    char *listen;
    char *port_file;
    char *name;
    char *state;
    struct option_list allow;
    char *cpu;
    bool realtime;
    bool insecure_listen;
    bool once;
    bool verbose, help, version;
};

const struct option_row *agent_options(size_t *n);
/* Builds the policy, and refuses a listen address that the network could reach. */
enum err agent_options_check(const struct agent_options *o, struct policy *policy,
                             struct errmsg *msg) MUST_CHECK;
/* Where the workers shall run. */
enum err agent_options_placement(const struct agent_options *o, struct placement *p,
                                 struct errmsg *msg) MUST_CHECK;
void agent_options_clear(struct agent_options *o);

#endif
