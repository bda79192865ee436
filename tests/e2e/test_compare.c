/* SPDX-License-Identifier: MIT */
/* compare and run --repeat with real runs, against servers that answer after 20 or 30 ms. Closed
 * loops, so that a busy machine cannot make them generator-limited, which comes first. Judged is
 * the uncorrected median, which a neighbour on the machine hardly moves. */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

#define RUN_MS 60000
#define GATE   "p50>+10%"

static struct target_process fast, slow;
static char folder[64], db[96];

static void begin(void)
{
    const char *fast_args[] = {"--delay", "20ms", NULL}, *slow_args[] = {"--delay", "30ms", NULL};
    folder_make(folder);
    snprintf(db, sizeof db, "%s/runs.db", folder);
    target_start(&fast, fast_args);
    target_start(&slow, slow_args);
}

static void end(void)
{
    target_stop(&fast);
    target_stop(&slow);
    folder_remove(folder);
}

static void run(const char *name, const char *url, const char *seconds)
{
    struct process p;
    const char *args[] = {"run",   "-c",   "8", "-q",     "-d", seconds, "--interval",
                          "100ms", "--db", db,  "--name", name, url,     NULL};
    int code = process_run(&p, "hammer-ctl", args, RUN_MS);
    ck_assert_msg(code == 0, "exit code %d: %.400s", code, p.err);
    process_end(&p);
}

static int compare(struct process *p, const char *const *words)
{
    const char *args[PROCESS_ARGS_MAX] = {"compare", "--db", db, "--fail-if", GATE};
    size_t n = 5;
    for (size_t i = 0; words[i] != NULL; i++)
        args[n++] = words[i];
    args[n] = NULL;
    return process_run(p, "hammer-ctl", args, RUN_MS);
}

START_TEST(test_pair)
{
    struct process p;
    run("main", fast.url, "3");
    run("branch", slow.url, "3");
    run("same", fast.url, "3");
    int code = compare(&p, (const char *[]){"main", "branch", NULL});
    ck_assert_msg(code == 99, "exit code %d: %.900s%.400s", code, p.out, p.err);
    ck_assert_msg(strstr(p.out, "REGRESSION") != NULL && strstr(p.out, "does not include") != NULL,
                  "%s", p.out);
    ck_assert(strstr(p.out, "\"main\"") != NULL && strstr(p.out, "\"branch\"") != NULL);
    process_end(&p);
    code = compare(&p, (const char *[]){"main", "same", NULL});
    ck_assert_msg(code == 0 || code == 5, "exit code %d: %.900s%.400s", code, p.out, p.err);
    process_end(&p);
    const char *plain[] = {"compare", "--db", db, "--json", "main", "same", NULL};
    process_run(&p, "hammer-ctl", plain, RUN_MS);
    json_t *by_default = json_loads(p.out, 0, NULL);
    ck_assert_ptr_nonnull(by_default);
    ck_assert_str_eq(report_text_at(by_default, "figures.2.fail_if"), "errors>+0.1%");
    ck_assert_str_eq(report_text_at(by_default, "figures.2.verdict"), "PASS");
    json_decref(by_default);
    process_end(&p);
    code = compare(&p, (const char *[]){"branch", "main", "--json", NULL});
    json_t *doc = json_loads(p.out, 0, NULL);
    ck_assert_ptr_nonnull(doc);
    ck_assert_msg(code == 0 || code == 5, "exit code %d: %.900s", code, p.out);
    ck_assert_str_eq(report_text_at(doc, "baseline.0.name"), "branch");
    json_decref(doc);
    process_end(&p);
}
END_TEST

