/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_RUN_AGAIN_H
#define HAMMER_CONTROLLER_RUN_AGAIN_H

#include "common/err.h"
#include "common/option.h"
#include "controller/cmd/run_options.h"

/* --again RUN: the plan of a run of the history, with its --abort-on and --slo; what stands on the
 * command line or in the environment beats it, and secrets, which are not kept, must be given there
 * once more. Set-up only. */

struct run_again;

/* Reads what argv or the environment names, if anything, into *o: in place of the plan that is
 * there, before the words count. */
enum err run_again_words(const struct option_row *rows, size_t n, int argc, char **argv,
                         struct run_options *o, struct errmsg *msg) MUST_CHECK;
/* The same of a run that is named here; `db` NULL = the default one. */
enum err run_again_load(const char *run, const char *db, struct run_options *o,
                        struct errmsg *msg) MUST_CHECK;
/* After the words and the secrets: adds the headers that were not given anew, and names the secrets
 * that are missing. `url`: one was given. */
enum err run_again_settle(struct run_options *o, bool url, struct errmsg *msg) MUST_CHECK;
void run_again_free(struct run_again *a); /* NULL is fine */

#endif
