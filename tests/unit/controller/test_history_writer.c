/* SPDX-License-Identifier: MIT */
#include "controller/store/history_writer.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/random_recording.h"

#define PATIENCE_NS (60 * NS_PER_SEC)

static char folder[64], path[128];
static uint64_t rng;
static struct errmsg msg;
static struct loop *loop;
static struct history_writer *writer;
static char run_id[33];
static size_t troubles;

static void on_trouble(void *arg, const char *text)
{
    (void)arg, (void)text;
    troubles++;
}

#define MUST(e) ck_assert_msg((e) == ERR_OK, "%s", msg.text)

static void open_writer(size_t queue_max)
{
    struct history_config cfg = {.loop = loop, .queue_max = queue_max, .trouble = on_trouble};
    MUST(store_open(path, STORE_WRITE, &cfg.store, &msg));
    MUST(history_writer_new(&cfg, &writer, &msg));
    struct recording *r = random_recording(&rng, 1);
    memcpy(run_id, r->run_id, sizeof run_id);
    history_writer_begin(writer, r);
}

static void set_up(void)
{
    folder_make(folder);
    snprintf(path, sizeof path, "%s/runs.db", folder);
    rng = check_seed();
    troubles = 0;
    MUST(loop_new(&loop, &msg));
}

static void tear_down(void)
{
    loop_free(loop);
    folder_remove(folder);
}

static void end(void)
{
    struct recording *r = random_recording(&rng, 1);
    memcpy(r->run_id, run_id, sizeof run_id);
    r->lost_rows = 0;
    history_writer_end(writer, r);
}

static int number(const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *q;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(q), SQLITE_ROW);
    int n = sqlite3_column_int(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return n;
}

/* What is handed over is there soon, without an end. */
START_TEST(rows_are_there_while_the_run_goes_on)
{
    open_writer(0);
    for (uint64_t seq = 1; seq <= 3; seq++)
        history_writer_add(writer, 0, seq, (const uint8_t *)"abc", 3);
    history_writer_flush(writer);
    uint64_t until = clock_mono_ns() + PATIENCE_NS;
    int n = 0;
    while (n != 3 && clock_mono_ns() < until) {
        clock_sleep_until(clock_mono_ns() + 5 * NS_PER_MS);
        n = number("SELECT count(*) FROM sqlite_master WHERE name = 'snapshot'") == 0
                ? 0
                : number("SELECT count(*) FROM snapshot WHERE bytes = x'616263'");
    }
    ck_assert_int_eq(n, 3);
    history_writer_close(writer, PATIENCE_NS);
    ck_assert_uint_eq(troubles, 0);
}
END_TEST

START_TEST(everything_is_written_at_the_end)
{
    static uint8_t bytes[5000];
    open_writer(0);
    for (uint64_t seq = 0; seq < 1000; seq++)
        history_writer_add(writer, seq % 7, seq, bytes, check_below(&rng, sizeof bytes));
    end();
    history_writer_close(writer, PATIENCE_NS);
    ck_assert_uint_eq(troubles, 0);
    ck_assert_int_eq(number("SELECT count(*) FROM snapshot"), 1000);
    ck_assert_int_eq(number("SELECT lost_rows FROM run"), 0);
}
END_TEST

/* Also what is larger than a whole batch, and what just fits one. */
START_TEST(rows_of_any_size_come_back)
{
    static uint8_t bytes[2 * HISTORY_BATCH_MAX];
    const size_t sizes[] = {0, 1, HISTORY_BATCH_MAX, 1, HISTORY_BATCH_MAX - 1, 2, sizeof bytes, 7};
    size_t n = sizeof sizes / sizeof sizes[0];
    char sql[160];
    open_writer(0);
    for (size_t i = 0; i < n; i++) {
        memset(bytes, (int)i, sizes[i]);
        history_writer_add(writer, 0, i, bytes, sizes[i]);
    }
    end();
    history_writer_close(writer, PATIENCE_NS);
    ck_assert_uint_eq(troubles, 0);
    for (size_t i = 0; i < n; i++) {
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM snapshot WHERE seq = %zu AND length(bytes) = %zu AND"
                 " replace(hex(bytes), '%02zX', '') = ''",
                 i, sizes[i], i);
        ck_assert_msg(number(sql) == 1, "row %zu of %zu bytes", i, sizes[i]);
    }
}
END_TEST

/* Somebody holds the database: nobody waits for it, what is too much is counted, and once it is let
 * go the rest is written. */
START_TEST(a_locked_database_holds_nobody_up)
{
    sqlite3 *other;
    static uint8_t bytes[1000];
    struct store *made = NULL;
    MUST(store_open(path, STORE_WRITE, &made, &msg));
    store_close(made);
    ck_assert_int_eq(sqlite3_open(path, &other), SQLITE_OK);
    sqlite3_busy_timeout(other, 5000);
    open_writer(20 * sizeof bytes);
    ck_assert_int_eq(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    uint64_t before_ns = clock_mono_ns();
    for (uint64_t seq = 1; seq <= 50; seq++) {
        history_writer_add(writer, 0, seq, bytes, sizeof bytes);
        history_writer_flush(writer);
    }
    ck_assert_uint_lt(clock_mono_ns() - before_ns, 2 * NS_PER_SEC);
    ck_assert_uint_gt(history_writer_lost(writer), 0);
    uint64_t lost = history_writer_lost(writer);
    ck_assert_int_eq(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    end();
    history_writer_close(writer, PATIENCE_NS);
    ck_assert_uint_eq(troubles, 1);
    ck_assert_int_eq(number("SELECT count(*) FROM snapshot"), 50 - (int)lost);
    ck_assert_int_eq(number("SELECT lost_rows FROM run"), (int)lost);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("history_writer");
    TCase *t = tcase_create("writer");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, rows_are_there_while_the_run_goes_on);
    tcase_add_test(t, everything_is_written_at_the_end);
    tcase_add_test(t, rows_of_any_size_come_back);
    tcase_add_test(t, a_locked_database_holds_nobody_up);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
