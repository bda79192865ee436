/* SPDX-License-Identifier: MIT */
/* The run history by the real programs: what is kept, what a kill or a full disk costs, and what
 * hammer-ctl runs makes of it. */
#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"

#define RUN_MS   30000
#define WAIT_NS  (30 * NS_PER_SEC)
#define POLL_NS  (20 * NS_PER_MS)
#define SECRET   "sesame-open-77"
#define ENV_NAME "HISTORY_TEST_TOKEN"

static struct target_process target;
static struct process run;
static char home[64], db[128];

static void set_up(void)
{
    folder_make(home);
    setenv("XDG_DATA_HOME", home, 1);
    setenv("XDG_STATE_HOME", home, 1);
    setenv("XDG_CONFIG_HOME", home, 1);
    snprintf(db, sizeof db, "%s/hammer/runs.db", home);
    target_start(&target, NULL);
}

static void tear_down(void)
{
    process_end(&run);
    target_stop(&target);
    folder_remove(home);
}

static int ctl(const char *const *args)
{
    process_end(&run);
    return process_run(&run, "hammer-ctl", args, RUN_MS);
}

#define CTL(...) ctl((const char *const[]){__VA_ARGS__, NULL})

static void prints(const char *text)
{
    ck_assert_msg(strstr(run.out, text) != NULL, "no %s in: %s\n%s", text, run.out, run.err);
}

static void says(const char *text)
{
    ck_assert_msg(strstr(run.err, text) != NULL, "no %s in: %s", text, run.err);
}

