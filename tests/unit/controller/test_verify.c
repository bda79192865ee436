/* SPDX-License-Identifier: MIT */
#include "controller/store/verify.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/report/report.h"
#include "controller/store/recording_result.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report_fixture.h"
#include "tests/lib/stored_world.h"

#define AGENTS 2
#define FLIPS  150

static uint64_t rng;
static char folder[64], path[96];
static struct stored_world world;

struct outcome {
    size_t checks, failed;
    char first[600]; /* that failed */
};

static void note(void *arg, bool holds, const char *text)
{
    struct outcome *o = arg;
    o->checks++;
    if (!holds && o->failed++ == 0)
        snprintf(o->first, sizeof o->first, "%s", text);
}

static struct outcome verify(const char *word)
{
    struct outcome o = {0};
    struct errmsg msg = {{0}};
    enum err e = verify_word(word, NULL, note, &o, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
    return o;
}

/* As a run that was reported when it ended. */
static void report(struct stored_world *w)
{
    struct replay_source source = stored_world_source(w);
    const struct replay_options none = {0};
    struct replayed *r;
    struct errmsg msg = {{0}};
    ck_assert_msg(replay_sources(&source, 1, &none, &r, &msg) == ERR_OK, "%s", msg.text);
    recording_take_result(w->recording, r->result);
    replayed_clear(r);
    mem_free(r);
}

static void store(struct stored_world *w)
{
    struct store *s;
    struct store_row rows[STORED_AGENTS * (STORED_SLOTS + 1)] = {{0}};
    struct errmsg msg = {{0}};
    for (size_t i = 0; i < w->n_rows; i++) {
        rows[i].agent = w->rows[i].agent;
        rows[i].seq = w->rows[i].seq;
        rows[i].bytes = w->rows[i].bytes;
        rows[i].len = w->rows[i].len;
    }
    enum err e = store_open(path, STORE_WRITE, &s, &msg);
    if (e == ERR_OK)
        e = store_begin(s, w->recording, &msg);
    if (e == ERR_OK)
        e = store_add(s, w->recording->run_id, rows, w->n_rows, &msg);
    if (e == ERR_OK)
        e = store_end(s, w->recording, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
    store_close(s);
}

static void set_up(void)
{
    rng = check_seed();
    folder_make(folder);
    snprintf(path, sizeof path, "%s/run.hammer", folder);
    stored_world_make(&world, &rng, 1, AGENTS, false);
    report(&world);
    store(&world);
}

static void tear_down(void)
{
    stored_world_clear(&world);
    folder_remove(folder);
}

/* Another blob for a row of the database; its checksum too where the test is not about it. */
static void put_blob(const struct stored_row *row, const uint8_t *bytes, size_t len, bool whole)
{
    sqlite3 *db;
    sqlite3_stmt *q;
    struct store_row as = {.agent = row->agent, .seq = row->seq, .bytes = bytes, .len = len};
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    const char *sql = whole ? "UPDATE snapshot SET bytes = ?1, checksum = NULL"
                              " WHERE seq = ?2 AND agent = ?3"
                            : "UPDATE snapshot SET bytes = ?1 WHERE seq = ?2 AND agent = ?3";
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
    sqlite3_bind_blob64(q, 1, as.bytes, as.len, SQLITE_STATIC);
    sqlite3_bind_int64(q, 2, (sqlite3_int64)as.seq);
    sqlite3_bind_int64(q, 3, (sqlite3_int64)as.agent);
    ck_assert_int_eq(sqlite3_step(q), SQLITE_DONE);
    ck_assert_int_eq(sqlite3_changes(db), 1);
    sqlite3_finalize(q);
    sqlite3_close(db);
}

START_TEST(test_a_run_holds)
{
    struct outcome o = verify(path);
    ck_assert_msg(o.failed == 0, "%s", o.first);
    ck_assert_uint_ge(o.checks, 12);
}
END_TEST

/* Any bit of any stored snapshot. */
START_TEST(test_every_flip_is_found)
{
    for (int i = 0; i < FLIPS; i++) {
        const struct stored_row *row = &world.rows[check_below(&rng, world.n_rows)];
        uint8_t *bytes = mem_dup(row->bytes, row->len);
        size_t at = check_below(&rng, row->len);
        char name[64];
        bytes[at] ^= (uint8_t)(1u << check_below(&rng, 8));
        put_blob(row, bytes, row->len, false);
        struct outcome o = verify(path);
        ck_assert_msg(o.failed > 0, "byte %zu of %zu", at, row->len);
        snprintf(name, sizeof name,
                 row->seq == 0 ? "the totals of agent 10.0.1.%zu:7400" : "of agent 10.0.1.%zu:7400",
                 row->agent);
        ck_assert_msg(strstr(o.first, name) != NULL, "%s", o.first);
        put_blob(row, row->bytes, row->len, false);
        mem_free(bytes);
    }
    struct outcome again = verify(path);
    ck_assert_msg(again.failed == 0, "%s", again.first);
}
END_TEST

/* A well-made lie: a counter changed and encoded anew, without a checksum to tell. */
START_TEST(test_every_counter_is_found)
{
    for (size_t c = 0; c < COUNTERS_N; c++) {
        const struct stored_row *row = &world.rows[check_below(&rng, world.n_rows)];
        struct snapshot *s;
        uint8_t *bytes;
        size_t len;
        ck_assert_int_eq(snapshot_decode(row->bytes, row->len, &s), ERR_OK);
        struct counters *of = &s->series[check_below(&rng, s->n_series)].counters;
        counters_set(of, c, counters_get(of, c) + 1);
        ck_assert_int_eq(snapshot_encode(s, &bytes, &len), ERR_OK);
        put_blob(row, bytes, len, true);
        struct outcome o = verify(path);
        ck_assert_msg(o.failed > 0, "%s", counters_name(c));
        ck_assert_msg(strstr(o.first, "agent 10.0.1.") != NULL, "%s", o.first);
        put_blob(row, row->bytes, row->len, true);
        mem_free(bytes);
        snapshot_free(s);
    }
}
END_TEST

/* --- what is said of the run ------------------------------------------------------------------ */

static void sql(const char *text)
{
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_gt(sqlite3_total_changes(db), 0);
    sqlite3_close(db);
}

START_TEST(test_what_is_said_is_compared)
{
    static const struct {
        const char *sql, *say;
    } cases[] = {
        {"DELETE FROM snapshot WHERE seq = 3 AND agent = 1", "1 of its 8 snapshots are missing"},
        {"DELETE FROM snapshot WHERE seq = 0 AND agent = 0", "its own totals are not there"},
        {"UPDATE snapshot SET agent = 9 WHERE seq = 2 AND agent = 0", "are damaged"},
        {"UPDATE run SET status = 'server-limited'", "the verdict was server-limited"},
        {"UPDATE run SET exit_code = 4", "the verdict was valid, exit code 4"},
        {"UPDATE run SET totals = replace(totals, '\"sent\":', '\"sent\":1')",
         "that were reported"},
        {"UPDATE run SET lost_rows = 2", "2 snapshots could not be stored"},
        {"UPDATE run SET plan_id = '0123456789abcdef'", "the plan is the one with the id"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        remove(path);
        store(&world);
        sql(cases[i].sql);
        struct outcome o = verify(path);
        ck_assert_msg(o.failed > 0, "%s", cases[i].sql);
        ck_assert_msg(strstr(o.first, cases[i].say) != NULL, "%s: %s", cases[i].sql, o.first);
    }
}
END_TEST

/* --- reports ---------------------------------------------------------------------------------- */

static struct outcome verify_text(const char *text)
{
    struct outcome o = {0};
    struct errmsg msg = {{0}};
    ck_assert_msg(verify_report(text, strlen(text), note, &o, &msg) == ERR_OK, "%s", msg.text);
    return o;
}

/* The one place where `from` stands first, with `to` in it. */
static char *with(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    ck_assert_ptr_nonnull(at);
    size_t size = strlen(text) + strlen(to) + 1;
    char *out = mem_calloc(size, 1);
    snprintf(out, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

START_TEST(test_a_report_is_checked_against_itself)
{
    struct replay_source source = stored_world_source(&world);
    const struct replay_options none = {0};
    struct replayed *r;
    struct errmsg msg = {{0}};
    ck_assert_int_eq(replay_sources(&source, 1, &none, &r, &msg), ERR_OK);
    char *text = report_render(&report_json, r->result, false, false);
    struct outcome o = verify_text(text);
    ck_assert_msg(o.failed == 0, "%s", o.first);
    static const char *const keys[] = {
        "\"scheduled\": ", "\"ok\": ", "\"count\": ", "\"99\": ", "\"bytes_in\": "};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char more[64];
        snprintf(more, sizeof more, "%s1", keys[i]);
        char *altered = with(text, keys[i], more);
        o = verify_text(altered);
        ck_assert_msg(o.failed > 0, "%s", keys[i]);
        mem_free(altered);
    }
    mem_free(text);
    replayed_clear(r);
    mem_free(r);
}
END_TEST

START_TEST(test_what_is_no_report)
{
    struct outcome o = {0};
    struct errmsg msg = {{0}};
    ck_assert_int_eq(verify_report("{", 1, note, &o, &msg), ERR_INVALID);
    ck_assert_int_eq(verify_report("{}", 2, note, &o, &msg), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "hammer.report/1"));
    ck_assert_int_eq(verify_word("/nowhere/x.json", NULL, note, &o, &msg), ERR_NOT_FOUND);
    ck_assert_uint_eq(o.checks, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("verify");
    TCase *t = tcase_create("verify");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_a_run_holds);
    tcase_add_test(t, test_every_flip_is_found);
    tcase_add_test(t, test_every_counter_is_found);
    tcase_add_test(t, test_what_is_said_is_compared);
    tcase_add_test(t, test_a_report_is_checked_against_itself);
    tcase_add_test(t, test_what_is_no_report);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
