/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/xdg.h"
#include "controller/store/store_impl.h"

#define BUSY_MS     5000
#define LENGTH_MAX  (64 << 20) /* of a row: a plan, or what is known of 1024 agents */
/* Snapshots are some kB: in larger pages they leave less room empty and are written by fewer calls.
 * An older database keeps the size it was made with. */
#define PAGE_BYTES  32768
#define WAL_BYTES   (4 << 20)  /* then it is copied into the database, in a quiet moment */
#define WAL_MAX     (32 << 20) /* or without one */
#define WAL_KEPT    (16 << 20) /* of the file, to be written again */
#define CACHE_KIB   1024
#define WAL_TRIES   50
#define WAL_WAIT_NS (100 * NS_PER_MS)

/* [n] makes version n + 1 of version n; an empty database is version 0. Never changed once
 * released: databases out there are what these made. */
static const char *const migrations[STORE_VERSION] = {
    "CREATE TABLE run ("
    " number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,"
    " plan_id TEXT NOT NULL, started_wall_ns INTEGER NOT NULL, ended_wall_ns INTEGER NOT NULL,"
    " version TEXT NOT NULL, boot_id TEXT NOT NULL, pid INTEGER NOT NULL, environment TEXT,"
    " plan BLOB, secrets TEXT, redact TEXT, abort_on TEXT, slo TEXT,"
    " interval_ns INTEGER NOT NULL, lost_rows INTEGER NOT NULL, status TEXT NOT NULL,"
    " exit_code INTEGER NOT NULL, facts TEXT, totals TEXT);"
    "CREATE INDEX run_started ON run (started_wall_ns);"
    "CREATE TABLE snapshot ("
    " run INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,"
    " seq INTEGER NOT NULL, agent INTEGER NOT NULL, bytes BLOB NOT NULL);"
    "CREATE UNIQUE INDEX snapshot_place ON snapshot (run, seq, agent);",

    "ALTER TABLE run ADD COLUMN description TEXT;"
    "ALTER TABLE run ADD COLUMN tags TEXT;"
    "ALTER TABLE snapshot ADD COLUMN checksum INTEGER;"
    "CREATE INDEX run_plan ON run (plan_id, started_wall_ns);",
};

bool store_default_path(char *buf, size_t cap)
{
    return xdg_data_path("runs.db", buf, cap);
}

/* --- errors and statements ------------------------------------------------------------------ */

static enum err code_of(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ERR_BUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return ERR_CORRUPT;
    case SQLITE_TOOBIG:
        return ERR_TOO_BIG;
    default:
        return ERR_SYSTEM;
    }
}

enum err store_failed(const struct store *s, struct errmsg *msg)
{
    int rc = sqlite3_extended_errcode(s->db), system = sqlite3_system_errno(s->db);
    bool io = (rc & 0xff) == SQLITE_IOERR || (rc & 0xff) == SQLITE_CANTOPEN;
    return errmsg_set(msg, code_of(rc), "%.300s: %s%s%s", s->path, sqlite3_errmsg(s->db),
                      io && system != 0 ? ": " : "", io && system != 0 ? strerror(system) : "");
}

enum err store_exec(struct store *s, const char *sql, struct errmsg *msg)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? ERR_OK : store_failed(s, msg);
}

enum err store_prepare(struct store *s, const char *sql, sqlite3_stmt **out, struct errmsg *msg)
{
    int rc = sqlite3_prepare_v2(s->db, sql, -1, out, NULL);
    return rc == SQLITE_OK ? ERR_OK : store_failed(s, msg);
}

enum err store_run(struct store *s, sqlite3_stmt *q, struct errmsg *msg)
{
    enum err e = sqlite3_step(q) == SQLITE_DONE ? ERR_OK : store_failed(s, msg);
    sqlite3_finalize(q);
    return e;
}

enum err store_transaction(struct store *s, struct errmsg *msg)
{
    return store_exec(s, "BEGIN IMMEDIATE", msg);
}

enum err store_settle(struct store *s, enum err e, struct errmsg *msg)
{
    if (e == ERR_OK)
        e = store_exec(s, "COMMIT", msg);
    if (e != ERR_OK && sqlite3_get_autocommit(s->db) == 0)
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return e;
}

