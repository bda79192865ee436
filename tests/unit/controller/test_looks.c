/* SPDX-License-Identifier: MIT */
/* What the environment says a text may be made of. */
#include <stdlib.h>

#include "controller/report/looks.h"
#include "tests/lib/check_main.h"

static const struct {
    const char *all, *ctype, *lang, *term, *no_color, *clicolor; /* NULL = not set */
    bool unicode, colour;
} cases[] = {
    {NULL, NULL, NULL, "xterm", NULL, NULL, false, true},
    {NULL, NULL, "C.UTF-8", "xterm", NULL, NULL, true, true},
    {NULL, NULL, "de_DE.utf8@euro", "xterm", "", "1", true, true},
    {NULL, "en_US.UTF-8", "C", "xterm", NULL, NULL, true, true},
    {"C", "en_US.UTF-8", "en_US.UTF-8", "xterm", NULL, NULL, false, true},
    {"", "", "en_US.UTF-8", "xterm", "1", NULL, true, false},
    {NULL, NULL, "en_US.ISO-8859-1", "xterm", NULL, "0", false, false},
    {NULL, NULL, "en_US.UTF-8", "dumb", NULL, NULL, false, false},
    {NULL, NULL, "en_US.UTF-8", NULL, NULL, NULL, true, false},
};

static void put(const char *name, const char *value)
{
    if (value != NULL)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

START_TEST(test_environment)
{
    struct report_options o = {.verbose = true};
    put("LC_ALL", cases[_i].all);
    put("LC_CTYPE", cases[_i].ctype);
    put("LANG", cases[_i].lang);
    put("TERM", cases[_i].term);
    put("NO_COLOR", cases[_i].no_color);
    put("CLICOLOR", cases[_i].clicolor);
    looks_settle(&o);
    ck_assert_int_eq(o.unicode, cases[_i].unicode);
    ck_assert_int_eq(o.colour, cases[_i].colour);
    ck_assert(o.verbose);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("looks");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_loop_test(t, test_environment, 0, sizeof cases / sizeof cases[0]);
    return check_main(s);
}
