/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_STORED_OPTIONS_H
#define HAMMER_CONTROLLER_STORED_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/option.h"
#include "controller/cmd/result_options.h"
#include "controller/run/result.h"

/* Flags of the commands that read runs of the history, or of files: report, merge, verify. */

enum stored_command {
    STORED_REPORT,
    STORED_MERGE,
    STORED_VERIFY
};

struct stored_options {
    struct result_options results;
    struct option_list outputs;
    uint64_t from_ns, to_ns;
    bool to_set;
    char *agent, *request;
    uint32_t stage; /* from 1; 0 = not given */
    bool json, spectrum, verbose, quiet, debug, help;
    const char **words; /* runs and files, owned; the words are argv's */
    size_t n_words;
};

size_t stored_options_groups(enum stored_command command, struct option_group groups[]);
/* Parses the command line (argv[0] is the command), prints the help or calls fn, and says on stderr
 * what was wrong. Returns the exit code. */
int stored_options_exec(enum stored_command command, int argc, char **argv,
                        int (*fn)(const struct stored_options *o, struct errmsg *msg));
/* The part that the flags ask for. */
struct result_view stored_options_view(const struct stored_options *o);

#endif
