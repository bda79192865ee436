/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_OPTIONS_H
#define HAMMER_AGENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/engine/placement.h"
#include "agent/service/policy.h"
#include "common/err.h"
#include "common/log.h"
#include "common/option.h"

/* hammer-agent's own flags: what they are, where their values come from, their defaults. */

#define AGENT_LISTEN_DEFAULT "ipc:///run/hammer/agent.sock"
#define AGENT_CONFIG_DEFAULT "/etc/hammer/agent.yml"
#define AGENT_POLICY_DEFAULT "/etc/hammer/policy.yml"
#define AGENT_PKI_DEFAULT    "/etc/hammer/pki"

struct agent_options {
    char *listen;
    char *port_file;
    char *name;
    char *state;
    char *policy, *audit; /* files; NULL = loopback only, the log */
    char *tls_ca, *tls_cert, *tls_key, *tls_crl;
    struct option_list allow;
    char *cpu;
    uint32_t log_level; /* enum log_level; valid where log_level_set */
    bool log_level_set;
    bool log_json;
    bool realtime;
    bool insecure_listen;
    bool verbose;
    /* of the command line and the environment only */
    char *config;
    bool check_config;
    bool once;
    bool help, version;
};

const struct option_row *agent_options(size_t *n);
/* Flags win over the environment, that over the file, that over the defaults. Fills in the defaults
 * that depend on the machine: listen address, certificates, policy. */
enum err agent_options_read(struct agent_options *o, int argc, char *const *argv,
                            struct errmsg *msg) MUST_CHECK;
/* Builds the policy: the file, or loopback only, and the addresses of --allow-target. */
enum err agent_options_policy(const struct agent_options *o, struct policy *policy,
                              struct errmsg *msg) MUST_CHECK;
/* Where the workers shall run. */
enum err agent_options_placement(const struct agent_options *o, struct placement *p,
                                 struct errmsg *msg) MUST_CHECK;
enum log_level agent_options_log_level(const struct agent_options *o);
void agent_options_clear(struct agent_options *o);

#endif
