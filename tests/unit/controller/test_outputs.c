/* SPDX-License-Identifier: MIT */
#include "controller/cmd/outputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/cmd/run_options.h"
#include "controller/report/formats.h"
#include "tests/lib/check_main.h"
#include "tests/lib/hlog_reader.h"
#include "tests/lib/process.h"
#include "tests/lib/report_fixture.h"

static char folder[] = "/tmp/hammer-outputs-XXXXXX";

static void make_folder(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
}

static void remove_folder(void)
{
    char command[100];
    ck_assert_int_eq(chdir("/"), 0);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static enum err make(const char *format, bool json, const char *files, struct outputs **o,
                     struct errmsg *msg)
{
    struct option_list l = {0};
    char *copy = mem_strdup(files), *rest = copy, *one;
    while ((one = strsep(&rest, " ")) != NULL)
        if (one[0] != '\0')
            option_list_add(&l, one);
    struct outputs_config c = {.format = format, .json = json, .files = &l};
    enum err e = outputs_new(&c, o, msg);
    option_list_clear(&l);
    mem_free(copy);
    return e;
}

static struct outputs *made(const char *format, bool json, const char *files)
{
    struct outputs *o;
    struct errmsg msg = {{0}};
    ck_assert_msg(make(format, json, files, &o, &msg) == ERR_OK, "%s", msg.text);
    return o;
}

/* --- what is asked for ---------------------------------------------------------------------- */

/* `want`: "FORMAT FORMAT:FILE ...", standard output first. */
static const struct {
    const char *format;
    bool json;
    const char *files, *want;
} good[] = {
    {NULL, false, "", "text"},
    {NULL, true, "", "json"},
    {"json", true, "", "json"},
    {"hlog", false, "", "hlog"},
    {NULL, false, "a.json b.txt", "text json:a.json text:b.txt"},
    {"json", false, "a.b.hlog", "json hlog:a.b.hlog"},
    {NULL, false, "json:x.txt", "text json:x.txt"},
    {NULL, false, "text:noend ./json:x.txt", "text text:noend text:./json:x.txt"},
    {NULL, false, "text:a:b", "text text:a:b"},
    {NULL, false, "when:12.json", "text json:when:12.json"},
    {NULL, false, "-", "text"},
    {"json", false, "- a.txt", "json text:a.txt"},
    {NULL, false, "json:- a.txt", "json text:a.txt"},
    {NULL, true, "json:-", "json"},
    {NULL, false, "json:- -", "json"},
    {NULL, false, "/dev/null", NULL},
    {NULL, false, "json:/dev/null", "text json:/dev/null"},
    {NULL, false, "a.hammer", "text hammer:a.hammer"},
};

START_TEST(test_asked_for)
{
    char got[300] = "";
    struct outputs *o = NULL;
    struct errmsg msg = {{0}};
    enum err e = make(good[_i].format, good[_i].json, good[_i].files, &o, &msg);
    ck_assert_msg((e == ERR_OK) == (good[_i].want != NULL), "%s: %s", good[_i].files, msg.text);
    if (e != ERR_OK)
        return;
    for (size_t i = 0; i < outputs_n(o); i++) {
        const struct output *item = outputs_at(o, i);
        ck_assert_int_eq(item->path == NULL, i == 0);
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s%s%s", i > 0 ? " " : "",
                 item->format->name, i > 0 ? ":" : "", i > 0 ? item->path : "");
    }
    ck_assert_str_eq(got, good[_i].want);
    outputs_free(o);
}
END_TEST

