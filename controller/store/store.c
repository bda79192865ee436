/* SPDX-License-Identifier: MIT */
#include "controller/store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "common/mem.h"
#include "controller/store/store_impl.h"

/* --- writing -------------------------------------------------------------------------------- */

/* Executes the statement with the recording's columns. */
static enum err write_run(struct store *s, char *sql, enum store_columns which,
                          const struct recording *r, struct errmsg *msg)
{
    sqlite3_stmt *q = NULL;
    char *facts = NULL;
    enum err e = recording_facts_encode(r, &facts);
    if (e != ERR_OK)
        (void)errmsg_set(msg, e, "%.300s: what is known of the run cannot be written", s->path);
    if (e == ERR_OK)
        e = store_prepare(s, sql, &q, msg);
    if (e == ERR_OK && store_columns_bind(q, which, r, facts) != ERR_OK) {
        e = store_failed(s, msg);
        sqlite3_finalize(q);
    } else if (e == ERR_OK) {
        e = store_run(s, q, msg);
    }
    mem_free(facts);
    mem_free(sql);
    return e;
}

/* The statement before was about one run: was there such a one? */
static enum err check_changed(struct store *s, const char *run_id, struct errmsg *msg)
{
    if (sqlite3_changes(s->db) > 0)
        return ERR_OK;
    return errmsg_set(msg, ERR_NOT_FOUND, "%.300s: it has no run %.32s", s->path, run_id);
}

enum err store_begin(struct store *s, const struct recording *r, struct errmsg *msg)
{
    return write_run(s, store_columns_insert(), COLUMNS_ALL, r, msg);
}

enum err store_end(struct store *s, const struct recording *r, struct errmsg *msg)
{
    enum err e = write_run(s, store_columns_update(), COLUMNS_END, r, msg);
    if (e == ERR_OK)
        e = check_changed(s, r->run_id, msg);
    return e == ERR_OK && s->file != 0 ? store_is_there(s, msg) : e;
}

static enum err run_number(struct store *s, const char *run_id, sqlite3_int64 *number,
                           struct errmsg *msg)
{
    sqlite3_stmt *q;
    enum err e = store_prepare(s, "SELECT number FROM run WHERE id = ?", &q, msg);
    if (e != ERR_OK)
        return e;
    sqlite3_bind_text(q, 1, run_id, -1, SQLITE_STATIC);
    int rc = sqlite3_step(q);
    if (rc == SQLITE_ROW)
        *number = sqlite3_column_int64(q, 0);
    else if (rc == SQLITE_DONE)
        e = errmsg_set(msg, ERR_NOT_FOUND, "%.300s: it has no run %.32s", s->path, run_id);
    else
        e = store_failed(s, msg);
    sqlite3_finalize(q);
    return e;
}

int64_t store_checksum(const struct store_row *row)
{
    const uint64_t place[] = {row->seq, row->agent};
    uLong sum = crc32_z(0, (const Bytef *)place, sizeof place);
    return (int64_t)crc32_z(sum, row->bytes, row->len);
}

static enum err add_row(struct store *s, sqlite3_stmt *q, sqlite3_int64 number,
                        const struct store_row *row, struct errmsg *msg)
{
    bool ok = sqlite3_bind_int64(q, 1, number) == SQLITE_OK &&
              sqlite3_bind_int64(q, 2, (sqlite3_int64)row->seq) == SQLITE_OK &&
              sqlite3_bind_int64(q, 3, (sqlite3_int64)row->agent) == SQLITE_OK &&
              sqlite3_bind_blob64(q, 4, row->bytes, row->len, SQLITE_STATIC) == SQLITE_OK &&
              sqlite3_bind_int64(q, 5, store_checksum(row)) == SQLITE_OK &&
              sqlite3_step(q) == SQLITE_DONE;
    enum err e = ok ? ERR_OK : store_failed(s, msg);
    sqlite3_reset(q);
    return e;
}

/* Within a transaction. */
static enum err add_rows(struct store *s, const char *run_id, const struct store_row *rows,
                         size_t n, struct errmsg *msg)
{
    sqlite3_stmt *q = NULL;
    sqlite3_int64 number = 0;
    enum err e = run_number(s, run_id, &number, msg);
    if (e == ERR_OK)
        e = store_prepare(
            s,
            "INSERT INTO snapshot (run, seq, agent, bytes, checksum) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (run, seq, agent) DO NOTHING",
            &q, msg);
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        e = add_row(s, q, number, &rows[i], msg);
    sqlite3_finalize(q);
    return e;
}

