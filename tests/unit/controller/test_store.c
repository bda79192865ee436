/* SPDX-License-Identifier: MIT */
#include "controller/store/store.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/random_recording.h"

static char folder[64], path[128];
static uint64_t rng;
static struct errmsg msg;

static void set_up(void)
{
    folder_make(folder);
    snprintf(path, sizeof path, "%s/sub/runs.db", folder);
    rng = check_seed();
    msg.text[0] = '\0';
}

static void tear_down(void)
{
    folder_remove(folder);
}

#define MUST(e)    ck_assert_msg((e) == ERR_OK, "%s", msg.text)
#define SAYS(what) ck_assert_msg(strstr(msg.text, what) != NULL, "%s", msg.text)

static struct store *open_store(enum store_mode mode)
{
    struct store *s = NULL;
    MUST(store_open(path, mode, &s, &msg));
    return s;
}

/* A run with these beginnings of an id and start. */
static struct recording *put_run(struct store *s, const char *id, const char *name,
                                 uint64_t started_ns)
{
    struct recording *r = random_recording(&rng, 2);
    memcpy(r->run_id, id, strlen(id));
    snprintf(r->name, sizeof r->name, "%s", name);
    r->started_wall_ns = started_ns;
    MUST(store_begin(s, r, &msg));
    return r;
}

