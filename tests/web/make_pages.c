/* SPDX-License-Identifier: MIT */
/* make_pages FOLDER: writes the HTML report of every run in tests/lib/html_pages.c there, and
 * pages.json, a list of them. A check program, as the fixtures check what they do. */
#include <stdio.h>
#include <stdlib.h>

#include "controller/report/html/html_assets.h"
#include "tests/lib/check_main.h"
#include "tests/lib/html_pages.h"

static const char *folder;

static FILE *open_file(const char *name, const char *suffix)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s%s", folder, name, suffix);
    FILE *out = fopen(path, "w");
    ck_assert_msg(out != NULL, "%s cannot be written", path);
    return out;
}

START_TEST(write_page)
{
    struct report_fixture f;
    struct report_options o = {.spectrum = true};
    FILE *out = open_file(html_cases[_i].name, ".html");
    html_cases[_i].build(&f);
    ck_assert_int_eq(report_html.write(f.r, &o, out), ERR_OK);
    ck_assert_int_eq(fclose(out), 0);
    html_case_free(&f);
}
END_TEST

START_TEST(write_list)
{
    FILE *out = open_file("pages", ".json");
    fprintf(out, "{\"lively\": %s, \"pages\": [", html_asset_uplot.len > 0 ? "true" : "false");
    for (size_t i = 0; i < html_cases_n; i++)
        fprintf(out, "%s{\"name\": \"%s\", \"spectrum\": %d, \"heat\": %d}", i > 0 ? ", " : "",
                html_cases[i].name, html_cases[i].spectrum, html_cases[i].heat);
    fprintf(out, "]}\n");
    ck_assert_int_eq(fclose(out), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("pages");
    TCase *t = tcase_create("pages");
    tcase_set_timeout(t, 30);
    tcase_add_loop_test(t, write_page, 0, (int)html_cases_n);
    tcase_add_test(t, write_list);
    suite_add_tcase(s, t);
    return s;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_pages FOLDER\n");
        return 1;
    }
    folder = argv[1];
    return check_main(suite());
}
