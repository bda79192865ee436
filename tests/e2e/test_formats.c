/* SPDX-License-Identifier: MIT */
/* Reports of real runs in several formats: they tell of the same requests. */
#include <errno.h>
#include <jansson.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include "common/hist.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/hlog_reader.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

#define LIMIT_MS 60000

static struct target_process target;
static char folder[64];

static void start(void)
{
    const char *args[] = {"--delay", "2ms", NULL};
    folder_make(folder);
    target_start(&target, args);
}

static void stop(void)
{
    target_stop(&target);
    folder_remove(folder);
}

/* A file of the folder; prefix is that of its format, "" = none. */
static const char *in_folder(const char *prefix, const char *name, char path[128])
{
    snprintf(path, 128, "%s%s/%s", prefix, folder, name);
    return path;
}

static char *content(const char *name)
{
    char path[128];
    char *text = file_read(in_folder("", name, path));
    ck_assert_msg(text != NULL, "%s", name);
    return text;
}

/* --- the log against the report ------------------------------------------------------------- */

static void check_clock(json_t *report, const char *log, const char *tag, const char *clock)
{
    static const char *const keys[] = {"50", "75", "90", "95", "99", "99.9", "99.99"};
    struct hist *h = hlog_merged(log, tag);
    char path[100];
    snprintf(path, sizeof path, "latency.%s.count", clock);
    ck_assert_uint_eq(hist_count(h), (uint64_t)report_int(report, path));
    snprintf(path, sizeof path, "latency.%s.max", clock);
    uint64_t max = (uint64_t)report_int(report, path);
    ck_assert_uint_eq(hist_high(hist_geometry_of(h), hist_index(hist_geometry_of(h), max)),
                      hist_max_bucket(h));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        uint64_t value = hist_value_at_percentile(h, strtod(keys[i], NULL));
        snprintf(path, sizeof path, "latency.%s.percentiles.%s", clock, keys[i]);
        ck_assert_uint_eq(value < max ? value : max, (uint64_t)report_int(report, path));
    }
    hist_free(h);
}

/* The sum of a column of a table that has neither quotes nor empty cells before it. */
static int64_t column_sum(const char *text, size_t column)
{
    int64_t sum = 0;
    for (const char *line = strchr(text, '\n') + 1; *line != '\0'; line = strchr(line, '\n') + 1) {
        const char *cell = line;
        for (size_t i = 0; i < column; i++)
            cell = strchr(cell, ',') + 1;
        sum += strtoll(cell, NULL, 10);
    }
    return sum;
}

START_TEST(test_all_at_once)
{
    char paths[8][128];
    struct process p;
    const char *args[] = {"run",
                          "--local",
                          "2",
                          "-r",
                          "400",
                          "-d",
                          "2500ms",
                          "-q",
                          "--json",
                          "--slo",
                          "p50<1h",
                          "-o",
                          in_folder("", "a.hlog", paths[0]),
                          "-o",
                          in_folder("", "a.csv", paths[1]),
                          "-o",
                          in_folder("csv-summary:", "summary", paths[2]),
                          "-o",
                          in_folder("", "a.xml", paths[3]),
                          "-o",
                          in_folder("", "a.md", paths[4]),
                          "-o",
                          in_folder("", "a.hgrm", paths[5]),
                          "-o",
                          in_folder("", "a.json", paths[6]),
                          target.url,
                          NULL};
    process_start(&p, "hammer-ctl", args);
    json_t *r = report_wait(&p, 0, 4, LIMIT_MS);
    char *log = content("a.hlog"), *csv = content("a.csv"), *json = content("a.json");
    check_clock(r, log, "", "corrected");
    check_clock(r, log, "uncorrected", "uncorrected");
    ck_assert_int_eq(column_sum(csv, 2), report_int(r, "totals.sent"));
    ck_assert_int_eq(column_sum(csv, 3), report_int(r, "totals.completed"));
    ck_assert_str_eq(json, p.out);
    mem_free(log);
    mem_free(csv);
    mem_free(json);
    char *summary = content("summary"), *xml = content("a.xml"), *md = content("a.md");
    ck_assert_int_eq(column_sum(summary, 3), 2 * report_int(r, "totals.sent")); /* run + agents */
    ck_assert_ptr_nonnull(strstr(xml, "<testcase classname=\"hammer.slo\" name=\"p50&#60;1h\""));
    ck_assert_ptr_nonnull(strstr(md, "<code>local-2</code>"));
    mem_free(summary);
    mem_free(xml);
    mem_free(md);
    process_end(&p);
    json_decref(r);
}
END_TEST

/* --- while it goes on ----------------------------------------------------------------------- */

static bool has_data(const char *path)
{
    char *text = file_read(path);
    const char *legend = text != NULL ? strstr(text, "\n\"StartTimestamp\"") : NULL;
    const char *end = legend != NULL ? strchr(legend + 1, '\n') : NULL;
    bool yes = end != NULL && strchr(end + 1, '\n') != NULL;
    mem_free(text);
    return yes;
}

/* A log that is being written can be read; one whose run is cut is whole. */
START_TEST(test_streamed)
{
    char path[128];
    struct process p;
    const char *args[] = {"run",      "-r", "200",    "--forever", "--interval",
                          "200ms",    "-q", "--json", "-o",        in_folder("", "a.hlog", path),
                          target.url, NULL};
    process_start(&p, "hammer-ctl", args);
    for (int i = 0; i < LIMIT_MS / 50 && !has_data(path); i++) {
        ck_assert(process_alive(&p));
        nanosleep(&(struct timespec){0, 50000000}, NULL);
    }
    char *log = content("a.hlog");
    strrchr(log, '\n')[1] = '\0'; /* one line may be half seen */
    struct hist *h = hlog_merged(log, "");
    ck_assert_uint_gt(hist_count(h), 0);
    hist_free(h);
    mem_free(log);
    process_signal(&p, SIGINT);
    json_t *r = report_wait(&p, 130, 130, LIMIT_MS);
    log = content("a.hlog");
    check_clock(r, log, "", "corrected");
    mem_free(log);
    process_end(&p);
    json_decref(r);
}
END_TEST