/* The database by SQLite's own words. */
static void raw(const char *sql)
{
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

static int raw_number(const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *q;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(q), SQLITE_ROW);
    int n = sqlite3_column_int(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return n;
}

/* --- files ---------------------------------------------------------------------------------- */

static unsigned mode_of(const char *name)
{
    struct stat st;
    ck_assert_int_eq(stat(name, &st), 0);
    return (unsigned)(st.st_mode & 07777);
}

START_TEST(files_are_for_the_user_alone)
{
    char other[PATH_MAX];
    umask(0);
    struct store *s = open_store(STORE_WRITE);
    recording_free(put_run(s, "a", "x", 1));
    ck_assert_uint_eq(mode_of(path), 0600);
    snprintf(other, sizeof other, "%s-wal", path);
    ck_assert_uint_eq(mode_of(other), 0600);
    snprintf(other, sizeof other, "%s/sub", folder);
    ck_assert_uint_eq(mode_of(other), 0700);
    store_close(s);
    ck_assert_int_eq(raw_number("PRAGMA application_id"), 0x484d4d52);
    ck_assert_int_eq(raw_number("PRAGMA user_version"), 2);
}
END_TEST

static void refused(enum store_mode mode, enum err code, const char *said)
{
    struct store *s = NULL;
    enum err e = store_open(path, mode, &s, &msg);
    ck_assert_int_ne(e, ERR_OK);
    if (code != ERR_OK)
        ck_assert_msg(e == code, "%s: %s", err_str(e), msg.text);
    ck_assert_ptr_null(s);
    SAYS(path);
    SAYS(said);
}

START_TEST(what_is_no_history_is_refused)
{
    const char other[] = "PRAGMA user_version = 7; CREATE TABLE t (a)";
    refused(STORE_READ, ERR_NOT_FOUND, "No such file");
    snprintf(path, sizeof path, "%s/a", folder);
    FILE *f = fopen(path, "w");
    for (int i = 0; i < 1000; i++)
        fputs("text that is no database\n", f);
    fclose(f);
    refused(STORE_READ, ERR_CORRUPT, "not a database");
    refused(STORE_WRITE, ERR_CORRUPT, "not a database");
    snprintf(path, sizeof path, "%s/b", folder);
    raw(other);
    refused(STORE_READ, ERR_INVALID, "not one of hammer's");
    refused(STORE_WRITE, ERR_INVALID, "not one of hammer's");
    snprintf(path, sizeof path, "%s/c", folder);
    fclose(fopen(path, "w"));
    refused(STORE_READ, ERR_INVALID, "empty");
    snprintf(path, sizeof path, "%s/d", folder);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    refused(STORE_READ, ERR_INVALID, "no regular file");
    snprintf(path, sizeof path, "%s", folder);
    refused(STORE_READ, ERR_INVALID, "no regular file");
    refused(STORE_WRITE, ERR_INVALID, "no regular file");
}
END_TEST

START_TEST(a_newer_schema_is_refused_with_both_versions)
{
    store_close(open_store(STORE_WRITE));
    raw("PRAGMA user_version = 9");
    refused(STORE_READ, ERR_VERSION, "version 9");
    SAYS("up to 2");
    refused(STORE_WRITE, ERR_VERSION, "version 9");
}
END_TEST

static void make_version_1(void)
{
    char *sql = file_read(TEST_DATA_DIR "/store/version1.sql");
    ck_assert_ptr_nonnull(sql);
    snprintf(path, sizeof path, "%s/old.db", folder);
    raw(sql);
    mem_free(sql);
}

static enum err count_row(void *arg, const struct store_row *row, struct errmsg *why)
{
    (void)why;
    size_t *n = arg;
    ck_assert_uint_eq(row->agent, 0);
    ck_assert_uint_eq(row->seq, *n == 2 ? 0 : *n + 1); /* the cumulative one comes last */
    (*n)++;
    return ERR_OK;
}

static void check_old_run(struct store *s)
{
    char id[33];
    struct recording *r;
    size_t rows = 0;
    MUST(store_find(s, "latest", id, &msg));
    MUST(store_load(s, id, &r, &msg));
    ck_assert_str_eq(r->name, "first");
    ck_assert_ptr_null(r->tags);
    ck_assert_uint_eq(r->n_agents, 1);
    ck_assert_str_eq(r->agents[0].name, "a");
    MUST(store_rows(s, id, count_row, &rows, &msg));
    ck_assert_uint_eq(rows, 3);
    recording_free(r);
}

static bool count_run(void *arg, const struct recording *r)
{
    (void)r;
    (*(size_t *)arg)++;
    return true;
}

static size_t listed(struct store *s, struct store_filter f)
{
    size_t n = 0;
    MUST(store_list(s, &f, count_run, &n, &msg));
    return n;
}

START_TEST(an_older_schema_is_read_as_it_is)
{
    make_version_1();
    ck_assert_int_eq(chmod(path, 0400), 0);
    struct store *s = open_store(STORE_READ);
    check_old_run(s);
    ck_assert_uint_eq(listed(s, (struct store_filter){.name = "FIR"}), 1);
    ck_assert_uint_eq(listed(s, (struct store_filter){.tag = "x"}), 0);
    store_close(s);
    ck_assert_int_eq(raw_number("PRAGMA user_version"), 1);
}
END_TEST

START_TEST(an_older_schema_is_migrated)
{
    make_version_1();
    struct store *s = open_store(STORE_WRITE);
    check_old_run(s);
    MUST(store_annotate(s, "00112233445566778899aabbccddeeff", NULL, "why", "x,y", &msg));
    ck_assert_uint_eq(listed(s, (struct store_filter){.tag = "x"}), 1);
    store_close(s);
    ck_assert_int_eq(raw_number("PRAGMA user_version"), 2);
    ck_assert_int_eq(raw_number("SELECT count(*) FROM sqlite_master WHERE name = 'run_plan'"), 1);
    /* A new database has the same schema as one that was migrated. */
    char *const fresh = mem_strdup(path);
    snprintf(path, sizeof path, "%s/new.db", folder);
    store_close(open_store(STORE_WRITE));
    char sql[PATH_MAX + 200];
    sqlite3 *db;
    sqlite3_stmt *q;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    snprintf(sql, sizeof sql, "ATTACH '%s' AS old", fresh);
    ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(
        sqlite3_prepare_v2(db,
                           "SELECT count(*) FROM (SELECT name, replace(replace(sql, char(10), ''),"
                           " ' ', '') AS x FROM main.sqlite_master EXCEPT SELECT name,"
                           " replace(replace(sql, char(10), ''), ' ', '') FROM old.sqlite_master)",
                           -1, &q, NULL),
        SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(q), SQLITE_ROW);
    ck_assert_int_eq(sqlite3_column_int(q, 0), 0);
    sqlite3_finalize(q);
    sqlite3_close(db);
    mem_free(fresh);
}
END_TEST

/* --- runs ----------------------------------------------------------------------------------- */

START_TEST(a_run_comes_back_as_it_was)
{
    struct store *s = open_store(STORE_WRITE);
    for (int i = 0; i < 30; i++) {
        struct recording *r = random_recording(&rng, check_below(&rng, 4)), *again = NULL;
        MUST(store_begin(s, r, &msg));
        MUST(store_load(s, r->run_id, &again, &msg));
        assert_same_recording(r, again);
        recording_free(again);
        /* Its end changes what is known at the end, and nothing else. */
        char *name = mem_strdup(r->name);
        strcpy(r->status, "incomplete");
        r->exit_code = 3;
        r->interrupted = !r->interrupted;
        strcpy(r->name, "another");
        MUST(store_end(s, r, &msg));
        strcpy(r->name, name);
        MUST(store_load(s, r->run_id, &again, &msg));
        assert_same_recording(r, again);
        recording_free(again);
        /* Taken over: all of it anew. */
        strcpy(r->name, "taken");
        MUST(store_begin(s, r, &msg));
        MUST(store_load(s, r->run_id, &again, &msg));
        assert_same_recording(r, again);
        recording_free(again);
        mem_free(name);
        recording_free(r);
    }
    ck_assert_uint_eq(listed(s, (struct store_filter){.latest = 0}), 30);
    store_close(s);
}
END_TEST

struct rows {
    size_t n;
    uint64_t last_seq;
    size_t last_agent;
    bool cumulative;
};

static enum err check_row(void *arg, const struct store_row *row, struct errmsg *why)
{
    struct rows *r = arg;
    (void)why;
    bool later = row->seq > r->last_seq || (row->seq == r->last_seq && row->agent > r->last_agent);
    ck_assert(row->seq == 0 || !r->cumulative);
    ck_assert(r->n == 0 || later || (row->seq == 0 && !r->cumulative));
    ck_assert_uint_eq(row->len, 3 + row->agent);
    for (size_t i = 0; i < row->len; i++)
        ck_assert_uint_eq(row->bytes[i], (uint8_t)(row->seq + row->agent));
    *r = (struct rows){r->n + 1, row->seq, row->agent, row->seq == 0};
    return ERR_OK;
}

static struct store_row make_row(uint8_t *bytes, size_t agent, uint64_t seq)
{
    memset(bytes, (int)(seq + agent), 3 + agent);
    return (struct store_row){.agent = agent, .seq = seq, .bytes = bytes, .len = 3 + agent};
}

#define AGENTS 5
#define SEQS   20

/* In any order, some of them twice: what is there stays. */
START_TEST(rows_come_interval_by_interval)
{
    struct store *s = open_store(STORE_WRITE);
    struct recording *r = put_run(s, "aa", "rows", 5), *other = put_run(s, "bb", "other", 6);
    for (int i = 0; i < 1000 + 2 * AGENTS * SEQS; i++) {
        uint8_t bytes[2][16];
        struct store_row rows[2];
        size_t at = i < 1000 ? check_below(&rng, AGENTS * SEQS) : (size_t)i / 2 % (AGENTS * SEQS);
        rows[0] = make_row(bytes[0], at % AGENTS, at / AGENTS);
        rows[1] = make_row(bytes[1], check_below(&rng, AGENTS), check_below(&rng, SEQS));
        MUST(store_add(s, i % 2 == 0 ? r->run_id : other->run_id, rows, 2, &msg));
    }
    struct rows seen = {0};
    MUST(store_rows(s, r->run_id, check_row, &seen, &msg));
    ck_assert_uint_eq(seen.n, AGENTS * SEQS);
    ck_assert_int_eq(store_add(s, "none", NULL, 0, &msg), ERR_NOT_FOUND);
    MUST(store_remove(s, r->run_id, &msg));
    ck_assert_int_eq(store_remove(s, r->run_id, &msg), ERR_NOT_FOUND);
    store_close(s);
    ck_assert_int_eq(raw_number("SELECT count(*) FROM snapshot"), AGENTS * SEQS);
    ck_assert_int_eq(raw_number("SELECT count(*) FROM run"), 1);
    recording_free(other);
    recording_free(r);
}
END_TEST

START_TEST(lists_are_filtered)
{
    struct store *s = open_store(STORE_WRITE);
    struct recording *a = put_run(s, "aaaa1", "Night one", 100);
    struct recording *b = put_run(s, "aaaa2", "night TWO", 200);
    struct recording *c = put_run(s, "bbbb", "day", 300);
    MUST(store_annotate(s, a->run_id, NULL, "the Baseline", "slow,night", &msg));
    MUST(store_annotate(s, b->run_id, NULL, "", "slower", &msg));
    MUST(store_annotate(s, c->run_id, NULL, "", "", &msg));
    ck_assert_uint_eq(listed(s, (struct store_filter){.from_ns = 200}), 2);
    ck_assert_uint_eq(listed(s, (struct store_filter){.from_ns = 101, .to_ns = 299}), 1);
    ck_assert_uint_eq(listed(s, (struct store_filter){.name = "NIGHT"}), 2);
    ck_assert_uint_eq(listed(s, (struct store_filter){.description = "base"}), 1);
    ck_assert_uint_eq(listed(s, (struct store_filter){.tag = "slow"}), 1);
    ck_assert_uint_eq(listed(s, (struct store_filter){.tag = "night"}), 1);
    ck_assert_uint_eq(listed(s, (struct store_filter){.tag = "slow,night"}), 1);
    ck_assert_uint_eq(listed(s, (struct store_filter){.latest = 2}), 2);
    ck_assert_uint_eq(listed(s, (struct store_filter){.plan = b->plan_id}), 1);
    recording_free(a);
    recording_free(b);
    recording_free(c);
    store_close(s);
}
END_TEST

START_TEST(runs_are_found_by_id_and_name)
{
    char id[33];
    struct store *s = open_store(STORE_WRITE);
    ck_assert_int_eq(store_find(s, "latest", id, &msg), ERR_NOT_FOUND);
    struct recording *a = put_run(s, "aaaa1", "beef", 100);
    struct recording *b = put_run(s, "aaaa2", "night", 200);
    struct recording *c = put_run(s, "beef", "night", 150);
    MUST(store_find(s, "latest", id, &msg));
    ck_assert_str_eq(id, b->run_id);
    MUST(store_find(s, "AAAA1", id, &msg));
    ck_assert_str_eq(id, a->run_id);
    MUST(store_find(s, c->run_id, id, &msg));
    ck_assert_str_eq(id, c->run_id);
    const char *const several[] = {"aaaa", "night", "beef"};
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(store_find(s, several[i], id, &msg), ERR_INVALID);
        SAYS("several");
        SAYS("aaaa");
    }
    const char *const none[] = {"", "aaa", "aaaa3", "nigh", "%", "aaaa1' OR '1"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        ck_assert_int_eq(store_find(s, none[i], id, &msg), ERR_NOT_FOUND);
    recording_free(a);
    recording_free(b);
    recording_free(c);
    store_close(s);
}
END_TEST

START_TEST(notes_change_what_was_said)
{
    struct store *s = open_store(STORE_WRITE);
    struct recording *r = put_run(s, "aa", "before", 1), *again;
    MUST(store_annotate(s, r->run_id, NULL, "d", "t", &msg));
    MUST(store_annotate(s, r->run_id, "after", NULL, NULL, &msg));
    MUST(store_load(s, r->run_id, &again, &msg));
    ck_assert_str_eq(again->name, "after");
    ck_assert_str_eq(again->description, "d");
    ck_assert_str_eq(again->tags, "t");
    recording_free(again);
    MUST(store_annotate(s, r->run_id, NULL, "", "", &msg));
    MUST(store_load(s, r->run_id, &again, &msg));
    ck_assert_ptr_null(again->description);
    ck_assert_ptr_null(again->tags);
    ck_assert_int_eq(store_annotate(s, "zz", "x", NULL, NULL, &msg), ERR_NOT_FOUND);
    recording_free(again);
    recording_free(r);
    store_close(s);
}
END_TEST

/* --- files of one run ------------------------------------------------------------------------- */

START_TEST(an_export_replaces_files_only)
{
    char pipe[128];
    struct stat st;
    struct store *s = open_store(STORE_WRITE);
    struct recording *r = put_run(s, "aa", "x", 1);
    snprintf(pipe, sizeof pipe, "%s/pipe.hammer", folder);
    ck_assert_int_eq(mkfifo(pipe, 0600), 0);
    ck_assert_int_eq(store_export(s, r->run_id, pipe, &msg), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "no regular file"));
    ck_assert(lstat(pipe, &st) == 0 && S_ISFIFO(st.st_mode));
    unlink(pipe);
    recording_free(r);
    store_close(s);
}
END_TEST

