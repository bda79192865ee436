/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_SECRET_OPTIONS_H
#define HAMMER_CONTROLLER_SECRET_OPTIONS_H

#include <stdbool.h>

#include "common/err.h"
#include "common/option.h"

/*
 * Headers that are secrets: where they may come from, and that they stay out of the command line.
 * Everything that did not come from the command line is taken for a secret.
 */

struct secret_options {
    struct option_list header_files; /* --header-file */
    char *bearer, *basic;            /* --bearer, --basic: sources, see secret_source.h */
    bool in_url;                     /* the URL of the command line holds one */
    char *redact;                    /* --redact: further names of secret headers */
    char *names; /* from secret_options_load on: nobody is shown the values of these; or NULL */
};

/* Refuses a header of the command line whose value is a secret; says what is accepted instead and
 * does not repeat the value. */
enum err secret_options_check(const struct secret_options *s,
                              const struct option_list *argv_headers,
                              struct errmsg *msg) MUST_CHECK;

/* Refuses a file of options, open to other users, that has put a secret into `headers`. */
enum err secret_options_check_file(const struct secret_options *s,
                                   const struct option_list *headers, const char *path,
                                   struct errmsg *msg) MUST_CHECK;

/* Adds to `headers` those of the environment that it has not, and those of all sources. Values with
 * CR, LF, NUL and more than one Authorization are refused. `environment` is emptied. */
enum err secret_options_load(struct secret_options *s, struct option_list *environment,
                             struct option_list *headers, struct errmsg *msg) MUST_CHECK;

/* Frees what the option rows do not: `names`. */
void secret_options_clear(struct secret_options *s);

#endif