/* Of two requests one is judged: in blocks of its own. */
static void run_two(const char *name, const char *url)
{
    struct process p;
    char list[96];
    snprintf(list, sizeof list, "%s/%s.urls", folder, name);
    FILE *f = fopen(list, "w");
    ck_assert_ptr_nonnull(f);
    fprintf(f, "%sa\n%sb\n", url, url);
    fclose(f);
    const char *args[] = {"run",  "-c", "8",      "-q", "-d",     "3",  "--interval", "100ms",
                          "--db", db,   "--name", name, "--urls", list, NULL};
    int code = process_run(&p, "hammer-ctl", args, RUN_MS);
    ck_assert_msg(code == 0, "exit code %d: %.400s", code, p.err);
    process_end(&p);
}

START_TEST(test_part)
{
    struct process p;
    run_two("main", fast.url);
    run_two("branch", slow.url);
    const char *args[] = {"compare",
                          "--db",
                          db,
                          "--fail-if",
                          "GET /a: p50>+10%",
                          "--fail-if",
                          "GET /b: p50>+5ms",
                          "--json",
                          "main",
                          "branch",
                          NULL};
    int code = process_run(&p, "hammer-ctl", args, RUN_MS);
    ck_assert_msg(code == 99, "exit code %d: %.900s%.400s", code, p.out, p.err);
    json_t *doc = json_loads(p.out, 0, NULL);
    ck_assert_str_eq(report_text_at(doc, "figures.0.figure"), "GET /a: p50");
    ck_assert_str_eq(report_text_at(doc, "figures.0.verdict"), "REGRESSION");
    ck_assert_str_eq(report_text_at(doc, "figures.1.effect_is"), "difference");
    json_decref(doc);
    process_end(&p);
    const char *nobody[] = {"compare",          "--db", db,       "--fail-if",
                            "GET /c: p50>+10%", "main", "branch", NULL};
    code = process_run(&p, "hammer-ctl", nobody, RUN_MS);
    ck_assert_msg(code == 1 && strstr(p.err, "GET /c") != NULL, "exit code %d: %s", code, p.err);
    process_end(&p);
}
END_TEST

/* Another load is named and refused; --anyway shows the figures, but never a verdict. */
START_TEST(test_not_alike)
{
    struct process p;
    run("three", fast.url, "3");
    run("one", slow.url, "1");
    int code = compare(&p, (const char *[]){"three", "one", NULL});
    ck_assert_msg(code == 2, "exit code %d: %s", code, p.err);
    ck_assert_msg(strstr(p.err, "length: ") != NULL && p.out[0] == '\0', "%s", p.err);
    process_end(&p);
    code = compare(&p, (const char *[]){"three", "one", "--anyway", NULL});
    ck_assert_msg(code == 5, "exit code %d: %s", code, p.err);
    ck_assert(strstr(p.out, "length: ") != NULL && strstr(p.out, "INCONCLUSIVE") != NULL);
    process_end(&p);
}
END_TEST

static const struct {
    const char *words[6];
    const char *says;
} bad[] = {
    {{"a", NULL}, "the candidate is missing"},
    {{NULL}, "the baseline is missing"},
    {{"a", "b", "c", NULL}, "--against"},
    {{"a", "--against", NULL}, "the baseline is missing"},
    {{"a", "a", NULL}, "given twice"},
    {{"a", "b", "--fail-if", "p99>10%", NULL}, "--fail-if p99>10%: "},
    {{"a", "b", "--format", "pdf", NULL}, "--format pdf: "},
    {{"nothing", "there", NULL}, "nothing"},
};

START_TEST(test_refused)
{
    struct process p;
    if (strcmp(bad[_i].words[0] != NULL ? bad[_i].words[0] : "", "nothing") == 0)
        run("something", fast.url, "1"); /* there is a history, without it */
    int code = compare(&p, bad[_i].words);
    ck_assert_msg(code == 1, "exit code %d: %s", code, p.err);
    ck_assert_msg(strstr(p.err, bad[_i].says) != NULL, "%s", p.err);
    process_end(&p);
}
END_TEST