static enum err get_number(struct store *s, const char *sql, int *out, struct errmsg *msg)
{
    sqlite3_stmt *q;
    enum err e = store_prepare(s, sql, &q, msg);
    if (e != ERR_OK)
        return e;
    if (sqlite3_step(q) == SQLITE_ROW)
        *out = sqlite3_column_int(q, 0);
    else
        e = store_failed(s, msg);
    sqlite3_finalize(q);
    return e;
}

/* --- opening -------------------------------------------------------------------------------- */

/* Whatever a file says of itself: no code of its schema is run. */
static enum err harden(struct store *s, struct errmsg *msg)
{
    static const struct {
        int option, value;
    } switches[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
    };
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
        sqlite3_db_config(s->db, switches[i].option, switches[i].value, NULL);
    sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
    sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_busy_timeout(s->db, BUSY_MS);
    return store_exec(s,
                      "PRAGMA cell_size_check = ON; PRAGMA foreign_keys = ON;"
                      "PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0;",
                      msg);
}

static enum err open_db(struct store *s, const char *name, int flags, struct errmsg *msg)
{
    sqlite3_close(s->db);
    s->db = NULL;
    int rc =
        sqlite3_open_v2(name, &s->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, NULL);
    if (s->db == NULL)
        return errmsg_set(msg, ERR_NOMEM, "%.300s: %s", s->path, sqlite3_errstr(rc));
    return rc == SQLITE_OK ? harden(s, msg) : store_failed(s, msg);
}

static enum err read_marks(struct store *s, int *application, int *tables, struct errmsg *msg)
{
    enum err e = get_number(s, "PRAGMA application_id", application, msg);
    if (e == ERR_OK)
        e = get_number(s, "PRAGMA user_version", &s->version, msg);
    if (e == ERR_OK)
        e = get_number(s, "SELECT count(*) FROM sqlite_master", tables, msg);
    return e;
}

/* A file can say of its tables what it likes: a column that is worked out when it is read (one that
 * makes 60 MB a row costs the file nothing), a view, a virtual table. None of these is ours. */
static enum err check_tables(struct store *s, struct errmsg *msg)
{
    int plain = 0, worked_out = 0;
    enum err e = get_number(s,
                            "SELECT count(*) FROM sqlite_master WHERE type = 'table'"
                            " AND rootpage > 0 AND name IN ('run', 'snapshot')",
                            &plain, msg);
    if (e == ERR_OK)
        e = get_number(s,
                       "SELECT (SELECT count(*) FROM pragma_table_xinfo('run') WHERE hidden <> 0)"
                       " + (SELECT count(*) FROM pragma_table_xinfo('snapshot') WHERE hidden <> 0)",
                       &worked_out, msg);
    if (e == ERR_OK && (plain != 2 || worked_out != 0))
        e = errmsg_set(msg, ERR_INVALID, "%.300s: its tables are not those that hammer makes",
                       s->path);
    return e;
}

/* What is it? application 0 and version 0 without a table: an empty one. Read at one instant: it
 * may be made by another process right now. */
static enum err identify(struct store *s, bool *empty, struct errmsg *msg)
{
    int application = 0, tables = 0;
    bool own = sqlite3_get_autocommit(s->db) != 0;
    enum err e = own ? store_exec(s, "BEGIN", msg) : ERR_OK;
    if (e == ERR_OK)
        e = read_marks(s, &application, &tables, msg);
    if (own)
        e = store_settle(s, e, msg);
    if (e != ERR_OK)
        return e;
    *empty = application == 0 && s->version == 0 && tables == 0;
    if (!*empty && (application != STORE_APPLICATION || s->version < 1))
        return errmsg_set(msg, ERR_INVALID, "%.300s: a database, but not one of hammer's runs",
                          s->path);
    if (s->version > STORE_VERSION)
        return errmsg_set(msg, ERR_VERSION,
                          "%.300s: its schema has version %d, made by a newer hammer; this one "
                          "knows versions up to %d",
                          s->path, s->version, STORE_VERSION);
    return *empty ? ERR_OK : check_tables(s, msg);
}

/* "file:" and the path, and what it must not hold as it is. */
static void immutable_name(const char *path, char *uri)
{
    uri = stpcpy(uri, "file:");
    for (const char *p = path; *p != '\0'; p++) {
        if (*p == '%' || *p == '?' || *p == '#')
            uri += sprintf(uri, "%%%02X", (unsigned char)*p);
        else
            *uri++ = *p;
    }
    strcpy(uri, "?immutable=1");
}