static const struct {
    const char *format;
    bool json;
    const char *files, *said;
} bad[] = {
    {"pdf", false, "", "--format pdf: accepted is one of text, json, "},
    {"", false, "", "accepted is one of text"},
    {"JSON", false, "", "--format JSON: accepted is one of"},
    {"hammer", false, "", "--format hammer: a database cannot be printed"},
    {"text", true, "", "--json and --format text: accepted is one of the two"},
    {NULL, false, "a.pdf", "--output a.pdf: accepted is a file name ending in .txt, .json, "},
    {NULL, false, "a.pdf", "or NAME:FILE with a NAME of text, json, "},
    {NULL, false, "noend", "--output noend: accepted is"},
    {NULL, false, "json:", "--output json:: a file name is missing"},
    {NULL, false, "a.json a.json", "--output a.json: the file is named twice"},
    {NULL, false, "a.json text:a.json", "--output text:a.json: the file is named twice"},
    {NULL, false, "json:- hlog:-", "--output hlog:-: standard output is taken by another"},
    {"text", false, "json:-", "--output json:-: standard output is taken by --format or --json"},
    {NULL, true, "text:-", "standard output is taken by --format or --json"},
    {NULL, false, "hammer:-", "--output hammer:-: a database cannot be printed"},
    {NULL, false, "/nonexistent/a.json", "--output /nonexistent/a.json: No such file"},
    {NULL, false, "json:/tmp", "--output /tmp: Is a directory"},
    {NULL, false, "hammer:/dev/full", "--output /dev/full: no regular file"},
};

START_TEST(test_refused)
{
    struct outputs *o;
    struct errmsg msg = {{0}};
    ck_assert_int_eq(make(bad[_i].format, bad[_i].json, bad[_i].files, &o, &msg), ERR_INVALID);
    ck_assert_msg(strstr(msg.text, bad[_i].said) != NULL, "%s", msg.text);
    ck_assert_ptr_null(o);
}
END_TEST

/* Every format is found by its name and, where it has one, by its suffix; no two share either. */
START_TEST(test_table)
{
    for (size_t i = 0; formats_all[i] != NULL; i++) {
        const struct report_format *f = formats_all[i];
        char file[40];
        ck_assert_ptr_eq(formats_named(f->name, strlen(f->name)), f);
        ck_assert_ptr_null(formats_named(f->name, strlen(f->name) - 1));
        ck_assert(f->text != NULL && f->text[0] != '\0');
        if (f->suffix == NULL)
            continue;
        snprintf(file, sizeof file, "a.b%s", f->suffix);
        ck_assert_ptr_eq(formats_of_file(file), f);
    }
    ck_assert_ptr_null(formats_of_file("json"));
    char names[FORMATS_TEXT], suffixes[FORMATS_TEXT];
    ck_assert_uint_lt(strlen(formats_names(names)), FORMATS_TEXT - 1);
    ck_assert_uint_lt(strlen(formats_suffixes(suffixes)), FORMATS_TEXT - 1);
}
END_TEST

/* Help and page name every format. */
START_TEST(test_listed)
{
    const struct option_group own = run_options_own();
    const char *help = option_find(own.rows, own.n, "format")->text;
    char *page = file_read(TEST_DATA_DIR "/../../docs/formats.md");
    ck_assert_ptr_nonnull(page);
    for (size_t i = 0; formats_all[i] != NULL; i++) {
        const struct report_format *f = formats_all[i];
        char row[80];
        snprintf(row, sizeof row, "\n| `%s` |%s%s%s |", f->name, f->suffix != NULL ? " `" : "",
                 f->suffix != NULL ? f->suffix : "", f->suffix != NULL ? "`" : "");
        ck_assert_msg(strstr(page, row) != NULL, "docs/formats.md misses %s", row + 1);
        ck_assert_msg(f == &report_store || strstr(help, f->name) != NULL, "--format: %s", f->name);
    }
    mem_free(page);
}
END_TEST

/* --- files ---------------------------------------------------------------------------------- */

static enum err write_all(struct outputs *o, const struct result *r)
{
    struct report_options options = {.verbose = false};
    struct outputs_run run = {.result = r, .options = &options};
    ck_assert_ptr_nonnull(freopen("stdout", "w", stdout)); /* check reports through a pipe */
    enum err e = outputs_write(o, &run);
    ck_assert_int_eq(fflush(stdout), 0);
    return e;
}