/* The line that begins with "hammer-ctl compare", in words. */
static size_t command_words(char *text, char *words[PROCESS_ARGS_MAX])
{
    char *line = strstr(text, "\nhammer-ctl compare "), *rest = NULL;
    size_t n = 0;
    ck_assert_ptr_nonnull(line);
    line += strlen("\nhammer-ctl ");
    line[strcspn(line, "\n")] = '\0';
    for (char *w = strtok_r(line, " ", &rest); w != NULL; w = strtok_r(NULL, " ", &rest))
        words[n++] = w;
    return n;
}

/* Four of each, in turn, and the command that it ends with. */
START_TEST(test_interleaved)
{
    struct process p, q;
    char *words[PROCESS_ARGS_MAX + 4];
    run("main", fast.url, "1");
    const char *args[] = {
        "run",    "-c",     "8",      "-d",       "1", "--interval",        "100ms",
        "--db",   db,       "--json", "--repeat", "4", "--interleave-with", "main",
        "--name", "branch", slow.url, NULL};
    int code = process_run(&p, "hammer-ctl", args, 2 * RUN_MS);
    ck_assert_msg(code == 0, "exit code %d: %s", code, p.err);
    ck_assert(strstr(p.err, "run 8 of 8, baseline") != NULL ||
              strstr(p.err, "run 8 of 8, candidate") != NULL);
    size_t n = command_words(p.err, words), reports = 0;
    for (const char *at = p.out; (at = strstr(at, "\"hammer.report/1\"")) != NULL; at++)
        reports++;
    ck_assert_uint_eq(reports, 8);
    ck_assert_uint_eq(n, 1 + 2 + 4 + 1 + 4);
    char gate[] = GATE, flag[] = "--fail-if";
    words[n++] = flag;
    words[n++] = gate;
    words[n] = NULL;
    code = process_run(&q, "hammer-ctl", (const char *const *)words, RUN_MS);
    ck_assert_msg(code == 99, "exit code %d: %.900s%.400s", code, q.out, q.err);
    ck_assert(strstr(q.out, "Mann-Whitney") != NULL);
    process_end(&q);
    process_end(&p);
}
END_TEST

/* Ctrl-C ends the run and the set; what there is stays. */
START_TEST(test_interrupted)
{
    struct process p;
    const char *args[] = {"run", "-c",       "8", "-d",     "30", "--db",
                          db,    "--repeat", "5", fast.url, NULL};
    process_start(&p, "hammer-ctl", args);
    free(file_wait_line(p.err_path, 20000));
    process_signal(&p, SIGINT);
    int code = process_wait(&p, RUN_MS);
    ck_assert_msg(code == 130, "exit code %d: %s", code, p.err);
    ck_assert_msg(strstr(p.err, "run 2 of 5") == NULL && strstr(p.err, "tag set-") != NULL, "%s",
                  p.err);
    process_end(&p);
}
END_TEST

START_TEST(test_repeat_refused)
{
    struct process p;
    const char *args[] = {"run", "--repeat", "2", "--no-save", fast.url, NULL};
    ck_assert_int_eq(process_run(&p, "hammer-ctl", args, 20000), 1);
    ck_assert_msg(strstr(p.err, "--no-save") != NULL, "%s", p.err);
    process_end(&p);
    const char *more[] = {"run",    "--db",   db,  "--repeat", "2", "--interleave-with",
                          "nobody", fast.url, NULL};
    ck_assert_int_eq(process_run(&p, "hammer-ctl", more, 20000), 1);
    ck_assert_msg(strstr(p.err, "--interleave-with ") != NULL, "%s", p.err);
    process_end(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("compare");
    TCase *t = tcase_create("compare");
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, test_pair);
    tcase_add_test(t, test_part);
    tcase_add_test(t, test_not_alike);
    tcase_add_loop_test(t, test_refused, 0, (int)(sizeof bad / sizeof bad[0]));
    tcase_add_test(t, test_interleaved);
    tcase_add_test(t, test_interrupted);
    tcase_add_test(t, test_repeat_refused);
    suite_add_tcase(s, t);
    return check_main(s);
}
