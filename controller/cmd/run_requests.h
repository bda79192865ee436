/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_RUN_REQUESTS_H
#define HAMMER_CONTROLLER_RUN_REQUESTS_H

#include <stddef.h>

#include "common/err.h"
#include "common/option.h"
#include "controller/cmd/run_options.h"

/* Where the requests of `hammer-ctl run` come from: a URL, -f/--file or --urls. Set-up only. */

/* Reads the plan file that argv or the environment names, if any: what stands in it holds where
 * neither says otherwise. rows: of the command, all within *o; without a row "file" nothing is
 * done. */
enum err run_requests_file(const struct option_row *rows, size_t n, int argc, char **argv,
                           struct run_options *o, struct errmsg *msg) MUST_CHECK;

/* After the words: the URL of `rest` or HAMMER_URL, the file of --urls, and paths made URLs. */
enum err run_requests_settle(struct run_options *o, const char *const *rest, size_t n_rest,
                             struct errmsg *msg) MUST_CHECK;
/* After plan_check, which reads the bodies: refuses flags of the plan that would change nothing. */
enum err run_requests_check_unused(const struct plan *p, struct errmsg *msg) MUST_CHECK;

#endif
