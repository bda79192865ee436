/* SPDX-License-Identifier: MIT */
/* What hammer-ctl says to those who call it in a wrong way or for the first time. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/lib/check_main.h"
#include "tests/lib/process.h"

#define ARGS_MAX 12
#define URL      "http://127.0.0.1:1/"

static const struct {
    const char *args[ARGS_MAX];
    int code;
    const char *out, *err; /* "" = nothing at all there */
} rows[] = {
    {{"help"}, 0, "usage: hammer-ctl COMMAND", ""},
    {{"--help"}, 0, "usage: hammer-ctl COMMAND", ""},
    {{"help", "run"}, 0, "usage: hammer-ctl run", ""},
    {{"run", "--help"}, 0, "Exit codes: 0 valid", ""},
    {{"help", "agents"}, 0, "usage: hammer-ctl agents", ""},
    {{"agents", "--help"}, 0, "--target URL", ""},
    {{"agents", "check"}, 1, "", "the URL is missing"},
    {{"agents", "list"}, 1, "", "list: accepted is hammer-ctl agents [flags], or agents check"},
    {{"version"}, 0, "hammer-ctl ", ""},
    {{"--version"}, 0, "hammer-ctl ", ""},
    {{NULL}, 1, "", "usage: hammer-ctl COMMAND"},
    {{"rum"}, 1, "", "rum: no such command; accepted are run, status, "},
    {{"-t2", "-c10", URL}, 1, "", "-t2: no command; did you mean hammer-ctl run"},
    {{URL}, 1, "", "did you mean hammer-ctl run"},
    {{"run"}, 1, "", "the URL is missing"},
    {{"run", "-q", "10", URL}, 1, "", "10 and " URL ": two arguments beside the flags"},
    {{"run", "--rate", "fast", URL}, 1, "", "--rate fast: accepted is a rate"},
    {{"run", "--rps", "fast", URL}, 1, "", "--rate fast: accepted is a rate"},
    {{"run", "-z", "soon", URL}, 1, "", "--duration soon: accepted is a duration"},
    {{"run", "--duratoin", "5", URL}, 1, "", "did you mean --duration?"},
    {{"run", "-r1", "-o", "r.pdf", URL}, 1, "", "--output r.pdf: accepted is a file name"},
    {{"run", "-r1", "-o", "/no/folder/r.json", URL}, 1, "", "No such file or directory; accepted"},
    {{"run", "-r1", "--local", "3", "-c", "2", URL}, 1, "", "--connections 2 on 3 agents"},
    {{"run", "-r1", "--local", "2", "-c", "3", "-t", "2", URL}, 1, "", "at least 4, one a thread"},
    {{"run", "-r1", "http://169.254.1.1/"}, 2, "", "hammer-ctl: agent local-1: target 169.254.1.1"},
    {{"run", "-r1", URL}, 2, "no connection to the target ever opened: connect:", ""},
};

static bool says(const char *text, const char *want)
{
    return want[0] == '\0' ? text[0] == '\0' : strstr(text, want) != NULL;
}

START_TEST(test_answers)
{
    struct process p;
    const char *args[ARGS_MAX + 1] = {NULL};
    memcpy(args, rows[_i].args, sizeof rows[_i].args);
    int code = process_run(&p, "hammer-ctl", args, 20000);
    ck_assert_msg(code == rows[_i].code, "row %d: exit code %d", _i, code);
    ck_assert_msg(says(p.out, rows[_i].out), "row %d: stdout: %.300s", _i, p.out);
    ck_assert_msg(says(p.err, rows[_i].err), "row %d: stderr: %.300s", _i, p.err);
    process_end(&p);
}
END_TEST

/* One line on stderr a mistake: neither the agent nor the controller says it a second time. */
START_TEST(test_a_refusal_is_said_once)
{
    struct process p;
    const char *args[] = {"run", "-r", "1", "http://169.254.1.1/", NULL};
    ck_assert_int_eq(process_run(&p, "hammer-ctl", args, 20000), 2);
    const char *end = strchr(p.err, '\n');
    ck_assert_msg(end != NULL && end[1] == '\0', "%.300s", p.err);
    process_end(&p);
}
END_TEST

/* The output files are looked at before the run; a mistake found later leaves none behind. */
START_TEST(test_no_output_of_no_run)
{
    char folder[64], file[96];
    struct process p;
    struct stat st;
    folder_make(folder);
    snprintf(file, sizeof file, "%s/r.json", folder);
    const char *args[] = {"run", "-r1", "-o", file, "--agents", ",", URL, NULL};
    ck_assert_int_eq(process_run(&p, "hammer-ctl", args, 20000), 1);
    ck_assert_int_ne(stat(file, &st), 0);
    process_end(&p);
    folder_remove(folder);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cli");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_answers, 0, sizeof rows / sizeof rows[0]);
    tcase_add_test(t, test_a_refusal_is_said_once);
    tcase_add_test(t, test_no_output_of_no_run);
    return check_main(s);
}
