/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_REPLAY_MERGE_H
#define HAMMER_CONTROLLER_REPLAY_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "controller/store/recording.h"

/*
 * PURE: several recordings as one. Agents stand side by side; a name that several have gets the
 * run's first digits in front. The rates of equal loads add up. Which run comes first changes
 * nothing: the id of the merged one is made of theirs, and they are taken in the order of their
 * starts. Part of replay.
 */

#define REPLAY_DIFFER 256 /* of a warning */

/* The order in which runs are merged: by start, then by id. */
bool replay_merge_before(const struct recording *a, const struct recording *b);
/* n >= 2, sorted. *out is the caller's (recording_free); what the runs differ in is said in
 * `differ`, "" = nothing that counts. Without status, totals and end where one of them has none.
 * ERR_INVALID: intervals of different lengths, or a run that is in it twice. */
enum err replay_merge(struct recording *const *all, size_t n, struct recording **out,
                      char differ[REPLAY_DIFFER], struct errmsg *msg) MUST_CHECK;
/* The ids of the runs that a recording was merged from, its own where it was not: an array that the
 * caller frees (mem_free). */
char (*replay_merge_sources(const struct recording *r, size_t *n))[33];

#endif