/* Where nobody may write, a database in WAL mode cannot be read but as one that does not change. */
static enum err open_for_reading(struct store *s, struct errmsg *msg)
{
    bool empty = false;
    char *uri = mem_calloc(3 * strlen(s->path) + 32, 1);
    enum err e = open_db(s, s->path, SQLITE_OPEN_READONLY, msg);
    if (e == ERR_OK)
        e = identify(s, &empty, msg);
    if (e == ERR_SYSTEM) {
        immutable_name(s->path, uri);
        e = open_db(s, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, msg);
        if (e == ERR_OK)
            e = identify(s, &empty, msg);
    }
    mem_free(uri);
    if (e == ERR_OK && empty)
        e = errmsg_set(msg, ERR_INVALID, "%.300s: empty, not a database of hammer's runs", s->path);
    return e;
}

/* --- making and migrating ------------------------------------------------------------------- */

static enum err set_version(struct store *s, struct errmsg *msg)
{
    char sql[96];
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             STORE_APPLICATION, STORE_VERSION);
    return store_exec(s, sql, msg);
}

/* Another process may have done it meanwhile: what counts is what is there under the lock. */
static enum err migrate(struct store *s, struct errmsg *msg)
{
    bool empty = false;
    enum err e = store_transaction(s, msg);
    if (e != ERR_OK)
        return e;
    e = identify(s, &empty, msg);
    for (int v = s->version; v < STORE_VERSION && e == ERR_OK; v++)
        e = store_exec(s, migrations[v], msg);
    if (e == ERR_OK && s->version < STORE_VERSION)
        e = set_version(s, msg);
    e = store_settle(s, e, msg);
    if (e == ERR_OK)
        s->version = STORE_VERSION;
    return e;
}

/* SQLite does not wait for others here, whatever its timeout is. Where WAL cannot be had (a network
 * share), it is done without. */
static enum err use_wal(struct store *s, struct errmsg *msg)
{
    char sql[128];
    snprintf(sql, sizeof sql,
             "PRAGMA page_size = %d; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL",
             PAGE_BYTES);
    enum err e = store_exec(s, sql, msg);
    for (int i = 1; i < WAL_TRIES && e == ERR_BUSY; i++) {
        clock_sleep_until(clock_mono_ns() + WAL_WAIT_NS);
        e = store_exec(s, "PRAGMA journal_mode = WAL", msg);
    }
    return e;
}

/* Copying WAL into the database waits for the disk, twice: not in the middle of many rows. */
static int wal_grew(void *arg, sqlite3 *db, const char *name, int pages)
{
    struct store *s = arg;
    (void)name;
    s->wal_bytes = (size_t)pages * s->page_bytes;
    if (s->wal_bytes >= WAL_MAX)
        sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return SQLITE_OK;
}

void store_rest(struct store *s)
{
    if (s->wal_bytes < WAL_BYTES)
        return;
    sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    s->wal_bytes = 0; /* or as the next commit says */
}

/* A commit need not wait for the disk: WAL stays whole without. The size of the cache has to be
 * said: SQLite counts its pages by the size it thinks they have before it has read the first one.
 */
static enum err tune_history(struct store *s, struct errmsg *msg)
{
    char sql[160];
    int page = 0;
    enum err e = get_number(s, "PRAGMA page_size", &page, msg);
    if (e != ERR_OK)
        return e;
    s->page_bytes = (size_t)page;
    snprintf(sql, sizeof sql,
             "PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = %d;"
             "PRAGMA cache_size = -%d",
             WAL_KEPT, CACHE_KIB);
    sqlite3_wal_hook(s->db, wal_grew, s);
    return store_exec(s, sql, msg);
}

static enum err system_failed(const char *path, struct errmsg *msg)
{
    return errmsg_set(msg, errno == ENOENT ? ERR_NOT_FOUND : ERR_SYSTEM, "%.300s: %s", path,
                      strerror(errno));
}

/* SQLite goes on writing into a file that has no name any more. */
static enum err remember_file(struct store *s, struct errmsg *msg)
{
    struct stat st;
    if (stat(s->path, &st) != 0)
        return system_failed(s->path, msg);
    s->device = st.st_dev;
    s->file = st.st_ino;
    return ERR_OK;
}

