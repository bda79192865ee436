/* SPDX-License-Identifier: MIT */
#include "controller/report/timeline.h"

#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

/* Rows of a second with 100 responses; what is not said is theirs. */
static struct result *rows_of(const uint64_t *p99_ms, size_t n, struct plan *plan)
{
    struct result *r = result_new(0);
    r->plan = plan;
    r->intervals = mem_calloc(n + 1, sizeof *r->intervals);
    r->n_intervals = n;
    for (size_t i = 0; i < n; i++) {
        uint64_t ns = p99_ms[i] * NS_PER_MS;
        r->intervals[i] = (struct result_interval){.from_ns = i * NS_PER_SEC,
                                                   .to_ns = (i + 1) * NS_PER_SEC,
                                                   .completed = ns > 0 ? 100 : 0,
                                                   .slots = 1};
        r->intervals[i].corrected = (struct result_latency){.count = ns > 0 ? 100 : 0, .p99 = ns};
    }
    return r;
}

START_TEST(a_column_for_each_row)
{
    struct plan plan = {.rate = {100, 1}};
    struct result *r = rows_of((const uint64_t[]){1, 10, 100, 0, 1}, 5, &plan);
    char text[TIMELINE_TEXT];
    struct timeline t = timeline_of(r);
    ck_assert_uint_eq(t.n, 5);
    ck_assert_uint_eq(t.per, 1);
    ck_assert_uint_eq(t.worst, 2);
    ck_assert_uint_eq(t.p99_min, NS_PER_MS);
    ck_assert_uint_eq(t.p99_max, 100 * NS_PER_MS);
    ck_assert_double_eq(t.rate_min, 0);
    ck_assert_double_eq(t.rate_max, 100);
    ck_assert_str_eq(timeline_p99(&t, false, text), "_+# _");
    ck_assert_str_eq(timeline_rate(&t, false, text), "###_#");
    ck_assert_str_eq(timeline_p99(&t, true, text), "▁▅█ ▁");
    result_free(r);
}
END_TEST

/* However many rows: no more columns than there is room for, and nothing slow is lost. */
START_TEST(the_worst_of_a_column_is_shown)
{
    uint64_t rng = check_seed(), p99[1000];
    struct plan plan = {.rate = {100, 1}};
    for (size_t n = 1; n <= 1000; n += 1 + check_below(&rng, 40)) {
        size_t slow = check_below(&rng, n), rows = 0;
        for (size_t i = 0; i < n; i++)
            p99[i] = i == slow ? 1000 : 1;
        struct result *r = rows_of(p99, n, &plan);
        char text[TIMELINE_TEXT];
        struct timeline t = timeline_of(r);
        ck_assert_uint_le(t.n, TIMELINE_COLUMNS);
        for (size_t i = 0; i < t.n; i++) {
            ck_assert_uint_eq(t.cells[i].first, rows);
            rows += t.cells[i].n;
        }
        ck_assert_uint_eq(rows, n);
        ck_assert_uint_eq(t.worst, slow);
        timeline_p99(&t, false, text);
        ck_assert_uint_eq(strlen(text), t.n);
        ck_assert_int_eq(text[slow / t.per], n == 1 ? '_' : '#');
        ck_assert_uint_lt(strlen(timeline_p99(&t, true, text)), TIMELINE_TEXT);
        result_free(r);
    }
}
END_TEST

START_TEST(what_is_not_whole_is_left_out)
{
    struct plan plan = {.rate = {100, 1}, .warmup_ns = 1500 * NS_PER_MS};
    struct result *r = rows_of((const uint64_t[]){9, 9, 1, 1, 1, 9}, 6, &plan);
    r->intervals[5].to_ns = r->intervals[5].from_ns + 300 * NS_PER_US;
    struct timeline t = timeline_of(r);
    ck_assert_uint_eq(t.first, 2);
    ck_assert_uint_eq(t.rows, 3);
    ck_assert_uint_eq(t.from_ns, 2 * NS_PER_SEC);
    ck_assert_uint_eq(t.to_ns, 5 * NS_PER_SEC);
    ck_assert_uint_eq(t.p99_max, NS_PER_MS);
    ck_assert_double_eq(t.rate_max, 100);
    result_free(r);
    r = rows_of(NULL, 0, &plan);
    ck_assert_uint_eq(timeline_of(r).rows, 0);
    result_free(r);
}
END_TEST

START_TEST(stages_begin_where_they_begin)
{
    struct plan plan = {.rate = {100, 1}, .n_stages = 4};
    static const uint64_t seconds[] = {3, 1, 1, 5};
    for (size_t i = 0; i < 4; i++)
        plan.stages[i].duration_ns = seconds[i] * NS_PER_SEC;
    struct result *r = rows_of((const uint64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 10, &plan);
    struct timeline t = timeline_of(r);
    char text[TIMELINE_TEXT];
    ck_assert_str_eq(timeline_p99(&t, false, text), "__________");
    ck_assert_str_eq(timeline_stages(&t, &plan, text), "1  2 4");
    plan.n_stages = 0;
    ck_assert_str_eq(timeline_stages(&t, &plan, text), "");
    result_free(r);
}
END_TEST

START_TEST(a_stall_is_in_the_rows_it_touches)
{
    struct plan plan = {.rate = {100, 1}};
    struct result *r = rows_of((const uint64_t[]){1, 1, 1, 1}, 4, &plan);
    r->stalls = mem_calloc(1, sizeof *r->stalls);
    r->stalls[0] = (struct stall){.begin_ns = 1500 * NS_PER_MS, .length_ns = NS_PER_SEC};
    r->n_stalls = 1;
    static const bool in[] = {false, true, true, false};
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(timeline_stalled(r, &r->intervals[i]), in[i]);
    ck_assert_uint_eq(timeline_rounded(11999500000), 12 * NS_PER_SEC);
    ck_assert_uint_eq(timeline_rounded(300000), 300000);
    result_free(r);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("timeline");
    TCase *t = tcase_create("timeline");
    tcase_add_test(t, a_column_for_each_row);
    tcase_add_test(t, the_worst_of_a_column_is_shown);
    tcase_add_test(t, what_is_not_whole_is_left_out);
    tcase_add_test(t, stages_begin_where_they_begin);
    tcase_add_test(t, a_stall_is_in_the_rows_it_touches);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
