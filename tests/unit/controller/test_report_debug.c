/* SPDX-License-Identifier: MIT */
/* What --debug-request shows, and what it does not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "controller/report/report.h"
#include "controller/run/result.h"
#include "tests/lib/check_main.h"

/* What is printed of that text of an agent, the caller's. */
static char *printed(const char *text, const char *const *values, size_t n)
{
    struct template_named env[4];
    struct plan plan = {.env = env, .n_env = n};
    for (size_t i = 0; i < n; i++)
        env[i] =
            (struct template_named){"N", mem_dup(values[i], strlen(values[i])), strlen(values[i])};
    struct result r = {.plan = &plan, .total = snapshot_new()};
    struct report_options o = {0};
    char *out = NULL;
    size_t size = 0;
    r.total->debug = mem_strdup(text);
    FILE *f = open_memstream(&out, &size);
    ck_assert_int_eq(report_debug.write(&r, &o, f), ERR_OK);
    fclose(f);
    snapshot_free(r.total);
    for (size_t i = 0; i < n; i++)
        mem_free(env[i].bytes);
    return out;
}

static const struct {
    const char *text, *value, *want;
} rows[] = {
    {"> GET /a/s3cret?s3cret HTTP/1.1\n", "s3cret", "> GET /a/REDACTED?REDACTED HTTP/1.1\n"},
    {"| user=ann&password=s3cret\n", "s3cret", "| user=ann&password=REDACTED\n"},
    {"| s3crets3crets3cre\n", "s3cret", "| REDACTEDREDACTEDs3cre\n"},
    {"| s\t3cret\n", "s\t3cret", "| REDACTED\n"},
    {"| line one\n| line two\n", "line one\r\nline two\n", "| REDACTED\n| REDACTED\n"},
    {"| port=80\n", "80", "| port=80\n"},
    {"| nothing\n", "s3cret", "| nothing\n"},
    {"< HTTP/1.1 302\n< Location: /s3cret\n", "s3cret", "< HTTP/1.1 302\n< Location: /REDACTED\n"},
};

START_TEST(test_variables_are_not_shown)
{
    char *out = printed(rows[_i].text, &rows[_i].value, 1);
    ck_assert_str_eq(out, rows[_i].want);
    free(out);
}
END_TEST

START_TEST(test_several_variables)
{
    static const char *const values[] = {"first", "", "second"};
    char *out = printed("| second first\n| \x1b[2J\n", values, 3);
    ck_assert_ptr_eq(strstr(out, "| REDACTED REDACTED\n| "), out);
    ck_assert_ptr_null(strchr(out, 0x1b));
    free(out);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("report_debug");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, test_variables_are_not_shown, 0, sizeof rows / sizeof rows[0]);
    tcase_add_test(t, test_several_variables);
    suite_add_tcase(s, t);
    return check_main(s);
}