START_TEST(an_exported_run_is_whole)
{
    char file[128];
    uint8_t bytes[16];
    struct store *s = open_store(STORE_WRITE);
    struct recording *r = put_run(s, "aa", "x", 1), *again, *other = put_run(s, "bb", "y", 2);
    for (uint64_t seq = 0; seq < 3; seq++) {
        struct store_row row = make_row(bytes, 1, seq);
        MUST(store_add(s, r->run_id, &row, 1, &msg));
        MUST(store_add(s, other->run_id, &row, 1, &msg));
    }
    snprintf(file, sizeof file, "%s/a run#1?.hammer", folder);
    fclose(fopen(file, "w"));
    MUST(store_export(s, r->run_id, file, &msg));
    ck_assert_int_eq(store_export(s, "zz", file, &msg), ERR_NOT_FOUND);
    store_close(s);
    strcpy(path, file);
    ck_assert_uint_eq(mode_of(path), 0600);
    ck_assert_int_eq(chmod(folder, 0500), 0);
    s = open_store(STORE_READ);
    MUST(store_load(s, r->run_id, &again, &msg));
    assert_same_recording(r, again);
    struct rows seen = {0};
    MUST(store_rows(s, r->run_id, check_row, &seen, &msg));
    ck_assert_uint_eq(seen.n, 3);
    ck_assert_uint_eq(listed(s, (struct store_filter){.latest = 0}), 1);
    store_close(s);
    ck_assert_int_eq(chmod(folder, 0700), 0);
    recording_free(again);
    recording_free(other);
    recording_free(r);
}
END_TEST

