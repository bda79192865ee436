/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_COMPARE_OPTIONS_H
#define HAMMER_CONTROLLER_COMPARE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/option.h"
#include "controller/cmd/result_options.h"
#include "controller/compare/comparison.h"

/* Flags and words of `hammer-ctl compare`. Two words are baseline and candidate; with --against
 * what stands before it is the candidate, what follows the baseline. */
struct compare_options {
    struct result_options results; /* format, db */
    struct option_list fail_if;
    bool against, anyway, json, debug, help;
    struct criterion criteria[CRITERIA_MAX]; /* of --fail-if, or the default ones */
    size_t n_criteria;
    const struct comparison_format *format;
    const char *baseline[RANK_TEST_MAX], *candidate[RANK_TEST_MAX]; /* argv's */
    size_t n_baseline, n_candidate;
};

/* Environment and argv (argv[0] is the command); checks everything that needs no run. */
enum err compare_options_parse(int argc, char **argv, struct compare_options *o,
                               struct errmsg *msg) MUST_CHECK;
void compare_options_clear(struct compare_options *o);
size_t compare_options_groups(struct option_group groups[]);
void compare_options_help(void);

#define COMPARE_USAGE "compare [flags] BASELINE CANDIDATE"

#endif