enum err store_add(struct store *s, const char *run_id, const struct store_row *rows, size_t n,
                   struct errmsg *msg)
{
    enum err e = store_transaction(s, msg);
    if (e != ERR_OK)
        return e;
    return store_settle(s, add_rows(s, run_id, rows, n, msg), msg);
}

enum err store_annotate(struct store *s, const char *run_id, const char *name,
                        const char *description, const char *tags, struct errmsg *msg)
{
    sqlite3_stmt *q;
    enum err e = store_prepare(s,
                               "UPDATE run SET name = coalesce(?1, name),"
                               " description = CASE WHEN ?2 IS NULL THEN description"
                               " ELSE nullif(?2, '') END,"
                               " tags = CASE WHEN ?3 IS NULL THEN tags ELSE nullif(?3, '') END"
                               " WHERE id = ?4",
                               &q, msg);
    if (e != ERR_OK)
        return e;
    const char *const texts[] = {name, description, tags, run_id};
    for (int i = 0; i < 4; i++)
        sqlite3_bind_text(q, i + 1, texts[i], -1, SQLITE_STATIC); /* NULL stays NULL */
    e = store_run(s, q, msg);
    return e == ERR_OK ? check_changed(s, run_id, msg) : e;
}

enum err store_remove(struct store *s, const char *run_id, struct errmsg *msg)
{
    sqlite3_stmt *q;
    enum err e = store_prepare(s, "DELETE FROM run WHERE id = ?", &q, msg);
    if (e != ERR_OK)
        return e;
    sqlite3_bind_text(q, 1, run_id, -1, SQLITE_STATIC);
    e = store_run(s, q, msg);
    if (e == ERR_OK)
        e = check_changed(s, run_id, msg);
    if (e == ERR_OK) /* the room is given back; if not now, then the next time */
        sqlite3_exec(s->db, "PRAGMA incremental_vacuum", NULL, NULL, NULL);
    return e;
}

/* --- export --------------------------------------------------------------------------------- */

struct copying {
    struct store *to;
    sqlite3_stmt *q;
    sqlite3_int64 number;
};

static enum err copy_row(void *arg, const struct store_row *row, struct errmsg *msg)
{
    const struct copying *c = arg;
    if (row->altered)
        return errmsg_set(msg, ERR_CORRUPT,
                          "snapshot %" PRIu64 " of agent %zu is damaged: its bytes are not those "
                          "that were stored",
                          row->seq, row->agent);
    return add_row(c->to, c->q, c->number, row, msg);
}

static enum err copy_rows(struct store *s, struct store *to, const char *run_id, struct errmsg *msg)
{
    struct copying c = {.to = to};
    enum err e = run_number(to, run_id, &c.number, msg);
    if (e == ERR_OK)
        e = store_prepare(
            to, "INSERT INTO snapshot (run, seq, agent, bytes, checksum) VALUES (?, ?, ?, ?, ?)",
            &c.q, msg);
    if (e == ERR_OK)
        e = store_rows(s, run_id, copy_row, &c, msg);
    sqlite3_finalize(c.q);
    return e;
}

static enum err copy_run(struct store *s, struct store *to, const char *run_id, struct errmsg *msg)
{
    struct recording *r = NULL;
    enum err e = store_transaction(to, msg);
    if (e != ERR_OK)
        return e;
    e = store_load(s, run_id, &r, msg);
    if (e == ERR_OK)
        e = store_begin(to, r, msg);
    if (e == ERR_OK)
        e = copy_rows(s, to, run_id, msg);
    recording_free(r);
    return store_settle(to, e, msg);
}

/* What is read is of one instant, whatever is written meanwhile. */
static enum err export_to(struct store *s, const char *run_id, const char *path, struct errmsg *msg)
{
    struct store *to = NULL;
    enum err e = store_create(path, STORE_FILE, &to, msg);
    if (e == ERR_OK)
        e = store_exec(s, "BEGIN", msg);
    if (e == ERR_OK) {
        e = copy_run(s, to, run_id, msg);
        sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
    }
    store_close(to);
    return e;
}

enum err store_export(struct store *s, const char *run_id, const char *path, struct errmsg *msg)
{
    struct stat st;
    size_t size = strlen(path) + 32;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) /* a device would be gone */
        return errmsg_set(msg, ERR_INVALID, "%.300s: no regular file", path);
    char *part = mem_calloc(size, 1);
    snprintf(part, size, "%s.%ld.part", path, (long)getpid());
    unlink(part); /* of an earlier process with our number */
    enum err e = export_to(s, run_id, part, msg);
    if (e == ERR_OK && rename(part, path) != 0)
        e = errmsg_set(msg, ERR_SYSTEM, "%.300s: %s", path, strerror(errno));
    if (e != ERR_OK)
        unlink(part);
    mem_free(part);
    return e;
}