/* root reads and writes everywhere: as somebody else. */
static void as_nobody(void (*fn)(void))
{
    int status;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(99);
        fn();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %d", status);
}

static void read_history(void)
{
    struct store *s = NULL;
    struct store_filter all = {.latest = 0};
    size_t n = 0;
    if (store_open(path, STORE_READ, &s, &msg) != ERR_OK ||
        store_list(s, &all, count_run, &n, &msg) != ERR_OK || n != 1) {
        fprintf(stderr, "%s\n", msg.text);
        _exit(1);
    }
    store_close(s);
    if (store_open(path, STORE_WRITE, &s, &msg) == ERR_OK)
        _exit(2);
}

START_TEST(a_history_is_read_where_nobody_may_write)
{
    char sub[128];
    snprintf(sub, sizeof sub, "%s/sub", folder);
    struct store *s = open_store(STORE_WRITE);
    recording_free(put_run(s, "aa", "x", 1));
    store_close(s);
    ck_assert_int_eq(chmod(path, 0444), 0);
    ck_assert_int_eq(chmod(sub, 0555), 0);
    ck_assert_int_eq(chmod(folder, 0755), 0);
    as_nobody(read_history);
    ck_assert_int_eq(chmod(sub, 0700), 0);
}
END_TEST

/* A schema with code in it, and rows that make no sense. */
START_TEST(a_hostile_file_harms_nobody)
{
    static const char *const hostile[] = {
        "CREATE TRIGGER t AFTER UPDATE ON run BEGIN DELETE FROM snapshot; END",
        "UPDATE run SET name = char(27) || '[2J' || char(10), plan = zeroblob(1000),"
        " started_wall_ns = -5, pid = 'x', tags = x'ff00ff'",
        "UPDATE run SET facts = '{\"agents\":7}'",
    };
    struct store *s = open_store(STORE_WRITE);
    struct recording *r = put_run(s, "aa", "x", 1), *again = NULL;
    store_close(s);
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        raw(hostile[i]);
        s = open_store(STORE_READ);
        enum err e = store_load(s, r->run_id, &again, &msg);
        ck_assert_int_eq(e, i < 2 ? ERR_OK : ERR_CORRUPT);
        if (i == 1)
            ck_assert_str_eq(again->name, "?[2J?");
        recording_free(again);
        store_close(s);
    }
    recording_free(r);
}
END_TEST

