/* SPDX-License-Identifier: MIT */
/* The options of a plan as they were given, which the report shows. */
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "proto/plan.h"
#include "tests/lib/check_main.h"

#define WORDS_MAX 12
#define LINE(...)                                                                                  \
    (char *[WORDS_MAX])                                                                            \
    {                                                                                              \
        "run", __VA_ARGS__                                                                         \
    }

static struct plan make_ok(char *const *words)
{
    struct plan p;
    struct errmsg msg = {{0}};
    size_t n_rows, n_rest;
    const struct option_row *rows = plan_options(&n_rows);
    int argc = 1;
    while (argc < WORDS_MAX && words[argc] != NULL)
        argc++;
    plan_defaults(&p);
    enum err e = option_parse(rows, n_rows, argc, words, &p, NULL, 0, &n_rest, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
    return p;
}

/* As it was written, each once; what was taken back is not there. */
START_TEST(test_what_was_given_is_kept)
{
    static const char *const want[] = {"rate=1.5k", "insecure", "data=xyz"};
    struct plan p =
        make_ok(LINE("-r1", "-k", "-HAuthorization: s3cret", "-r", "1.5k", "--data", "xyz"));
    ck_assert_uint_eq(p.given.n, 3);
    for (size_t i = 0, found = 0; i < 3; i++, found = 0) {
        for (size_t k = 0; k < p.given.n; k++)
            found += strcmp(p.given.items[k], want[i]) == 0;
        ck_assert_msg(found == 1, "%s", want[i]);
    }
    size_t n;
    const struct option_row *rows = plan_options(&n);
    ck_assert_int_eq(option_apply(option_find(rows, n, "insecure"), "", "0", &p, NULL), ERR_OK);
    ck_assert_uint_eq(p.given.n, 2);
    plan_clear(&p);
    ck_assert_uint_eq(p.given.n, 0);
}
END_TEST

/* Not in the middle of a character, and it says so. */
START_TEST(test_long_values_are_cut)
{
    char text[OPTION_GIVEN_VALUE + 50], name[OPTION_GIVEN_NAME];
    const char *value;
    for (size_t len = OPTION_GIVEN_VALUE - 2; len < OPTION_GIVEN_VALUE + 3; len++) {
        memset(text, 'x', sizeof text);
        snprintf(text + len - 2, 8, "\xc3\xbc");
        struct plan p = make_ok(LINE("-r1", "--data", text));
        for (size_t i = 0; i < p.given.n; i++) {
            option_given(p.given.items[i], name, &value);
            if (strcmp(name, "data") != 0)
                continue;
            bool cut = len > OPTION_GIVEN_VALUE;
            ck_assert_uint_eq(strlen(value), cut ? len - 2 + 3 : len);
            ck_assert_int_eq(memcmp(value, text, cut ? len - 2 : len), 0);
            ck_assert_int_eq(strcmp(value + strlen(value) - 3, "...") == 0, cut);
        }
        ck_assert_uint_eq(p.given.n, 2);
        plan_clear(&p);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("plan_given");
    TCase *t = tcase_create("given");
    tcase_add_test(t, test_what_was_given_is_kept);
    tcase_add_test(t, test_long_values_are_cut);
    suite_add_tcase(s, t);
    return check_main(s);
}
