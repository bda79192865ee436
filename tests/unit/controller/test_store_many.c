/* SPDX-License-Identifier: MIT */
#include "controller/store/store.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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
}

static void tear_down(void)
{
    folder_remove(folder);
}

#define MUST(e) ck_assert_msg((e) == ERR_OK, "%s", msg.text)

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

/* --- many at once --------------------------------------------------------------------------- */

#define WRITERS 4
#define BATCHES 40

static void write_runs(uint64_t which)
{
    struct store *s = NULL;
    static const uint8_t bytes[16];
    rng += which * 1000003;
    struct recording *r = random_recording(&rng, 1);
    if (store_open(path, STORE_WRITE, &s, &msg) != ERR_OK || store_begin(s, r, &msg) != ERR_OK) {
        fprintf(stderr, "%s\n", msg.text);
        _exit(1);
    }
    for (uint64_t seq = 0; seq < BATCHES; seq++) {
        struct store_row row = {.agent = which, .seq = seq, .bytes = bytes, .len = sizeof bytes};
        if (store_add(s, r->run_id, &row, 1, &msg) != ERR_OK)
            _exit(2);
    }
    if (store_end(s, r, &msg) != ERR_OK)
        _exit(3);
    store_close(s);
    recording_free(r);
    _exit(0);
}

/* From the making of the file on. */
START_TEST(several_write_at_once)
{
    pid_t pids[WRITERS];
    for (uint64_t i = 0; i < WRITERS; i++) {
        pids[i] = fork();
        ck_assert_int_ge(pids[i], 0);
        if (pids[i] == 0)
            write_runs(i);
    }
    for (size_t i = 0; i < WRITERS; i++) {
        int status;
        ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
    }
    ck_assert_int_eq(raw_number("SELECT count(*) FROM run"), WRITERS);
    ck_assert_int_eq(raw_number("SELECT count(*) FROM snapshot"), WRITERS * BATCHES);
}
END_TEST

/* A file that cannot grow is as good as a full disk: what was committed stays, and it goes on once
 * there is room. */
START_TEST(a_full_disk_loses_only_what_it_cannot_take)
{
    static uint8_t big[60000];
    struct rlimit was, small = {1 << 20, RLIM_INFINITY};
    struct store *s = NULL;
    struct recording *r = random_recording(&rng, 2);
    MUST(store_open(path, STORE_WRITE, &s, &msg));
    MUST(store_begin(s, r, &msg));
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &was), 0);
    small.rlim_max = was.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    uint64_t seq = 1;
    for (;; seq++) {
        struct store_row row = {.seq = seq, .bytes = big, .len = sizeof big};
        if (store_add(s, r->run_id, &row, 1, &msg) != ERR_OK)
            break;
        ck_assert_uint_lt(seq, 100);
    }
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &was), 0);
    ck_assert_ptr_nonnull(strstr(msg.text, path));
    ck_assert_uint_gt(seq, 1);
    ck_assert_int_eq(raw_number("SELECT count(*) FROM snapshot"), (int)seq - 1);
    struct store_row row = {.seq = seq, .bytes = big, .len = sizeof big};
    MUST(store_add(s, r->run_id, &row, 1, &msg));
    store_close(s);
    ck_assert_int_eq(raw_number("SELECT count(*) FROM snapshot"), (int)seq);
    recording_free(r);
}
END_TEST

static off_t size_of(const char *name)
{
    struct stat st;
    ck_assert_int_eq(stat(name, &st), 0);
    return st.st_size;
}

/* What one interval of a thousand agents brings: it costs no memory to speak of, and once there is
 * a quiet moment it is in the database itself. */
START_TEST(much_at_once_takes_little_memory)
{
    static uint8_t bytes[6000];
    struct store_row rows[100];
    struct store *s = NULL;
    struct recording *r = random_recording(&rng, 2);
    MUST(store_open(path, STORE_WRITE, &s, &msg));
    MUST(store_begin(s, r, &msg));
    off_t before = size_of(path);
    sqlite3_memory_highwater(1);
    for (uint64_t seq = 1; seq <= 20; seq++) {
        for (size_t i = 0; i < 100; i++)
            rows[i] =
                (struct store_row){.agent = i, .seq = seq, .bytes = bytes, .len = sizeof bytes};
        MUST(store_add(s, r->run_id, rows, 100, &msg));
    }
    ck_assert_int_eq(size_of(path), before); /* the disk was not waited for */
    ck_assert_int_lt(sqlite3_memory_highwater(0), 3 << 20);
    store_rest(s);
    off_t after = size_of(path);
    ck_assert_int_gt(after, before + 100 * 20 * (off_t)sizeof bytes);
    store_rest(s); /* nothing is left to be done */
    ck_assert_int_eq(size_of(path), after);
    store_close(s);
    ck_assert_int_eq(raw_number("SELECT count(*) FROM snapshot"), 2000);
    recording_free(r);
}
END_TEST

/* Where none comes, it does not wait for ever. */
START_TEST(no_quiet_moment_is_needed)
{
    static uint8_t bytes[100000];
    struct store *s = NULL;
    struct recording *r = random_recording(&rng, 1);
    MUST(store_open(path, STORE_WRITE, &s, &msg));
    MUST(store_begin(s, r, &msg));
    for (uint64_t seq = 1; seq <= 500; seq++) {
        struct store_row row = {.seq = seq, .bytes = bytes, .len = sizeof bytes};
        MUST(store_add(s, r->run_id, &row, 1, &msg));
    }
    ck_assert_int_gt(size_of(path), 20 << 20);
    store_close(s);
    ck_assert_int_eq(raw_number("SELECT count(*) FROM snapshot"), 500);
    recording_free(r);
}
END_TEST

/* It is written on into a file that is there no more: whoever ended the run must hear of it. */
START_TEST(a_file_that_is_gone_is_told)
{
    struct store *s = NULL;
    struct recording *r = random_recording(&rng, 1);
    char other[sizeof path + 8];
    snprintf(other, sizeof other, "%s.other", path);
    MUST(store_open(path, STORE_WRITE, &s, &msg));
    MUST(store_begin(s, r, &msg));
    MUST(store_end(s, r, &msg));
    ck_assert_int_eq(rename(path, other), 0);
    if (_i == 1) {
        FILE *f = fopen(path, "w");
        ck_assert_ptr_nonnull(f);
        fclose(f);
    }
    ck_assert_int_eq(store_end(s, r, &msg), ERR_NOT_FOUND);
    ck_assert_msg(strstr(msg.text, path) != NULL && strstr(msg.text, "deleted or replaced") != NULL,
                  "%s", msg.text);
    store_close(s);
    recording_free(r);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("store_many");
    TCase *t = tcase_create("many");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, several_write_at_once);
    tcase_add_test(t, a_full_disk_loses_only_what_it_cannot_take);
    tcase_add_test(t, much_at_once_takes_little_memory);
    tcase_add_test(t, no_quiet_moment_is_needed);
    tcase_add_loop_test(t, a_file_that_is_gone_is_told, 0, 2);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
