/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/cmd/history_row.h"
#include "tests/lib/check_main.h"

static char one[] = "--env A", several[] = "--env A,--header Cookie,--key";

static void assert_shows(char *secrets, const char *line)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    const struct recording r = {.run_id = "0123", .secrets = secrets};
    ck_assert_ptr_nonnull(out);
    history_print_run(&r, out);
    fclose(out);
    ck_assert_msg(strstr(text, line) != NULL, "%s", text);
    free(text);
}

START_TEST(test_secrets_are_a_list)
{
    assert_shows(one, "Secrets not kept  --env A\n");
    assert_shows(several, "Secrets not kept  --env A, --header Cookie, --key\n");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("history_show");
    TCase *t = tcase_create("text");
    tcase_add_test(t, test_secrets_are_a_list);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
