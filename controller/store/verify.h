/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_VERIFY_H
#define HAMMER_CONTROLLER_VERIFY_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "controller/store/replay_core.h"

/*
 * Works out again what is stored of a run, and compares: each agent's snapshots against its own
 * totals bucket for bucket, counts against histograms, the ledger, what was reported. A report
 * (JSON) is checked against itself.
 */

/* A check and how it went, one line. */
typedef void (*verify_fn)(void *arg, bool holds, const char *text);

/* `word`: see replay_run, or a file whose name ends in .json. An error: it could not be read at
 * all; what does not hold is none. */
enum err verify_word(const char *word, const char *db, verify_fn fn, void *arg,
                     struct errmsg *msg) MUST_CHECK;
/* The same of a run that comes from anywhere. */
enum err verify_source(const struct replay_source *source, verify_fn fn, void *arg,
                       struct errmsg *msg) MUST_CHECK;
/* The same of a report's text. */
enum err verify_report(const char *text, size_t len, verify_fn fn, void *arg,
                       struct errmsg *msg) MUST_CHECK;

#endif
