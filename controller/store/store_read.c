/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "controller/store/store_impl.h"

#define PREFIX_MIN  4
#define FOUND_MAX   8
#define FOUND_SHOWN 16

/* "SELECT the columns FROM run " and the rest. */
static enum err select_runs(struct store *s, enum store_columns which, const char *rest,
                            sqlite3_stmt **out, struct errmsg *msg)
{
    char *names = store_columns_names(s, which);
    size_t size = strlen(names) + strlen(rest) + 32;
    char *sql = mem_calloc(size, 1);
    snprintf(sql, size, "SELECT %s FROM run %s", names, rest);
    enum err e = store_prepare(s, sql, out, msg);
    mem_free(sql);
    mem_free(names);
    return e;
}

/* --- lists ---------------------------------------------------------------------------------- */

static sqlite3_int64 instant(uint64_t ns)
{
    return ns <= INT64_MAX ? (sqlite3_int64)ns : INT64_MAX;
}

/* A schema without descriptions and tags has no run that has them. */
#define WHERE_HEAD                                                                                 \
    "WHERE started_wall_ns >= ?1 AND started_wall_ns <= ?2"                                        \
    " AND (?3 IS NULL OR instr(lower(name), lower(?3)) > 0)"                                       \
    " AND (?4 IS NULL OR substr(plan_id, 1, length(?4)) = lower(?4))"
#define WHERE_TAIL " ORDER BY started_wall_ns DESC, number DESC LIMIT ?7"

static enum err select_list(struct store *s, const struct store_filter *f, sqlite3_stmt **out,
                            struct errmsg *msg)
{
    const char *rest = s->version >= 2 ? WHERE_HEAD
                           " AND (?5 IS NULL OR instr(lower(description), lower(?5)) > 0)"
                           " AND (?6 IS NULL OR"
                           " instr(',' || tags || ',', ',' || lower(?6) || ',') > 0)" WHERE_TAIL
                                       : WHERE_HEAD " AND ?5 IS NULL AND ?6 IS NULL" WHERE_TAIL;
    enum err e = select_runs(s, COLUMNS_LIST, rest, out, msg);
    if (e != ERR_OK)
        return e;
    const char *const texts[] = {f->name, f->plan, f->description, f->tag};
    sqlite3_bind_int64(*out, 1, instant(f->from_ns));
    sqlite3_bind_int64(*out, 2, f->to_ns == 0 ? INT64_MAX : instant(f->to_ns));
    for (int i = 0; i < 4; i++)
        sqlite3_bind_text(*out, i + 3, texts[i], -1, SQLITE_STATIC);
    sqlite3_bind_int64(*out, 7, f->latest == 0 ? -1 : instant(f->latest));
    return ERR_OK;
}

enum err store_list(struct store *s, const struct store_filter *f, store_list_fn fn, void *arg,
                    struct errmsg *msg)
{
    sqlite3_stmt *q = NULL;
    bool more = true;
    int rc = SQLITE_ROW;
    enum err e = select_list(s, f, &q, msg);
    while (e == ERR_OK && more && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        struct recording *r = store_columns_read(s, q, COLUMNS_LIST, msg);
        if (r == NULL)
            e = ERR_CORRUPT;
        else
            more = fn(arg, r);
        recording_free(r);
    }
    if (e == ERR_OK && rc != SQLITE_ROW && rc != SQLITE_DONE)
        e = store_failed(s, msg);
    sqlite3_finalize(q);
    return e;
}

/* --- one run -------------------------------------------------------------------------------- */

enum err store_load(struct store *s, const char *run_id, struct recording **out, struct errmsg *msg)
{
    sqlite3_stmt *q;
    *out = NULL;
    enum err e = select_runs(s, COLUMNS_ALL, "WHERE id = ?", &q, msg);
    if (e != ERR_OK)
        return e;
    sqlite3_bind_text(q, 1, run_id, -1, SQLITE_STATIC);
    int rc = sqlite3_step(q);
    if (rc == SQLITE_ROW)
        *out = store_columns_read(s, q, COLUMNS_ALL, msg);
    if (rc == SQLITE_DONE)
        e = errmsg_set(msg, ERR_NOT_FOUND, "%.300s: it has no run %.32s", s->path, run_id);
    else if (rc != SQLITE_ROW)
        e = store_failed(s, msg);
    else if (*out == NULL)
        e = ERR_CORRUPT;
    sqlite3_finalize(q);
    return e;
}

static enum err rows_of(struct store *s, const char *run_id, const char *which, store_row_fn fn,
                        void *arg, struct errmsg *msg)
{
    char sql[256];
    sqlite3_stmt *q;
    int rc = SQLITE_DONE;
    snprintf(sql, sizeof sql,
             "SELECT agent, seq, bytes, %s FROM snapshot"
             " WHERE run = (SELECT number FROM run WHERE id = ?) AND %s ORDER BY seq, agent",
             s->version >= 2 ? "checksum" : "NULL", which);
    enum err e = store_prepare(s, sql, &q, msg);
    if (e != ERR_OK)
        return e;
    sqlite3_bind_text(q, 1, run_id, -1, SQLITE_STATIC);
    while (e == ERR_OK && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        sqlite3_int64 agent = sqlite3_column_int64(q, 0), seq = sqlite3_column_int64(q, 1);
        struct store_row row = {.agent = agent >= 0 ? (size_t)agent : SIZE_MAX,
                                .seq = seq >= 0 ? (uint64_t)seq : UINT64_MAX,
                                .bytes = sqlite3_column_blob(q, 2)};
        row.len = (size_t)sqlite3_column_bytes(q, 2);
        if (row.bytes == NULL)
            row.bytes = (const uint8_t *)"";
        row.altered = sqlite3_column_type(q, 3) != SQLITE_NULL &&
                      sqlite3_column_int64(q, 3) != store_checksum(&row);
        e = fn(arg, &row, msg);
    }
    if (e == ERR_OK && rc != SQLITE_DONE)
        e = store_failed(s, msg);
    sqlite3_finalize(q);
    return e;
}

