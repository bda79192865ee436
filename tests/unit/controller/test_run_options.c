/* SPDX-License-Identifier: MIT */
#include "controller/cmd/run_options.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/option_help.h"
#include "tests/lib/check_main.h"

static size_t times_listed(const struct option_group groups[], size_t n, const char *name)
{
    size_t times = 0;
    for (size_t g = 0; g < n; g++) {
        const struct option_row *row;
        for (size_t at = 0; (row = option_group_next(&groups[g], &at)) != NULL;)
            times += strcmp(row->name, name) == 0;
    }
    return times;
}

/* A flag that --help forgets does not exist, one under two headings looks like two. */
START_TEST(test_every_flag_has_one_heading)
{
    struct option_group groups[RUN_OPTIONS_GROUPS];
    size_t n = run_options_groups(groups), n_rows;
    struct option_row *rows = run_options_rows(&n_rows);
    ck_assert_uint_eq(n, RUN_OPTIONS_GROUPS);
    for (size_t i = 0; i < n_rows; i++)
        ck_assert_msg(times_listed(groups, n, rows[i].name) == 1, "--%s is under %zu headings",
                      rows[i].name, times_listed(groups, n, rows[i].name));
    mem_free(rows);
}
END_TEST

/* A heading that lists a flag which is no more, or in the other table, lists nothing. */
START_TEST(test_every_listed_name_is_a_flag)
{
    struct option_group groups[RUN_OPTIONS_GROUPS];
    size_t n = run_options_groups(groups);
    for (size_t g = 0; g < n; g++) {
        struct option_alias a = {groups[g].names, 0};
        size_t listed = 0, found = 0, at = 0;
        while (option_alias_next(&a))
            listed++;
        while (option_group_next(&groups[g], &at) != NULL)
            found++;
        ck_assert_uint_eq(listed, found);
    }
}
END_TEST

static void assert_refused(const char *const *words, const char *why)
{
    struct run_options o;
    struct inventory inv = {0};
    struct errmsg msg = {{0}};
    char *argv[8] = {(char[]){"run"}};
    int argc = 1;
    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = mem_strdup(words[argc - 1]);
    ck_assert_int_eq(run_options_parse(argc, argv, &o, &inv, &msg), ERR_INVALID);
    ck_assert_msg(strstr(msg.text, why) != NULL, "%s", msg.text);
    while (argc > 1)
        mem_free(argv[--argc]);
    run_options_clear(&o);
}

/* A flag that changes nothing is a mistake that nobody would see. */
START_TEST(test_flags_that_would_do_nothing)
{
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    assert_refused((const char *[]){"--chunked", "http://h/", NULL}, "--chunked without a body");
    assert_refused((const char *[]){"--expect-continue", "http://h/", NULL},
                   "--expect-continue without a body");
    assert_refused((const char *[]){"--proxy=http://p:1", "--connect-to=::a:1", "http://h/", NULL},
                   "--proxy with --connect-to");
    assert_refused((const char *[]){"--min-agents=2", "http://h/", NULL},
                   "--min-agents 2 with 1 agent: accepted");
    assert_refused((const char *[]){"--min-agents=4", "--local=3", "http://h/", NULL},
                   "--min-agents 4 with 3 agents: accepted");
}
END_TEST

START_TEST(test_every_is_made_of_whole_intervals)
{
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    assert_refused((const char *[]){"--db=", "http://h/", NULL}, "--db \"\": accepted is a file");
    assert_refused((const char *[]){"--every=1500ms", "http://h/", NULL},
                   "--every 1.5s: accepted is a multiple of --interval, which is 1s");
    assert_refused((const char *[]){"--every=1s", "--interval=2s", "http://h/", NULL},
                   "--every 1s: accepted is a multiple of --interval, which is 2s");
    struct errmsg msg = {{0}};
    ck_assert_int_eq(result_options_check_every(0, NS_PER_SEC, &msg), ERR_OK);
    ck_assert_int_eq(result_options_check_every(NS_PER_SEC, NS_PER_SEC, &msg), ERR_OK);
    ck_assert_int_eq(result_options_check_every(10 * NS_PER_SEC, NS_PER_SEC, &msg), ERR_OK);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("run_options");
    TCase *t = tcase_create("groups");
    suite_add_tcase(s, t);
    tcase_add_test(t, test_every_flag_has_one_heading);
    tcase_add_test(t, test_every_listed_name_is_a_flag);
    tcase_add_test(t, test_flags_that_would_do_nothing);
    tcase_add_test(t, test_every_is_made_of_whole_intervals);
    return check_main(s);
}
