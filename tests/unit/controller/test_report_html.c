/* SPDX-License-Identifier: MIT */
/* The HTML report stands alone whatever is in it: well-formed, of bounded size, always the same,
 * without a reference to anything outside. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "controller/report/html/html_assets.h"
#include "tests/lib/check_main.h"
#include "tests/lib/html_check.h"
#include "tests/lib/html_pages.h"

static char *page_of(const struct html_case *one)
{
    struct report_fixture f;
    one->build(&f);
    char *page = report_render(&report_html, f.r, false, true);
    html_case_free(&f);
    return page;
}

static const struct html_case *case_named(const char *name)
{
    for (size_t i = 0; i < html_cases_n; i++)
        if (strcmp(html_cases[i].name, name) == 0)
            return &html_cases[i];
    ck_abort_msg("there is no case %s", name);
}

START_TEST(test_well_formed)
{
    char problem[HTML_PROBLEM];
    char *page = page_of(&html_cases[_i]);
    ck_assert_msg(html_check(page, problem), "%s: %s", html_cases[_i].name, problem);
    free(page);
}
END_TEST

START_TEST(test_charts)
{
    const struct html_case *one = &html_cases[_i];
    char *page = page_of(one);
    ck_assert_uint_eq(html_times(page, "<figure id=\"spectrum\">"), one->spectrum);
    ck_assert_uint_eq(html_times(page, "<figure id=\"latency\">"), one->time);
    ck_assert_uint_eq(html_times(page, "<figure id=\"heat\">"), one->heat);
    ck_assert_uint_eq(html_times(page, "role=\"img\""), html_times(page, "<desc id="));
    ck_assert_uint_eq(html_times(page, "<table"), html_times(page, "<caption"));
    char *script = strstr(page, "<script");
    if (script != NULL)
        *script = '\0'; /* what follows may have words of the library */
    ck_assert_uint_eq(html_times(page, "nan"), 0);
    ck_assert_uint_eq(html_times(page, "(nil)") + html_times(page, "(null)"), 0);
    free(page);
}
END_TEST

START_TEST(test_same_again)
{
    char *a = page_of(&html_cases[_i]), *b = page_of(&html_cases[_i]);
    ck_assert_str_eq(a, b);
    free(a);
    free(b);
}
END_TEST

/* Nothing of our own asks for anything; the library's licence may name its home. */
START_TEST(test_no_reference)
{
    static const char *const none[] = {"http", "url(", "@import", "src=", "href", "//"};
    char *page = page_of(case_named("nothing"));
    char *css = html_inside(page, "<style>", "</style>");
    ck_assert_ptr_nonnull(css);
    ck_assert_ptr_null(strstr(css, "url("));
    ck_assert_ptr_null(strstr(css, "@import"));
    ck_assert_ptr_null(strstr(css, "http"));
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        char *script = (char *)memmem(html_asset_script.bytes, html_asset_script.len, none[i],
                                      strlen(none[i]));
        ck_assert_msg(script == NULL, "the script has %s", none[i]);
    }
    ck_assert_ptr_nonnull(strstr(page, "default-src 'none'"));
    ck_assert_ptr_null(strstr(page, "unsafe"));
    free(css);
    free(page);
}
END_TEST

START_TEST(test_attack)
{
    char *page = page_of(case_named("attack"));
    ck_assert_ptr_null(strstr(page, "alert(1)</script>"));
    ck_assert_ptr_null(strstr(page, "<img"));
    ck_assert_uint_eq(html_times(page, "<script"), html_asset_uplot.len > 0 ? 2 : 0);
    ck_assert_uint_gt(html_times(page, "&lt;/script&gt;&lt;script&gt;alert(1)"), 8);
    for (const char *p = page; *p != '\0'; p++)
        ck_assert((unsigned char)*p >= 32 || *p == '\n');
    ck_assert_ptr_null(strstr(page, "\xe2\x80\xae"));
    /* Invalid UTF-8 would not get through here. */
    json_t *whole = json_string(page);
    ck_assert_ptr_nonnull(whole);
    json_decref(whole);
    free(page);
}
END_TEST

START_TEST(test_secrets)
{
    char *page = page_of(case_named("all"));
    ck_assert_ptr_null(strstr(page, "s3cret"));
    ck_assert_ptr_nonnull(strstr(page, "REDACTED"));
    free(page);
}
END_TEST

START_TEST(test_all_is_told)
{
    static const char *const texts[] = {"id=\"t-latency\"",
                                        "id=\"t-stages\"",
                                        "id=\"t-requests\"",
                                        "id=\"t-stalls\"",
                                        "id=\"t-losses\"",
                                        "id=\"t-ledger\"",
                                        "id=\"t-status\"",
                                        "id=\"t-errors\"",
                                        "id=\"t-agents\"",
                                        "id=\"t-options\"",
                                        "id=\"t-environment\"",
                                        "all due",
                                        "95 % interval",
                                        "Warm-up",
                                        "class=\"band stall",
                                        "class=\"band lost",
                                        "class=\"band stage",
                                        "nobody sent its share",
                                        ">login<",
                                        "connection reset by peer",
                                        "class=\"bad\""};
    char *page = page_of(case_named("all"));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        ck_assert_msg(strstr(page, texts[i]) != NULL, "%s is missing", texts[i]);
    free(page);
}
END_TEST

START_TEST(test_data)
{
    char *page = page_of(case_named("long"));
    char *data = html_inside(page, "<script type=\"application/json\" id=\"data\">", "</script>");
    if (html_asset_uplot.len == 0) {
        ck_assert_ptr_null(data);
        free(page);
        return;
    }
    json_t *o = json_loads(data, 0, NULL);
    ck_assert_ptr_nonnull(o);
    size_t n = json_array_size(json_object_get(json_object_get(o, "time"), "x"));
    ck_assert_uint_gt(n, 1500);
    ck_assert_uint_le(n, 2000);
    ck_assert_uint_lt(strlen(page), 700000);
    json_decref(o);
    free(data);
    free(page);
}
END_TEST

START_TEST(test_small)
{
    char *page = page_of(case_named("healthy"));
    ck_assert_uint_lt(strlen(page), 400000);
    free(page);
}
END_TEST

/* A stream that takes no more is an error, not a page that ends somewhere. */
START_TEST(test_full_disk)
{
    struct report_fixture f;
    struct report_options o = {.verbose = false};
    FILE *full = fopen("/dev/full", "w");
    ck_assert_ptr_nonnull(full);
    case_named("healthy")->build(&f);
    ck_assert_int_eq(report_html.write(f.r, &o, full), ERR_SYSTEM);
    fclose(full);
    html_case_free(&f);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("report_html");
    TCase *t = tcase_create("page");
    tcase_set_timeout(t, 30);
    tcase_add_loop_test(t, test_well_formed, 0, (int)html_cases_n);
    tcase_add_loop_test(t, test_charts, 0, (int)html_cases_n);
    tcase_add_loop_test(t, test_same_again, 0, (int)html_cases_n);
    tcase_add_test(t, test_no_reference);
    tcase_add_test(t, test_attack);
    tcase_add_test(t, test_secrets);
    tcase_add_test(t, test_all_is_told);
    tcase_add_test(t, test_data);
    tcase_add_test(t, test_small);
    tcase_add_test(t, test_full_disk);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
