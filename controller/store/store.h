/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_STORE_H
#define HAMMER_CONTROLLER_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "controller/store/recording.h"

/*
 * The run history: an SQLite database (WAL) of runs and of every snapshot their agents sent. A file
 * RUN.hammer, as --output writes it, is such a database of one run. Two processes may write at
 * once. An older schema is migrated when it is opened for writing and read as it is otherwise; a
 * newer one is refused. A store belongs to one thread at a time. docs/history.md.
 */

#define STORE_SUFFIX ".hammer"

struct store;

enum store_mode {
    STORE_READ, /* must exist */
    STORE_WRITE /* created, 0600, with its folders 0700 */
};

/* $XDG_DATA_HOME/hammer/runs.db, else ~/.local/share/hammer/runs.db; false = there is no home, or
 * the path does not fit. */
bool store_default_path(char *buf, size_t cap);
enum err store_open(const char *path, enum store_mode mode, struct store **out,
                    struct errmsg *msg) MUST_CHECK;
void store_close(struct store *s); /* NULL is fine */

/* --- writing -------------------------------------------------------------------------------- */

/* One snapshot as the agent sent it (snapshot_encode); seq 0 = its cumulative one. */
struct store_row {
    size_t agent;
    uint64_t seq;
    const uint8_t *bytes;
    size_t len;
    bool altered; /* read: the bytes are not those that were stored, by their checksum */
};

/* A new run, or once more one that is there (taken over): what it says is replaced. */
enum err store_begin(struct store *s, const struct recording *r, struct errmsg *msg) MUST_CHECK;
/* All of them or none, in one transaction; what is there already is left as it is. */
enum err store_add(struct store *s, const char *run_id, const struct store_row *rows, size_t n,
                   struct errmsg *msg) MUST_CHECK;
/* A quiet moment between two store_add: what waits for the disk is done now. Where none comes, it
 * is done by store_add when it must. */
void store_rest(struct store *s);
/* It has ended. */
enum err store_end(struct store *s, const struct recording *r, struct errmsg *msg) MUST_CHECK;
/* NULL = leave it as it is, "" = none. */
enum err store_annotate(struct store *s, const char *run_id, const char *name,
                        const char *description, const char *tags, struct errmsg *msg) MUST_CHECK;
enum err store_remove(struct store *s, const char *run_id, struct errmsg *msg) MUST_CHECK;
/* The run as a database of its own, whole or not at all; an existing file is replaced.
 * ERR_INVALID: what is there is no regular file. */
enum err store_export(struct store *s, const char *run_id, const char *path,
                      struct errmsg *msg) MUST_CHECK;

/* --- reading -------------------------------------------------------------------------------- */

struct store_filter {
    uint64_t from_ns, to_ns;        /* wall clock of the start; to_ns 0 = no bound */
    const char *name, *description; /* part of it, no matter the case; NULL = any */
    const char *tag, *plan;         /* a whole tag; a plan id or its first digits; NULL = any */
    size_t latest;                  /* the last so many; 0 = all */
};

/* Without plan and agents. The latest first. Valid during the call; false = enough. */
typedef bool (*store_list_fn)(void *arg, const struct recording *r);
enum err store_list(struct store *s, const struct store_filter *f, store_list_fn fn, void *arg,
                    struct errmsg *msg) MUST_CHECK;
/* "latest", a run's id or its first digits (4 at least), or its name where only one has it. What
 * fits several is refused with their ids. */
enum err store_find(struct store *s, const char *word, char run_id[33],
                    struct errmsg *msg) MUST_CHECK;
/* Everything but the snapshots; the caller's (recording_free). */
enum err store_load(struct store *s, const char *run_id, struct recording **out,
                    struct errmsg *msg) MUST_CHECK;
/* The three for one run: `db` NULL = the default one. */
enum err store_fetch(const char *word, const char *db, struct recording **out,
                     struct errmsg *msg) MUST_CHECK;
/* An error ends the reading. */
typedef enum err (*store_row_fn)(void *arg, const struct store_row *row, struct errmsg *msg);
/* Every snapshot, interval by interval and so that each agent's come in order (by seq, then agent),
 * the cumulative ones last. */
enum err store_rows(struct store *s, const char *run_id, store_row_fn fn, void *arg,
                    struct errmsg *msg) MUST_CHECK;

#endif
