/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_HISTORY_OPTIONS_H
#define HAMMER_CONTROLLER_HISTORY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "common/option.h"
#include "controller/cmd/result_options.h"
#include "controller/store/store.h"

/* Flags of `hammer-ctl runs` and its commands: each accepts some of them. Of the environment only
 * HAMMER_DB counts: HAMMER_NAME and HAMMER_TAG would mean `run`'s. */

enum history_command {
    HISTORY_LIST,
    HISTORY_SHOW,
    HISTORY_NOTE,
    HISTORY_RM,
    HISTORY_COMMANDS
};

struct history_options {
    struct result_options results; /* db, description, tags */
    char *from, *to, *name, *tag, *plan;
    struct option_list untag;
    uint32_t latest;
    bool json, yes, help;
    uint64_t from_ns, to_ns; /* what --from and --to mean; 0 = not given */
    const char *const *runs; /* RUN ...; points into argv */
    size_t n_runs;
    const char **rest; /* owned: the array */
};

/* false = no such command. The list has none: its name is "". */
bool history_command_find(const char *name, enum history_command *out);
/* argv[0] is the command's name. `now_ns` is what --from and --to are told by. */
enum err history_options_parse(enum history_command c, int argc, char **argv, uint64_t now_ns,
                               struct history_options *o, struct errmsg *msg) MUST_CHECK;
void history_options_clear(struct history_options *o);
/* The flags of each command, a group each. */
size_t history_options_groups(struct option_group groups[]);
void history_help(enum history_command c, FILE *out);
/* Opens --db, or the default one. */
enum err history_open(const struct history_options *o, enum store_mode mode, struct store **out,
                      struct errmsg *msg) MUST_CHECK;

#endif