/* Tables that are worked out as they are read: a file of a few kB whose rows have no end. */
START_TEST(tables_that_are_none_are_refused)
{
    static const char *const hostile[] = {
        "ALTER TABLE run ADD COLUMN more AS (zeroblob(60000000))",
        "DROP TABLE snapshot;"
        "CREATE TABLE snapshot (run INT, seq INT, agent INT, checksum INT,"
        " bytes BLOB GENERATED ALWAYS AS (zeroblob(60000000)) STORED)",
        "DROP TABLE snapshot;"
        "CREATE VIEW snapshot AS WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
        " SELECT 1 AS run, x AS seq, 1 AS agent, 2 AS bytes, 3 AS checksum FROM c",
        "DROP VIEW snapshot",
    };
    struct store *s = open_store(STORE_WRITE);
    recording_free(put_run(s, "aa", "x", 1));
    store_close(s);
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        raw(hostile[i]);
        refused(STORE_READ, ERR_INVALID, "not those that hammer makes");
        refused(STORE_WRITE, ERR_INVALID, "not those that hammer makes");
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("store");
    TCase *t = tcase_create("store");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, files_are_for_the_user_alone);
    tcase_add_test(t, what_is_no_history_is_refused);
    tcase_add_test(t, a_newer_schema_is_refused_with_both_versions);
    tcase_add_test(t, an_older_schema_is_read_as_it_is);
    tcase_add_test(t, an_older_schema_is_migrated);
    tcase_add_test(t, a_run_comes_back_as_it_was);
    tcase_add_test(t, rows_come_interval_by_interval);
    tcase_add_test(t, lists_are_filtered);
    tcase_add_test(t, runs_are_found_by_id_and_name);
    tcase_add_test(t, notes_change_what_was_said);
    tcase_add_test(t, an_export_replaces_files_only);
    tcase_add_test(t, an_exported_run_is_whole);
    tcase_add_test(t, a_history_is_read_where_nobody_may_write);
    tcase_add_test(t, a_hostile_file_harms_nobody);
    tcase_add_test(t, tables_that_are_none_are_refused);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