static size_t files_here(void)
{
    FILE *p = popen("ls -A | wc -l", "r");
    size_t n = 0;
    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(fscanf(p, "%zu", &n), 1);
    pclose(p);
    return n;
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static void fill(const char *path, const char *text, mode_t mode)
{
    FILE *f = fopen(path, "w");
    ck_assert(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
    ck_assert_int_eq(chmod(path, mode), 0);
}

/* Each as report_render has it, and nothing else is left in the folder. */
START_TEST(test_written)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    report_fixture_finish(&f);
    umask(027);
    fill("there.json", "an older one", 0604);
    ck_assert_int_eq(symlink("there.json", "link.json"), 0);
    struct outputs *o = made(NULL, false, "a.json json:b text:c link.json");
    ck_assert_int_eq(write_all(o, f.r), ERR_OK);
    outputs_free(o);
    char *json = report_render(&report_json, f.r, false, false);
    char *text = report_render(&report_text, f.r, false, false);
    static const char *const files[] = {"a.json", "b", "there.json", "c", "stdout"};
    for (size_t i = 0; i < 5; i++) {
        char *got = file_read(files[i]);
        ck_assert_str_eq(got, i < 3 ? json : text);
        mem_free(got);
    }
    ck_assert_uint_eq(mode_of("a.json"), 0640);
    ck_assert_uint_eq(mode_of("there.json"), 0604);
    ck_assert_uint_eq(files_here(), 6);
    free(json);
    free(text);
    result_free(f.r);
}
END_TEST

static enum err write_half(const struct result *r, const struct report_options *o, FILE *out)
{
    (void)r;
    (void)o;
    fputs("the first half", out);
    return ERR_SYSTEM;
}

/* What is not whole does not take the place of what is there, and the others are written. */
START_TEST(test_whole_or_not)
{
    static const struct report_format half = {"half", ".half", "", write_half};
    struct report_fixture f;
    report_fixture(&f, 60, 0);
    report_fixture_finish(&f);
    fill("a.json", "an older one", 0600);
    struct outputs *o = made(NULL, false, "a.json b.txt");
    ((struct output *)outputs_at(o, 1))->format = &half;
    ck_assert_int_eq(write_all(o, f.r), ERR_SYSTEM);
    outputs_free(o);
    char *got = file_read("a.json");
    ck_assert_str_eq(got, "an older one");
    mem_free(got);
    ck_assert_uint_gt(strlen(got = file_read("b.txt")), 100);
    mem_free(got);
    ck_assert_uint_eq(files_here(), 3);
    result_free(f.r);
}
END_TEST

/* A FIFO is written as it is, or nobody would read it; a full device is an error. */
START_TEST(test_not_regular)
{
    struct report_fixture f;
    report_fixture(&f, 60, 0);
    report_fixture_finish(&f);
    ck_assert_int_eq(mkfifo("fifo.txt", 0600), 0);
    FILE *reader = popen("cat fifo.txt >copy", "r");
    ck_assert_ptr_nonnull(reader);
    struct outputs *o = made(NULL, false, "fifo.txt");
    ck_assert_int_eq(write_all(o, f.r), ERR_OK);
    outputs_free(o);
    ck_assert_int_eq(pclose(reader), 0);
    char *copy = file_read("copy"), *text = report_render(&report_text, f.r, false, false);
    ck_assert_str_eq(copy, text);
    mem_free(copy);
    free(text);
    o = made(NULL, false, "json:/dev/full");
    ck_assert_int_eq(write_all(o, f.r), ERR_SYSTEM);
    outputs_free(o);
    result_free(f.r);
}
END_TEST

/* What standard output leads to is not replaced by another file. */
START_TEST(test_standard)
{
    struct report_fixture f;
    report_fixture(&f, 60, 0);
    report_fixture_finish(&f);
    struct outputs *o = made(NULL, false, "json:/dev/stdout");
    ck_assert_int_eq(write_all(o, f.r), ERR_OK);
    outputs_free(o);
    char *json = report_render(&report_json, f.r, false, false), *got = file_read("stdout");
    char *text = report_render(&report_text, f.r, false, false);
    ck_assert_int_eq(strncmp(got, text, strlen(text)), 0);
    ck_assert_str_eq(got + strlen(text), json);
    free(json);
    free(text);
    mem_free(got);
    result_free(f.r);
}
END_TEST

/* --- rows of a stored run ------------------------------------------------------------------- */

static void add_rows(struct outputs *o, uint64_t n)
{
    struct hist *h = hist_new_default();
    for (uint64_t i = 0; i < n; i++) {
        struct result_interval row = {.from_ns = i * NS_PER_SEC, .to_ns = (i + 1) * NS_PER_SEC};
        struct merge_view v = {.row = &row, .corrected = h, .uncorrected = h};
        hist_record(h, 1000 * i, 1);
        outputs_row(o, &v);
    }
    hist_free(h);
}

START_TEST(test_rows)
{
    struct report_fixture f;
    report_fixture(&f, 60, 0);
    report_fixture_finish(&f);
    struct outputs *o = made("hlog", false, "a.hlog b.hlog c.json");
    add_rows(o, 5);
    ck_assert_int_eq(write_all(o, f.r), ERR_OK);
    outputs_free(o);
    char *a = file_read("a.hlog"), *b = file_read("b.hlog"), *out = file_read("stdout");
    struct hist *h = hlog_merged(a, "");
    ck_assert_uint_eq(hist_count(h), 1 + 2 + 3 + 4 + 5);
    ck_assert_str_eq(a, b);
    ck_assert_str_eq(a, out);
    hist_free(h);
    mem_free(a);
    mem_free(b);
    mem_free(out);
    result_free(f.r);
}
END_TEST

/* A live run's log is written while it goes on: nothing takes its place at the end. */
START_TEST(test_rows_live)
{
    struct report_fixture f;
    struct report_options options = {.verbose = false};
    report_fixture(&f, 60, 0);
    report_fixture_finish(&f);
    fill("a.hlog", "written meanwhile", 0600);
    struct outputs *o = made("hlog", false, "a.hlog");
    struct outputs_run run = {.result = f.r, .options = &options, .live = true};
    ck_assert_int_eq(outputs_write(o, &run), ERR_OK);
    outputs_free(o);
    char *a = file_read("a.hlog");
    ck_assert_str_eq(a, "written meanwhile");
    mem_free(a);
    result_free(f.r);
}
END_TEST

/* --- databases ------------------------------------------------------------------------------ */

static enum err store(void *arg, const char *path, struct errmsg *msg)
{
    fill(path, "a database", 0600);
    return ++*(int *)arg < 3 ? ERR_OK : errmsg_set(msg, ERR_SYSTEM, "the disk is full");
}

START_TEST(test_stores)
{
    struct report_fixture f;
    struct report_options options = {.verbose = false};
    int stored = 0;
    const char *paths[4];
    report_fixture(&f, 60, 0);
    report_fixture_finish(&f);
    struct outputs *o = made(NULL, false, "a.hammer text:/dev/null hammer:b");
    ck_assert_uint_eq(outputs_stores(o, paths), 2);
    ck_assert_str_eq(paths[0], "a.hammer");
    ck_assert_str_eq(paths[1], "b");
    struct outputs_run run = {.result = f.r, .options = &options, .store = store, .arg = &stored};
    ck_assert_ptr_nonnull(freopen("stdout", "w", stdout));
    ck_assert_int_eq(outputs_write(o, &run), ERR_OK);
    ck_assert_int_eq(stored, 2);
    ck_assert_int_eq(outputs_write(o, &run), ERR_SYSTEM);
    outputs_free(o);
    result_free(f.r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("outputs");
    TCase *t = tcase_create("outputs");
    tcase_add_checked_fixture(t, make_folder, remove_folder);
    tcase_add_loop_test(t, test_asked_for, 0, sizeof good / sizeof good[0]);
    tcase_add_loop_test(t, test_refused, 0, sizeof bad / sizeof bad[0]);
    tcase_add_test(t, test_table);
    tcase_add_test(t, test_listed);
    tcase_add_test(t, test_written);
    tcase_add_test(t, test_whole_or_not);
    tcase_add_test(t, test_not_regular);
    tcase_add_test(t, test_standard);
    tcase_add_test(t, test_rows);
    tcase_add_test(t, test_rows_live);
    tcase_add_test(t, test_stores);
    suite_add_tcase(s, t);
    return check_main(s);
}