/* SQLite's answer, one value; "" = none or no database yet. The caller frees. */
static char *query(const char *sql)
{
    sqlite3 *handle;
    sqlite3_stmt *q = NULL;
    char *text = mem_strdup("");
    if (sqlite3_open_v2(db, &handle, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
        sqlite3_busy_timeout(handle, 5000) == SQLITE_OK &&
        sqlite3_prepare_v2(handle, sql, -1, &q, NULL) == SQLITE_OK &&
        sqlite3_step(q) == SQLITE_ROW && sqlite3_column_text(q, 0) != NULL) {
        mem_free(text);
        text = mem_strdup((const char *)sqlite3_column_text(q, 0));
    }
    sqlite3_finalize(q);
    sqlite3_close(handle);
    return text;
}

static int count(const char *sql)
{
    char *text = query(sql);
    int n = atoi(text);
    mem_free(text);
    return n;
}

static void wait_rows(int n)
{
    uint64_t until = clock_mono_ns() + WAIT_NS;
    while (count("SELECT count(*) FROM snapshot") < n) {
        ck_assert_msg(clock_mono_ns() < until, "no %d rows", n);
        clock_sleep_until(clock_mono_ns() + POLL_NS);
    }
}

/* --- what is kept --------------------------------------------------------------------------- */

START_TEST(a_run_is_kept_and_found)
{
    CTL("run", "-r", "200", "-d", "1", "--interval", "250ms", "--name", "first", "--tag", "Night",
        "--description", "what it is", target.url);
    ck_assert_int_eq(count("SELECT count(*) FROM run WHERE status <> '' AND lost_rows = 0"), 1);
    ck_assert_int_ge(count("SELECT count(*) FROM snapshot WHERE seq > 0"), 4);
    ck_assert_int_eq(count("SELECT count(*) FROM snapshot WHERE seq = 0"), 1);
    CTL("run", "-r", "200", "-n", "50", "--no-save", target.url);
    CTL("run", "--debug-request", target.url);
    ck_assert_int_eq(count("SELECT count(*) FROM run"), 1);
    ck_assert_int_eq(CTL("runs"), 0);
    prints("first");
    prints("night");
    ck_assert_int_eq(CTL("runs", "--from", "1h", "--to", "today", "--tag", "night", "--json"), 0);
    prints("\"name\": \"first\"");
    ck_assert_int_eq(CTL("runs", "--from", "tomorrow"), 1);
    says("--from tomorrow");
    ck_assert_int_eq(CTL("runs", "show", "first"), 0);
    prints("what it is");
    prints("--rate 200");
    ck_assert_int_eq(CTL("runs", "note", "first", "--name", "other", "--untag", "night"), 0);
    ck_assert_int_eq(CTL("runs", "rm", "first", "--yes"), 1);
    says("no such run");
    ck_assert_int_eq(CTL("runs", "rm", "other"), 1);
    says("--yes");
    ck_assert_int_eq(CTL("runs", "rm", "other", "--yes"), 0);
    ck_assert_int_eq(count("SELECT (SELECT count(*) FROM run) + (SELECT count(*) FROM snapshot)"),
                     0);
    ck_assert_int_eq(CTL("runs"), 0);
    prints("no runs");
}
END_TEST

/* What cannot be kept by default is a note; what was asked for and cannot be had, an error. */
START_TEST(a_history_that_cannot_be_is_no_reason_to_fail)
{
    char other[128];
    setenv("XDG_DATA_HOME", "/proc/none", 1);
    CTL("run", "-r", "100", "-n", "20", target.url);
    ck_assert_int_ne(run.code, 1);
    ck_assert_int_ne(run.code, 2);
    says("not kept in the history");
    says("--no-save");
    ck_assert_int_eq(CTL("runs"), 0);
    prints("no runs");
    ck_assert_int_eq(CTL("run", "-r", "100", "-n", "20", "--db", "/proc/none/x", target.url), 2);
    says("--db /proc/none");
    ck_assert_uint_eq(strlen(run.out), 0);
    snprintf(other, sizeof other, "%s/mine.db", home);
    CTL("run", "-r", "100", "-n", "20", "--db", other, target.url);
    ck_assert_int_eq(CTL("runs", "show", "latest", "--db", other), 0);
}
END_TEST

/* --- secrets -------------------------------------------------------------------------------- */

static void no_secret_in(const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    snprintf(path, sizeof path, "%s%s", db, name);
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return;
    ck_assert_int_eq(fstat(fd, &st), 0);
    char *bytes = mem_calloc((size_t)st.st_size + 1, 1);
    ck_assert_int_eq(read(fd, bytes, (size_t)st.st_size), st.st_size);
    close(fd);
    ck_assert_msg(memmem(bytes, (size_t)st.st_size, SECRET, strlen(SECRET)) == NULL, "%s", path);
    mem_free(bytes);
}

START_TEST(no_secret_is_in_the_database)
{
    char url[160], id[40];
    setenv("HAMMER_HEADER", "Authorization: Bearer " SECRET, 1);
    setenv(ENV_NAME, SECRET, 1);
    snprintf(url, sizeof url, "%s?token=%s", target.url, SECRET);
    CTL("run", "-r", "200", "-n", "100", "--name", "one", "--slo", "p99<50s", "-H",
        "X-T: {{env " ENV_NAME "}}", "-H", "X-Plain: yes", url);
    ck_assert_int_eq(count("SELECT count(*) FROM run"), 1);
    no_secret_in("");
    no_secret_in("-wal");
    unsetenv("HAMMER_HEADER");
    ck_assert_int_eq(CTL("run", "--again", "one"), 1);
    says("header Authorization, URL");
    setenv("HAMMER_HEADER", "Authorization: Bearer " SECRET, 1);
    CTL("run", "--again", "one", "--name", "two", "-n", "60", url);
    ck_assert_int_eq(count("SELECT count(*) FROM run WHERE name = 'two'"), 1);
    CTL("run", "--again", "one", "--name", "three", url);
    ck_assert_int_eq(count("SELECT count(*) FROM run WHERE slo LIKE 'p99<50s%'"), 3);
    char *first = query("SELECT plan_id FROM run WHERE name = 'one'");
    char *third = query("SELECT plan_id FROM run WHERE name = 'three'");
    ck_assert_str_eq(first, third);
    snprintf(id, sizeof id, "%.7s", first);
    ck_assert_int_eq(CTL("runs", "--plan", id), 0);
    prints("change");
    prints("three");
    ck_assert_ptr_null(strstr(run.out, "two"));
    CTL("runs", "show", "one");
    ck_assert_ptr_null(strstr(run.out, SECRET));
    no_secret_in("");
    mem_free(first);
    mem_free(third);
    unsetenv("HAMMER_HEADER");
    unsetenv(ENV_NAME);
}
END_TEST

/* --- crashes -------------------------------------------------------------------------------- */

START_TEST(a_killed_run_is_kept_up_to_then)
{
    const char *const args[] = {"run",        "-r",    "200",      "-d", "20",
                                "--interval", "200ms", target.url, NULL};
    process_start(&run, "hammer-ctl", args);
    wait_rows(3);
    struct process other;
    ck_assert_int_eq(process_run(&other, "hammer-ctl", (const char *const[]){"runs", NULL}, 9000),
                     0);
    ck_assert_ptr_nonnull(strstr(other.out, "running"));
    process_end(&other);
    const char *const rm[] = {"runs", "rm", "latest", "--yes", NULL};
    ck_assert_int_eq(process_run(&other, "hammer-ctl", rm, 9000), 2);
    ck_assert_ptr_nonnull(strstr(other.err, "it is running"));
    process_end(&other);
    process_signal(&run, SIGKILL);
    process_wait(&run, RUN_MS);
    ck_assert_int_eq(CTL("runs"), 0);
    prints("broken off");
    ck_assert_int_ge(count("SELECT count(*) FROM snapshot"), 3);
    ck_assert_int_eq(count("SELECT count(*) FROM run WHERE status = '' AND ended_wall_ns = 0"), 1);
    ck_assert_int_eq(CTL("runs", "rm", "latest", "--yes"), 0);
}
END_TEST

/* The one that takes over goes on with the same run, and nothing is there twice or missing. */
START_TEST(a_run_that_is_taken_over_is_one_run)
{
    struct agent_process agents[2];
    char list[160], short_id[16];
    agents_start(agents, 2, list, sizeof list);
    const char *const args[] = {
        "run",      "-r",       "200",    "-d", "4",     "--interval", "200ms",
        "--agents", list,       "--name", "it", "--tag", "kept",       "--description",
        "a reason", target.url, NULL};
    process_start(&run, "hammer-ctl", args);
    wait_rows(4);
    process_signal(&run, SIGKILL);
    process_wait(&run, RUN_MS);
    char *id = query("SELECT id FROM run");
    snprintf(short_id, sizeof short_id, "%.8s", id);
    CTL("attach", short_id, "--json");
    prints(id);
    ck_assert_int_eq(count("SELECT count(*) FROM run"), 1);
    ck_assert_int_eq(count("SELECT count(*) FROM run WHERE status <> '' AND name = 'it' AND"
                           " tags = 'kept' AND description = 'a reason' AND lost_rows = 0"),
                     1);
    ck_assert_int_eq(count("SELECT count(*) FROM snapshot WHERE seq = 0"), 2);
    ck_assert_int_eq(count("SELECT count(*) FROM (SELECT agent, max(seq) AS last, count(*) AS n"
                           " FROM snapshot WHERE seq > 0 GROUP BY agent HAVING last <> n)"),
                     0);
    mem_free(id);
    for (int i = 0; i < 2; i++)
        agent_stop(&agents[i]);
}
END_TEST

/* --- many, and too little room ------------------------------------------------------------- */

#define AT_ONCE 3

START_TEST(several_runs_at_once)
{
    struct process runs[AT_ONCE];
    const char *const args[] = {"run",        "-r",    "50",       "-d", "1",
                                "--interval", "100ms", target.url, NULL};
    for (int i = 0; i < AT_ONCE; i++)
        process_start(&runs[i], "hammer-ctl", args);
    for (int i = 0; i < AT_ONCE; i++) {
        process_wait(&runs[i], RUN_MS);
        ck_assert_msg(strstr(runs[i].err, "history") == NULL, "%s", runs[i].err);
        process_end(&runs[i]);
    }
    ck_assert_int_eq(count("SELECT count(*) FROM run WHERE lost_rows = 0 AND status <> ''"),
                     AT_ONCE);
    ck_assert_int_eq(count("SELECT count(*) FROM snapshot WHERE seq = 0"), AT_ONCE);
}
END_TEST

/* No file may grow beyond 500 KiB: as a full disk, but for everybody else. */
START_TEST(a_full_disk_costs_the_history_and_nothing_else)
{
    char command[512];
    snprintf(command, sizeof command,
             "ulimit -f 1000; exec %s/hammer-ctl run -r 2000 -d 3 --interval 100ms --json %s",
             TEST_BIN_DIR, target.url);
    const char *const args[] = {"-c", command, NULL};
    process_run(&run, "/bin/sh", args, RUN_MS);
    ck_assert_int_ne(run.code, 1);
    ck_assert_int_ne(run.code, 2);
    says("the history of this run is incomplete");
    prints("\"scheduled\": 6000");
    ck_assert_int_eq(CTL("runs"), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("history");
    TCase *t = tcase_create("history");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 240);
    tcase_add_test(t, a_run_is_kept_and_found);
    tcase_add_test(t, a_history_that_cannot_be_is_no_reason_to_fail);
    tcase_add_test(t, no_secret_is_in_the_database);
    tcase_add_test(t, a_killed_run_is_kept_up_to_then);
    tcase_add_test(t, a_run_that_is_taken_over_is_one_run);
    tcase_add_test(t, several_runs_at_once);
    tcase_add_test(t, a_full_disk_costs_the_history_and_nothing_else);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