enum err store_is_there(const struct store *s, struct errmsg *msg)
{
    struct stat st;
    if (stat(s->path, &st) == 0 && st.st_dev == s->device && st.st_ino == s->file)
        return ERR_OK;
    return errmsg_set(msg, ERR_NOT_FOUND, "%.300s: it was deleted or replaced while it was written",
                      s->path);
}

static enum err open_for_writing(struct store *s, enum store_kind kind, struct errmsg *msg)
{
    bool empty = false;
    enum err e = open_db(s, s->path, SQLITE_OPEN_READWRITE, msg);
    if (e == ERR_OK)
        e = identify(s, &empty, msg);
    if (e == ERR_OK && empty && kind == STORE_HISTORY)
        e = use_wal(s, msg);
    if (e == ERR_OK && s->version < STORE_VERSION)
        e = migrate(s, msg);
    if (e == ERR_OK && kind == STORE_HISTORY)
        e = tune_history(s, msg);
    if (e == ERR_OK && kind == STORE_HISTORY)
        e = remember_file(s, msg);
    if (e == ERR_OK && sqlite3_db_readonly(s->db, "main") == 1)
        e = errmsg_set(msg, ERR_SYSTEM, "%.300s: it cannot be written", s->path);
    return e;
}

/* --- files ---------------------------------------------------------------------------------- */

static enum err make_folders(const char *path, struct errmsg *msg)
{
    char part[PATH_MAX];
    for (const char *p = strchr(path + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(p - path), path);
        if (mkdir(part, 0700) != 0 && errno != EEXIST && access(part, F_OK) != 0)
            return system_failed(part, msg);
    }
    return ERR_OK;
}

/* Only a new file is opened here: closing one that SQLite has open in this process would drop its
 * locks. */
static enum err make_file(const char *path, bool must_be_new, struct errmsg *msg)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    else if (errno != EEXIST || must_be_new)
        return system_failed(path, msg);
    return ERR_OK;
}

/* A pipe would hang. */
static enum err check_file(const char *path, struct errmsg *msg)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return system_failed(path, msg);
    if (!S_ISREG(st.st_mode))
        return errmsg_set(msg, ERR_INVALID, "%.300s: no regular file, so no database", path);
    return ERR_OK;
}

static enum err store_new(const char *path, struct store **out, struct errmsg *msg)
{
    *out = NULL;
    if (path[0] == '\0' || strlen(path) >= PATH_MAX)
        return errmsg_set(msg, ERR_INVALID, "%.100s: no file name of 1 to %d bytes", path,
                          PATH_MAX - 1);
    struct store *s = mem_calloc(1, sizeof *s);
    /* Not a name that means something to SQLite. */
    snprintf(s->path, sizeof s->path, "%s%.*s", strchr(path, '/') == NULL ? "./" : "", PATH_MAX - 3,
             path);
    *out = s;
    return ERR_OK;
}

static enum err unless_failed(enum err e, struct store **out)
{
    if (e != ERR_OK) {
        store_close(*out);
        *out = NULL;
    }
    return e;
}

enum err store_open(const char *path, enum store_mode mode, struct store **out, struct errmsg *msg)
{
    enum err e = store_new(path, out, msg);
    if (e == ERR_OK && mode == STORE_WRITE)
        e = make_folders((*out)->path, msg);
    if (e == ERR_OK && mode == STORE_WRITE)
        e = make_file((*out)->path, false, msg);
    if (e == ERR_OK)
        e = check_file((*out)->path, msg);
    if (e == ERR_OK)
        e = mode == STORE_READ ? open_for_reading(*out, msg)
                               : open_for_writing(*out, STORE_HISTORY, msg);
    return unless_failed(e, out);
}

enum err store_create(const char *path, enum store_kind kind, struct store **out,
                      struct errmsg *msg)
{
    enum err e = store_new(path, out, msg);
    if (e == ERR_OK)
        e = make_file((*out)->path, true, msg);
    if (e == ERR_OK)
        e = open_for_writing(*out, kind, msg);
    return unless_failed(e, out);
}

void store_close(struct store *s)
{
    if (s == NULL)
        return;
    sqlite3_close(s->db);
    mem_free(s);
}