enum err store_rows(struct store *s, const char *run_id, store_row_fn fn, void *arg,
                    struct errmsg *msg)
{
    enum err e = rows_of(s, run_id, "seq > 0", fn, arg, msg);
    return e == ERR_OK ? rows_of(s, run_id, "seq <= 0", fn, arg, msg) : e;
}

/* --- finding -------------------------------------------------------------------------------- */

struct found {
    size_t n;
    char ids[FOUND_MAX][33];
};

static bool keep_id(void *arg, const struct recording *r)
{
    struct found *f = arg;
    snprintf(f->ids[f->n++], sizeof f->ids[0], "%s", r->run_id);
    return false;
}

static enum err find_latest(struct store *s, char run_id[33], struct errmsg *msg)
{
    struct found f = {0};
    struct store_filter latest = {.latest = 1};
    enum err e = store_list(s, &latest, keep_id, &f, msg);
    if (e == ERR_OK && f.n == 0)
        e = errmsg_set(msg, ERR_NOT_FOUND, "latest: %.300s has no run yet", s->path);
    memcpy(run_id, f.ids[0], sizeof f.ids[0]);
    return e;
}

/* Lower case, "" = it cannot be the beginning of an id. */
static void as_prefix(const char *word, char prefix[33])
{
    size_t len = strspn(word, "0123456789abcdefABCDEF");
    bool good = word[len] == '\0' && len >= PREFIX_MIN && len <= 32;
    for (size_t i = 0; i < 33; i++)
        prefix[i] = good && i < len ? (char)tolower((unsigned char)word[i]) : '\0';
}

static enum err find_all(struct store *s, const char *word, struct found *f, struct errmsg *msg)
{
    char prefix[33];
    sqlite3_stmt *q;
    int rc = SQLITE_DONE;
    as_prefix(word, prefix);
    enum err e = store_prepare(s,
                               "SELECT id FROM run WHERE (?1 <> '' AND"
                               " substr(id, 1, length(?1)) = ?1) OR (?2 <> '' AND name = ?2)"
                               " ORDER BY started_wall_ns DESC, number DESC",
                               &q, msg);
    if (e != ERR_OK)
        return e;
    sqlite3_bind_text(q, 1, prefix, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 2, word, -1, SQLITE_STATIC);
    while (f->n < FOUND_MAX && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        const char *id = (const char *)sqlite3_column_text(q, 0);
        snprintf(f->ids[f->n++], sizeof f->ids[0], "%s", id != NULL ? id : "");
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        e = store_failed(s, msg);
    sqlite3_finalize(q);
    return e;
}

static enum err refuse_several(const char *word, const struct found *f, struct errmsg *msg)
{
    char ids[FOUND_MAX * (FOUND_SHOWN + 3)] = "";
    size_t len = 0;
    for (size_t i = 0; i < f->n; i++)
        len += (size_t)snprintf(ids + len, sizeof ids - len, "%s%.*s", i > 0 ? ", " : "",
                                FOUND_SHOWN, f->ids[i]);
    return errmsg_set(msg, ERR_INVALID, "%.64s: several runs are called so: %s%s", word, ids,
                      f->n == FOUND_MAX ? " ..." : "");
}

enum err store_find(struct store *s, const char *word, char run_id[33], struct errmsg *msg)
{
    struct found f = {0};
    run_id[0] = '\0';
    if (strcmp(word, "latest") == 0)
        return find_latest(s, run_id, msg);
    enum err e = find_all(s, word, &f, msg);
    if (e != ERR_OK)
        return e;
    if (f.n == 0)
        return errmsg_set(msg, ERR_NOT_FOUND,
                          "%.64s: %.300s has no such run; accepted is latest, an id, its first "
                          "digits (%d at least) or a name; hammer-ctl runs lists them",
                          word, s->path, PREFIX_MIN);
    if (f.n > 1)
        return refuse_several(word, &f, msg);
    memcpy(run_id, f.ids[0], sizeof f.ids[0]);
    return ERR_OK;
}

enum err store_fetch(const char *word, const char *db, struct recording **out, struct errmsg *msg)
{
    char path[PATH_MAX], run_id[33];
    struct store *s = NULL;
    if (db == NULL && !store_default_path(path, sizeof path))
        return errmsg_set(msg, ERR_NOT_FOUND,
                          "there is no home folder, so no history; accepted is --db FILE");
    enum err e = store_open(db != NULL ? db : path, STORE_READ, &s, msg);
    if (e == ERR_OK)
        e = store_find(s, word, run_id, msg);
    if (e == ERR_OK)
        e = store_load(s, run_id, out, msg);
    store_close(s);
    return e;
}
