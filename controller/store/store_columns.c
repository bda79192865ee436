/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "controller/store/store_impl.h"
#include "proto/msg.h"

enum type {
    TYPE_TEXT,  /* an array of `size` bytes */
    TYPE_OWNED, /* NULL = none */
    TYPE_LINES, /* the same, and LF is part of it */
    TYPE_U64,
    TYPE_U32,
    TYPE_INT,
    TYPE_PLAN,
    TYPE_FACTS
};

/* The table `run`, one row a column. */
static const struct column {
    const char *name;
    enum type type;
    size_t offset, size;
    int since; /* which version of the schema */
    bool large, end;
} columns[] = {
#define COLUMN(type, member, since, large, end)                                                    \
    {                                                                                              \
#member, type, offsetof(struct recording, member),                                         \
            sizeof(((struct recording *)0)->member), since, large, end                             \
    }
    {"id", TYPE_TEXT, offsetof(struct recording, run_id), 33, 1, false, false},
    COLUMN(TYPE_TEXT, name, 1, false, false),
    COLUMN(TYPE_OWNED, description, 2, false, false),
    COLUMN(TYPE_OWNED, tags, 2, false, false),
    COLUMN(TYPE_TEXT, plan_id, 1, false, false),
    COLUMN(TYPE_U64, started_wall_ns, 1, false, false),
    COLUMN(TYPE_U64, ended_wall_ns, 1, false, true),
    COLUMN(TYPE_TEXT, version, 1, false, false),
    COLUMN(TYPE_TEXT, boot_id, 1, false, false),
    COLUMN(TYPE_U32, pid, 1, false, false),
    COLUMN(TYPE_LINES, environment, 1, true, false),
    {"plan", TYPE_PLAN, 0, 0, 1, true, false},
    COLUMN(TYPE_OWNED, secrets, 1, false, false),
    COLUMN(TYPE_OWNED, redact, 1, false, false),
    COLUMN(TYPE_LINES, abort_on, 1, false, false),
    COLUMN(TYPE_LINES, slo, 1, false, false),
    COLUMN(TYPE_U64, interval_ns, 1, false, false),
    COLUMN(TYPE_U64, lost_rows, 1, false, true),
    COLUMN(TYPE_TEXT, status, 1, false, true),
    COLUMN(TYPE_INT, exit_code, 1, false, true),
    {"facts", TYPE_FACTS, 0, 0, 1, true, true},
    COLUMN(TYPE_LINES, totals, 1, false, true),
};

#define COLUMNS (sizeof columns / sizeof columns[0])
#define SQL_MAX 2048

static bool is_in(const struct column *c, enum store_columns which)
{
    return which == COLUMNS_ALL || (which == COLUMNS_LIST ? !c->large : c->end);
}

/* --- statements ----------------------------------------------------------------------------- */

/* Each name in a frame, with a separator. */
static size_t list_names(char *sql, size_t at, enum store_columns which, int version,
                         const char *frame, const char *separator)
{
    const char *between = "";
    for (size_t i = 0; i < COLUMNS; i++) {
        const struct column *c = &columns[i];
        if (!is_in(c, which))
            continue;
        at += (size_t)snprintf(sql + at, SQL_MAX - at, "%s", between);
        for (const char *p = frame; *p != '\0'; p++)
            if (*p == '$') /* an older schema has none */
                at += (size_t)snprintf(sql + at, SQL_MAX - at, "%s",
                                       c->since <= version ? c->name : "NULL");
            else
                sql[at++] = *p;
        between = separator;
    }
    sql[at] = '\0';
    return at;
}

char *store_columns_names(const struct store *s, enum store_columns which)
{
    char *sql = mem_calloc(SQL_MAX, 1);
    list_names(sql, 0, which, s->version, "$", ", ");
    return sql;
}

char *store_columns_insert(void)
{
    char *sql = mem_calloc(SQL_MAX, 1);
    size_t at = (size_t)snprintf(sql, SQL_MAX, "INSERT INTO run (");
    at = list_names(sql, at, COLUMNS_ALL, STORE_VERSION, "$", ", ");
    at += (size_t)snprintf(sql + at, SQL_MAX - at, ") VALUES (");
    at = list_names(sql, at, COLUMNS_ALL, STORE_VERSION, "?", ", ");
    at += (size_t)snprintf(sql + at, SQL_MAX - at, ") ON CONFLICT (id) DO UPDATE SET ");
    list_names(sql, at, COLUMNS_ALL, STORE_VERSION, "$ = excluded.$", ", ");
    return sql;
}

char *store_columns_update(void)
{
    char *sql = mem_calloc(SQL_MAX, 1);
    size_t at = (size_t)snprintf(sql, SQL_MAX, "UPDATE run SET ");
    at = list_names(sql, at, COLUMNS_END, STORE_VERSION, "$ = ?", ", ");
    snprintf(sql + at, SQL_MAX - at, " WHERE id = ?");
    return sql;
}

/* --- to the database ------------------------------------------------------------------------ */

static int bind_text(sqlite3_stmt *q, int at, const char *text)
{
    return text == NULL ? sqlite3_bind_null(q, at)
                        : sqlite3_bind_text(q, at, text, -1, SQLITE_STATIC);
}

