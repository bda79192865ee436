/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_REPLAY_H
#define HAMMER_CONTROLLER_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "controller/run/merge.h"
#include "controller/run/result.h"
#include "controller/store/recording.h"

/*
 * The result of stored runs, made anew: their snapshots go through the same merge, the same
 * objectives and the same verdict as those of a live run. A part of one (a window, an agent, a
 * stage, a request) comes from the same snapshots with the rest left out.
 */

struct replay_options {
    const char *db;          /* --db; NULL = the default one */
    struct result_view view; /* as asked for */
    uint64_t every_ns;       /* 0 = no groups */
    merge_view_fn settled; /* each row once it is final, as merge_on_settled; NULL = nobody looks */
    void *arg;
};

struct replayed;

/* `word`: a file (its name holds a slash or ends in .hammer), else a run of the history as
 * store_find has it. */
enum err replay_run(const char *word, const struct replay_options *o, struct replayed **out,
                    struct errmsg *msg) MUST_CHECK;
/* The database in which `word` is looked for. */
enum err replay_path(const char *word, const char *db, char *buf, size_t cap,
                     struct errmsg *msg) MUST_CHECK;
/* Several runs as one: exact sums. Their agents stand side by side, their intervals are laid over
 * each other by the time since the start. Refused where the intervals differ in length. */
enum err replay_merged(const char *const *words, size_t n, const struct replay_options *o,
                       struct replayed **out, struct errmsg *msg) MUST_CHECK;
const struct result *replayed_result(const struct replayed *r);
/* What was stored of it; of several what they are together: an id made of theirs, the tag
 * "merged". */
const struct recording *replayed_recording(const struct replayed *r);
/* Writes what it was made of, whole, as one run into a file of its own, whole or not at all; an
 * existing one is replaced. */
enum err replayed_save(const struct replayed *r, const char *path, struct errmsg *msg) MUST_CHECK;
void replayed_free(struct replayed *r); /* NULL is fine */

#endif
