/* SPDX-License-Identifier: MIT */
#include "controller/report/slices.h"

#include <string.h>

#include "common/clock.h"
#include "controller/report/figures.h"
#include "tests/lib/check_main.h"
#include "tests/lib/random_snapshot.h"
#include "tests/lib/report_fixture.h"

static void check_sum(const struct snapshot *s, const struct slices *all)
{
    struct counters sum = {0}, whole = snapshot_counters(s);
    struct hist *corrected = hist_new_default(), *uncorrected = hist_new_default();
    for (size_t i = 0; i < all->n; i++) {
        counters_add(&sum, &all->items[i].c);
        ck_assert_int_eq(hist_add(corrected, all->items[i].corrected), ERR_OK);
        ck_assert_int_eq(hist_add(uncorrected, all->items[i].uncorrected), ERR_OK);
    }
    struct hist *a = snapshot_hist(s, HIST_CORRECTED), *b = snapshot_hist(s, HIST_UNCORRECTED);
    ck_assert(counters_equal(&sum, &whole));
    ck_assert(hist_equal(a, corrected) && hist_equal(b, uncorrected));
    hist_free(a);
    hist_free(b);
    hist_free(corrected);
    hist_free(uncorrected);
}

/* Whatever the series are, each is in one slice. */
START_TEST(test_slices_add_up_to_the_whole)
{
    static const enum slice_by ways[] = {SLICE_STAGE, SLICE_NAME, SLICE_BOTH};
    uint64_t rng = check_seed();
    for (int turn = 0; turn < 60; turn++) {
        struct report_fixture f;
        report_fixture(&f, 60, 0);
        snapshot_free(f.r->total);
        f.r->total = random_snapshot(&rng);
        for (int more = 0; more < 3; more++) {
            struct snapshot *s = random_snapshot(&rng);
            ck_assert_int_eq(snapshot_add(f.r->total, s, true), ERR_OK);
            snapshot_free(s);
        }
        f.r->warmup = snapshot_split_warmup(f.r->total);
        for (size_t w = 0; w < 3; w++) {
            struct slices all = slices_of(f.r, f.r->total, ways[w]);
            check_sum(f.r->total, &all);
            for (size_t i = 1; i < all.n; i++)
                ck_assert(all.items[i - 1].stage != all.items[i].stage ||
                          strcmp(all.items[i - 1].name, all.items[i].name) != 0);
            slices_clear(&all);
        }
        result_free(f.r);
    }
}
END_TEST

/* Exactly the percentiles of the requests of that name, wherever they were sent. */
START_TEST(test_figures_are_those_of_the_name)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    report_fixture_series(&f);
    report_fixture_finish(&f);
    struct slices all = slices_of(f.r, f.r->total, SLICE_NAME);
    ck_assert_uint_eq(all.n, 3);
    ck_assert_str_eq(all.items[0].name, "login"); /* the plan's order */
    ck_assert_str_eq(all.items[1].name, "cart");
    ck_assert_str_eq(all.items[2].name, "");
    struct hist *want = hist_new_default();
    for (uint64_t i = 0; i < 1500; i++)
        if (i % 6 == 1 || i % 6 == 4)
            hist_record(want, 170000 + (i * 7919) % 120000, 2);
    ck_assert(hist_equal(all.items[1].corrected, want));
    ck_assert_uint_eq(all.items[1].c.completed, 1000);
    ck_assert_double_eq_tol(all.items[1].target, 1000 / 6.0004, 1e-6);
    hist_free(want);
    slices_clear(&all);
    result_free(f.r);
}
END_TEST

/* By the plan and over the stage's own time; a stage that never came has no rate. */
START_TEST(test_rates_of_stages)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    report_fixture_series(&f);
    report_fixture_finish(&f);
    struct slices all = slices_of(f.r, f.r->total, SLICE_STAGE);
    ck_assert_uint_eq(all.n, 2);
    ck_assert_double_eq_tol(all.items[0].target, 300, 1e-9);
    ck_assert_double_eq_tol(all.items[0].achieved, 300, 1e-9);
    ck_assert_double_eq_tol(all.items[1].target, 600, 1e-9);
    ck_assert_double_eq_tol(all.items[1].achieved, 600, 1e-9);
    slices_clear(&all);
    f.r->interrupted = true; /* after the first second */
    f.r->end_ns = f.r->duration_ns = NS_PER_SEC;
    all = slices_of(f.r, f.r->total, SLICE_STAGE);
    ck_assert_uint_eq(all.items[0].ns, NS_PER_SEC);
    ck_assert_double_eq_tol(all.items[0].target, 300, 1e-9);
    ck_assert_uint_eq(all.items[1].ns, 0);
    ck_assert_double_eq_tol(all.items[1].target, 0, 1e-9);
    slices_clear(&all);
    result_free(f.r);
}
END_TEST

START_TEST(test_one_request_has_no_slices)
{
    struct report_fixture f;
    report_fixture(&f, 60, 0);
    report_fixture_finish(&f);
    ck_assert(!slices_any(f.r, SLICE_STAGE) && !slices_any(f.r, SLICE_NAME));
    ck_assert(!slices_any(f.r, SLICE_BOTH));
    result_free(f.r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("slices");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_test(t, test_slices_add_up_to_the_whole);
    tcase_add_test(t, test_figures_are_those_of_the_name);
    tcase_add_test(t, test_rates_of_stages);
    tcase_add_test(t, test_one_request_has_no_slices);
    return check_main(s);
}