/* On standard output too, byte for byte; a closed loop's only clock has no tag. */
START_TEST(test_log_printed)
{
    char path[128], json[128];
    struct process p;
    const char *args[] = {"run",      "-n",
                          "300",      "-c",
                          "4",        "-q",
                          "--format", "hlog",
                          "-o",       in_folder("", "a.hlog", path),
                          "-o",       in_folder("", "a.json", json),
                          target.url, NULL};
    int code = process_run(&p, "hammer-ctl", args, LIMIT_MS);
    ck_assert_msg(code == 0 || code == 4, "exit code %d: %s", code, p.err);
    char *log = content("a.hlog"), *text = content("a.json");
    json_t *r = report_parse(text);
    ck_assert_str_eq(log, p.out);
    ck_assert_ptr_null(strstr(log, "Tag="));
    check_clock(r, log, "", "uncorrected");
    mem_free(log);
    mem_free(text);
    process_end(&p);
    json_decref(r);
}
END_TEST

/* --- the whole run -------------------------------------------------------------------------- */

static bool is_there(const char *name)
{
    char path[128];
    return access(in_folder("", name, path), F_OK) == 0;
}

/* From the history, and without one: then nothing else is left of it. */
START_TEST(test_whole_run)
{
    static const char magic[] = "SQLite format 3";
    char paths[2][128], data[64];
    struct process p;
    folder_make(data);
    ck_assert_int_eq(setenv("XDG_DATA_HOME", data, 1), 0);
    for (int i = 0; i < 2; i++) {
        const char *args[] = {"run",      "-n",
                              "50",       "-c",
                              "4",        "-q",
                              "-o",       in_folder("", i == 0 ? "a.hammer" : "c.hammer", paths[0]),
                              "-o",       in_folder("", i == 0 ? "b.hammer" : "d.hammer", paths[1]),
                              target.url, i == 0 ? NULL : "--no-save",
                              NULL};
        int code = process_run(&p, "hammer-ctl", args, LIMIT_MS);
        ck_assert_msg(code == 0 || code == 4, "exit code %d: %s", code, p.err);
        for (int k = 0; k < 2; k++) {
            char *bytes = file_read(paths[k]);
            ck_assert_ptr_nonnull(bytes);
            ck_assert_str_eq(bytes, magic);
            mem_free(bytes);
        }
        process_end(&p);
    }
    ck_assert(!is_there("c.hammer.recording") && !is_there("c.hammer.recording-wal"));
    folder_remove(data);
}
END_TEST

/* --- what cannot be written ----------------------------------------------------------------- */

/* An older file stays where the run does not begin; a full device costs the exit code. */
START_TEST(test_not_written)
{
    char path[128];
    struct process p;
    FILE *f = fopen(in_folder("", "a.hlog", path), "w");
    ck_assert(f != NULL && fputs("an older one", f) >= 0 && fclose(f) == 0);
    const char *refused[] = {"run", "--agents", "127.0.0.1:1", "--wait-agents", "100ms", "-n",
                             "1",   "-o",       path,          target.url,      NULL};
    ck_assert_int_eq(process_run(&p, "hammer-ctl", refused, LIMIT_MS), 2);
    process_end(&p);
    char *log = content("a.hlog");
    ck_assert_str_eq(log, "an older one");
    mem_free(log);
    static const char *const full[] = {"hlog:/dev/full", "csv:/dev/full"};
    for (size_t i = 0; i < 2; i++) {
        const char *args[] = {"run", "-n", "50", "-c", "4", "-q", "-o", full[i], target.url, NULL};
        int code = process_run(&p, "hammer-ctl", args, LIMIT_MS);
        ck_assert_msg(code == 2 || code == 4, "exit code %d: %s", code, p.err);
        ck_assert_msg(strstr(p.err, "--output /dev/full: No space left") != NULL, "%s", p.err);
        process_end(&p);
    }
}
END_TEST

/* A stored run without a history is made beside its file: where there is no room for it, nothing is
 * sent and nothing is left. */
START_TEST(test_no_room_for_a_stored_run)
{
    char path[128];
    struct process p;
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        printf("skipped: a mount of its own needs root: %s\n", strerror(errno));
        return;
    }
    ck_assert_int_eq(mount("tmpfs", folder, "tmpfs", 0, "size=64k,mode=700"), 0);
    in_folder("", "a.hammer", path);
    const char *args[] = {"run", "-n", "50", "-c", "4", "-o", path, "--no-save", target.url, NULL};
    ck_assert_int_eq(process_run(&p, "hammer-ctl", args, LIMIT_MS), 2);
    ck_assert_str_eq(p.out, "");
    ck_assert_msg(strstr(p.err, "--output ") != NULL && strstr(p.err, path) != NULL, "%s", p.err);
    process_end(&p);
    ck_assert(!is_there("a.hammer") && !is_there("a.hammer.recording"));
    ck_assert_int_eq(umount(folder), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("formats");
    TCase *t = tcase_create("formats");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, start, stop);
    tcase_add_test(t, test_all_at_once);
    tcase_add_test(t, test_streamed);
    tcase_add_test(t, test_log_printed);
    tcase_add_test(t, test_whole_run);
    tcase_add_test(t, test_not_written);
    tcase_add_test(t, test_no_room_for_a_stored_run);
    suite_add_tcase(s, t);
    return check_main(s);
}
