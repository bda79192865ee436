/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_RUN_OPTIONS_H
#define HAMMER_CONTROLLER_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/option.h"
#include "controller/cmd/result_options.h"
#include "controller/cmd/secret_options.h"
#include "controller/cmd/tls_options.h"
#include "controller/run/condition.h"
#include "controller/run/coordinator.h"
#include "controller/run/inventory.h"
#include "proto/plan.h"

/* Flags of `hammer-ctl run`: the plan's and those about agents and reports. The plan comes first in
 * the struct, so that the plan's rows work on it unchanged. */
struct run_options {
    struct plan plan;
    char *file, *urls;       /* see run_requests.h */
    char *again_run;         /* --again */
    struct run_again *again; /* owned; see run_again.h; NULL = not given */
    char *agents;
    char *inventory; /* file; NULL = the default one */
    struct tls_options tls;
    uint32_t local;
    bool local_set, agents_set;
    char *name;
    struct option_list outputs;
    struct result_options results;
    struct option_list from_environment; /* headers of the file and of HAMMER_HEADER */
    struct secret_options secrets;
    struct coord_patience patience;
    struct option_list abort_texts;
    uint64_t connect_failures_max;
    bool connect_failures_set;
    struct condition_list abort_on; /* of both */
    struct option_list slo_texts;
    struct condition_list slo;
    bool json, spectrum, uncorrected, verbose, quiet, debug, insecure_agents, no_journal, help;
};

/* Parses the defaults file ($XDG_CONFIG_HOME/hammer/ctl.yml, where there is one), environment and
 * argv, and checks everything. *inv is filled when --agents was given. */
enum err run_options_parse(int argc, char **argv, struct run_options *o, struct inventory *inv,
                           struct errmsg *msg) MUST_CHECK;
/* For commands that take some of these flags, or all: every row in one table, the caller's
 * (mem_free). */
struct option_row *run_options_rows(size_t *n);
/* The defaults file (against all rows), the plan file, then environment and argv against `rows`,
 * whose target begins with *o: zeroed but for local 1 and plan_defaults. */
enum err run_options_words(const struct option_row *rows, size_t n, int argc, char **argv,
                           struct run_options *o, const char **rest, size_t *n_rest,
                           struct errmsg *msg) MUST_CHECK;
/* What comes after run_options_words: secrets, URL and plan, outputs, agents. */
enum err run_options_check(struct run_options *o, const char *const *rest, size_t n_rest,
                           struct inventory *inv, struct errmsg *msg) MUST_CHECK;
/* What --format, --json and --output ask for; the caller's (outputs_free). */
struct outputs;
enum err run_options_outputs(const struct run_options *o, struct outputs **out,
                             struct errmsg *msg) MUST_CHECK;
/* Can they all be written? */
enum err run_options_check_outputs(const struct run_options *o, struct errmsg *msg) MUST_CHECK;
/* Is --metrics an address of this machine? */
enum err run_options_metrics(const struct run_options *o, struct errmsg *msg) MUST_CHECK;
/* The agents that --agents names, those of groups ("@lab", "@all") from the inventory file. */
enum err run_options_agents(const struct run_options *o, struct inventory *inv,
                            struct errmsg *msg) MUST_CHECK;
/* All flags by what they are about; returns how many groups it filled in. */
#define RUN_OPTIONS_GROUPS 11
size_t run_options_groups(struct option_group groups[]);
/* Those that are not the plan's, in one group without a title. */
struct option_group run_options_own(void);
void run_options_help(void);
void run_options_clear(struct run_options *o);

#endif
