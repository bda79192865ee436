/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_STORE_IMPL_H
#define HAMMER_CONTROLLER_STORE_IMPL_H

#include <limits.h>
#include <sqlite3.h>
#include <sys/types.h>

#include "controller/store/store.h"

/* What the files of the store share. */

#define STORE_VERSION     2          /* of the schema */
#define STORE_APPLICATION 0x484d4d52 /* "HMMR" */

struct store {
    sqlite3 *db;
    int version; /* of the schema as it is: older ones can be read */
    /* Of a history that is written: */
    size_t page_bytes, wal_bytes;
    dev_t device;
    ino_t file;
    char path[PATH_MAX];
};

/* --- store_schema.c -------------------------------------------------------------------------- */

enum store_kind {
    STORE_HISTORY, /* many may write at once: WAL */
    STORE_FILE     /* one file and nothing beside it */
};

/* store_open, of a kind: STORE_FILE must not exist yet. */
enum err store_create(const char *path, enum store_kind kind, struct store **out,
                      struct errmsg *msg) MUST_CHECK;
/* ERR_NOT_FOUND: what is written into a history goes nowhere. */
enum err store_is_there(const struct store *s, struct errmsg *msg) MUST_CHECK;
/* What SQLite says of its last error, and the code for it. */
enum err store_failed(const struct store *s, struct errmsg *msg);
/* One or more statements without results. */
enum err store_exec(struct store *s, const char *sql, struct errmsg *msg) MUST_CHECK;
enum err store_prepare(struct store *s, const char *sql, sqlite3_stmt **out,
                       struct errmsg *msg) MUST_CHECK;
/* Executes a statement that gives no rows, and ends it; NULL = it could not be prepared. */
enum err store_run(struct store *s, sqlite3_stmt *q, struct errmsg *msg) MUST_CHECK;
/* Begins a transaction that writes; store_settle ends it, by what came of it. */
enum err store_transaction(struct store *s, struct errmsg *msg) MUST_CHECK;
enum err store_settle(struct store *s, enum err e, struct errmsg *msg) MUST_CHECK;

/* --- store.c --------------------------------------------------------------------------------- */

/* Of a snapshot's bytes and its place: CRC-32. */
int64_t store_checksum(const struct store_row *row);

/* --- store_columns.c -------------------------------------------------------------------------- */

/* Which columns of a run a statement is about. */
enum store_columns {
    COLUMNS_ALL,
    COLUMNS_LIST, /* without what is large */
    COLUMNS_END   /* known when it has ended */
};

/* "id, name, ..." as the schema of s has them; caller frees. */
char *store_columns_names(const struct store *s, enum store_columns which);
/* INSERT of all, that replaces what there is; UPDATE of those of the end, by id. */
char *store_columns_insert(void);
char *store_columns_update(void);
/* Binds them in the order of the statement. `facts`: recording_facts_encode; outlives it. */
enum err store_columns_bind(sqlite3_stmt *q, enum store_columns which, const struct recording *r,
                            const char *facts) MUST_CHECK;
/* The row at which a SELECT of store_columns_names stands. NULL = it makes no sense, and msg says
 * why. recording_free. */
struct recording *store_columns_read(const struct store *s, sqlite3_stmt *q,
                                     enum store_columns which, struct errmsg *msg);

#endif