/* SQLite's integers are signed; what is beyond is no time and no count of ours. */
static sqlite3_int64 capped(uint64_t v)
{
    return v <= INT64_MAX ? (sqlite3_int64)v : INT64_MAX;
}

static int bind(sqlite3_stmt *q, int at, const struct column *c, const struct recording *r,
                const char *facts)
{
    const void *member = (const char *)r + c->offset;
    switch (c->type) {
    case TYPE_TEXT:
        return bind_text(q, at, member);
    case TYPE_OWNED:
    case TYPE_LINES:
        return bind_text(q, at, *(char *const *)member);
    case TYPE_U64:
        return sqlite3_bind_int64(q, at, capped(*(const uint64_t *)member));
    case TYPE_U32:
        return sqlite3_bind_int64(q, at, *(const uint32_t *)member);
    case TYPE_INT:
        return sqlite3_bind_int(q, at, *(const int *)member);
    case TYPE_PLAN:
        return r->plan == NULL ? sqlite3_bind_null(q, at)
                               : sqlite3_bind_blob64(q, at, r->plan, r->plan_len, SQLITE_STATIC);
    case TYPE_FACTS:
        return bind_text(q, at, facts);
    }
    return SQLITE_MISUSE;
}

enum err store_columns_bind(sqlite3_stmt *q, enum store_columns which, const struct recording *r,
                            const char *facts)
{
    int at = 1, rc = SQLITE_OK;
    for (size_t i = 0; i < COLUMNS && rc == SQLITE_OK; i++)
        if (is_in(&columns[i], which))
            rc = bind(q, at++, &columns[i], r, facts);
    if (rc == SQLITE_OK && which == COLUMNS_END)
        rc = bind_text(q, at, r->run_id);
    return rc == SQLITE_OK ? ERR_OK : rc == SQLITE_TOOBIG ? ERR_TOO_BIG : ERR_NOMEM;
}

/* --- from the database ---------------------------------------------------------------------- */

/* Foreign text that may land on a terminal. */
static void clean(char *text, bool lines)
{
    for (char *line = text; lines && (line = strchr(line, '\n')) != NULL; line++) {
        *line = '\0';
        msg_sanitise(text);
        *line = '\n';
        text = line + 1;
    }
    msg_sanitise(text);
}

static char *read_owned(sqlite3_stmt *q, int at, bool lines)
{
    char *text = mem_strdup((const char *)sqlite3_column_text(q, at));
    if (text != NULL)
        clean(text, lines);
    return text;
}

static void read_text(sqlite3_stmt *q, int at, char *to, size_t size)
{
    const char *text = (const char *)sqlite3_column_text(q, at);
    snprintf(to, size, "%s", text != NULL ? text : "");
    clean(to, false);
}

static uint64_t read_u64(sqlite3_stmt *q, int at)
{
    sqlite3_int64 v = sqlite3_column_int64(q, at);
    return v > 0 ? (uint64_t)v : 0;
}

static void read_plan(sqlite3_stmt *q, int at, struct recording *r)
{
    const void *bytes = sqlite3_column_blob(q, at);
    int len = sqlite3_column_bytes(q, at);
    if (bytes == NULL || len <= 0)
        return;
    r->plan = mem_dup(bytes, (size_t)len);
    r->plan_len = (size_t)len;
}

static enum err read_facts(sqlite3_stmt *q, int at, struct recording *r, struct errmsg *msg)
{
    const char *text = (const char *)sqlite3_column_text(q, at);
    return text != NULL ? recording_facts_decode(text, r, msg) : ERR_OK;
}

static enum err read_column(sqlite3_stmt *q, int at, const struct column *c, struct recording *r,
                            struct errmsg *msg)
{
    void *member = (char *)r + c->offset;
    switch (c->type) {
    case TYPE_TEXT:
        read_text(q, at, member, c->size);
        break;
    case TYPE_OWNED:
    case TYPE_LINES:
        *(char **)member = read_owned(q, at, c->type == TYPE_LINES);
        break;
    case TYPE_U64:
        *(uint64_t *)member = read_u64(q, at);
        break;
    case TYPE_U32:
        *(uint32_t *)member = (uint32_t)read_u64(q, at);
        break;
    case TYPE_INT:
        *(int *)member = sqlite3_column_int(q, at);
        break;
    case TYPE_PLAN:
        read_plan(q, at, r);
        break;
    case TYPE_FACTS:
        return read_facts(q, at, r, msg);
    }
    return ERR_OK;
}

struct recording *store_columns_read(const struct store *s, sqlite3_stmt *q,
                                     enum store_columns which, struct errmsg *msg)
{
    struct errmsg why = {{0}};
    struct recording *r = mem_calloc(1, sizeof *r);
    enum err e = ERR_OK;
    int at = 0;
    for (size_t i = 0; i < COLUMNS && e == ERR_OK; i++)
        if (is_in(&columns[i], which))
            e = read_column(q, at++, &columns[i], r, &why);
    if (e == ERR_OK)
        return r;
    (void)errmsg_set(msg, e, "%.300s: run %.8s: %.150s", s->path, r->run_id, why.text);
    recording_free(r);
    return NULL;
}
