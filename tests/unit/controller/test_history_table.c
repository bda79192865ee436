/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/cmd/history_row.h"
#include "tests/lib/check_main.h"

/* Three characters of two columns each are as wide as six letters. */
START_TEST(test_wide_names_are_aligned)
{
    static const char wide[] = "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e";
    struct history_row rows[2] = {{.errors = 0}, {.errors = 0}};
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    ck_assert_ptr_nonnull(out);
    snprintf(rows[0].name, sizeof rows[0].name, "%s", wide);
    snprintf(rows[1].name, sizeof rows[1].name, "abcdef");
    history_print_table(rows, 2, 0, false, out);
    fclose(out);
    char *first = strstr(text, wide), *second = strstr(text, "abcdef");
    ck_assert_msg(first != NULL && second != NULL, "%s", text);
    first += strlen(wide);
    second += strlen("abcdef");
    ck_assert_msg(strspn(first, " ") == strspn(second, " "), "%s", text);
    free(text);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("history_table");
    TCase *t = tcase_create("text");
    tcase_add_test(t, test_wide_names_are_aligned);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
