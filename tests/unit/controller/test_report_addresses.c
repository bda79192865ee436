/* SPDX-License-Identifier: MIT */
/* Where connections went: in JSON always, in the text where there is something to tell. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/report_fixture.h"

static struct report_fixture f;

static void set_up(void)
{
    report_fixture(&f, 3000, 0);
}

static void tear_down(void)
{
    result_free(f.r);
}

static bool says(bool spectrum, const char *want)
{
    char *text = report_render(&report_text, f.r, false, spectrum);
    bool found = strstr(text, want) != NULL;
    free(text);
    return found;
}

static void add(const char *address, uint64_t count)
{
    snapshot_add_address(f.r->total, address, count);
}

START_TEST(test_text)
{
    char address[32];
    report_fixture_finish(&f);
    ck_assert(!says(false, "Addresses") && !says(true, "Addresses"));
    add("192.0.2.7:80", 20);
    ck_assert(!says(false, "Addresses"));
    ck_assert(says(true, "  Addresses         192.0.2.7:80: 20 (connections opened)\n"));
    add("[2001:db8::1]:80", 30);
    ck_assert(says(false, "192.0.2.7:80: 20, [2001:db8::1]:80: 30 (connections"));
    for (int i = 10; i < 20; i++) {
        snprintf(address, sizeof address, "192.0.2.%d:80", i);
        add(address, 1);
    }
    ck_assert(says(false, "and 4 more"));
}
END_TEST

START_TEST(test_json)
{
    report_fixture_finish(&f);
    add("192.0.2.7:80", 20);
    add("unix:/run/x.sock", 3);
    char *text = report_render(&report_json, f.r, false, false);
    json_t *o = json_loads(text, 0, NULL);
    json_t *a = json_object_get(o, "addresses");
    ck_assert_uint_eq(json_object_size(a), 2);
    ck_assert_int_eq(json_integer_value(json_object_get(a, "192.0.2.7:80")), 20);
    ck_assert_int_eq(json_integer_value(json_object_get(a, "unix:/run/x.sock")), 3);
    json_decref(o);
    free(text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("report_addresses");
    TCase *t = tcase_create("report_addresses");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, test_text);
    tcase_add_test(t, test_json);
    suite_add_tcase(s, t);
    return check_main(s);
}
