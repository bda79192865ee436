/* SPDX-License-Identifier: MIT */
#include "proto/snapshot.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/random_snapshot.h"

static void add(struct snapshot *into, const struct snapshot *from, bool same_agent)
{
    ck_assert_int_eq(snapshot_add(into, from, same_agent), ERR_OK);
}

/* --- adding ---------------------------------------------------------------------------------- */

START_TEST(test_adding_is_commutative_and_associative)
{
    uint64_t rng = check_seed();
    for (int turn = 0; turn < 60; turn++) {
        bool same_agent = turn & 1;
        struct snapshot *part[3], *sum[3];
        for (size_t i = 0; i < 3; i++)
            part[i] = random_snapshot(&rng);
        sum[0] = snapshot_copy(part[0]); /* (a + b) + c */
        add(sum[0], part[1], same_agent);
        add(sum[0], part[2], same_agent);
        struct snapshot *pair = snapshot_copy(part[1]); /* a + (b + c) */
        add(pair, part[2], same_agent);
        sum[1] = snapshot_copy(part[0]);
        add(sum[1], pair, same_agent);
        sum[2] = snapshot_new(); /* nothing + c + b + a */
        for (size_t i = 3; i-- > 0;)
            add(sum[2], part[i], same_agent);
        assert_same_snapshot(sum[0], sum[1]);
        assert_same_snapshot(sum[0], sum[2]);
        snapshot_free(pair);
        for (size_t i = 0; i < 3; i++) {
            snapshot_free(part[i]);
            snapshot_free(sum[i]);
        }
    }
}
END_TEST

/* What is split off and what is left are the whole, and neither has of the other. */
START_TEST(test_the_warmup_is_split_off)
{
    uint64_t rng = check_seed();
    size_t with = 0;
    for (int turn = 0; turn < 60; turn++) {
        struct snapshot *s = random_snapshot(&rng), *whole = snapshot_copy(s);
        struct snapshot *warmup = snapshot_split_warmup(s);
        for (size_t i = 0; i < s->n_series; i++)
            ck_assert_uint_ne(s->series[i].stage, SERIES_STAGE_WARMUP);
        for (size_t i = 0; warmup != NULL && i < warmup->n_series; i++)
            ck_assert_uint_eq(warmup->series[i].stage, SERIES_STAGE_WARMUP);
        ck_assert_ptr_null(snapshot_split_warmup(s));
        with += warmup != NULL;
        if (warmup != NULL)
            add(s, warmup, true);
        assert_same_data(s, whole);
        snapshot_free(s);
        snapshot_free(whole);
        snapshot_free(warmup);
    }
    ck_assert_uint_gt(with, 0);
}
END_TEST

START_TEST(test_the_earliest_response_stands)
{
    struct snapshot *a = snapshot_new(), *b = snapshot_new();
    snapshot_note_first(a, 0, 7, "nobody");
    ck_assert(a->first_ns == 0 && a->server[0] == '\0');
    snapshot_note_first(a, 50, 612, "nginx/1.22.1\x1b[2J");
    snapshot_note_first(a, 60, 1, "apache");
    ck_assert_str_eq(a->server, "nginx/1.22.1?[2J");
    snapshot_note_first(b, 40, 5, "");
    add(a, b, false);
    ck_assert(a->first_ns == 40 && a->document_bytes == 5 && a->server[0] == '\0');
    snapshot_free(a);
    snapshot_free(b);
}
END_TEST

START_TEST(test_totals_are_the_sum_over_series)
{
    uint64_t rng = check_seed();
    for (int turn = 0; turn < 50; turn++) {
        struct snapshot *s = random_snapshot(&rng);
        struct counters total = snapshot_counters(s);
        for (size_t i = 0; i < COUNTERS_N; i++) {
            uint64_t n = 0;
            for (size_t k = 0; k < s->n_series; k++)
                n += counters_get(&s->series[k].counters, i);
            ck_assert_uint_eq(counters_get(&total, i), n);
        }
        for (unsigned k = 0; k < HIST_KINDS; k++) {
            uint64_t n = 0;
            for (size_t i = 0; i < s->n_series; i++)
                n += s->series[i].hists[k] == NULL ? 0 : hist_count(s->series[i].hists[k]);
            struct hist *h = snapshot_hist(s, (enum hist_kind)k);
            ck_assert_uint_eq(hist_count(h), n);
            hist_free(h);
        }
        snapshot_free(s);
    }
}
END_TEST

START_TEST(test_gauges_bounds_and_identity)
{
    struct snapshot *a = snapshot_new(), *b = snapshot_new();
    *a = (struct snapshot){.seq = 7,
                           .from_ns = 100,
                           .to_ns = 200,
                           .intervals = 1,
                           .backlog = 5,
                           .in_flight = 3,
                           .cpu_ns = 10,
                           .cpu_busy_ppm = 400,
                           .spin_ns = 4,
                           .context_switches = 60,
                           .preemptions = 7,
                           .censored_age_ns = 9};
    *b = (struct snapshot){.seq = 8,
                           .from_ns = 200,
                           .to_ns = 300,
                           .intervals = 2,
                           .backlog = 2,
                           .in_flight = 1,
                           .cpu_ns = 20,
                           .cpu_busy_ppm = 300,
                           .spin_ns = 1,
                           .context_switches = 10,
                           .preemptions = 1,
                           .censored_age_ns = 8};
    struct snapshot *same = snapshot_copy(a), *other = snapshot_copy(a);
    add(same, b, true);
    ck_assert_uint_eq(same->backlog, 2); /* the later one's */
    ck_assert_uint_eq(same->in_flight, 1);
    ck_assert_uint_eq(same->seq, 7);
    ck_assert(same->from_ns == 100 && same->to_ns == 300 && same->intervals == 3);
    ck_assert(same->cpu_ns == 30 && same->cpu_busy_ppm == 400 && same->censored_age_ns == 9);
    ck_assert(same->spin_ns == 5 && same->context_switches == 70 && same->preemptions == 8);
    add(other, b, false);
    ck_assert_uint_eq(other->backlog, 7); /* agents add up */
    ck_assert_uint_eq(other->in_flight, 4);
    struct snapshot *empty = snapshot_new();
    add(empty, a, true);
    assert_same_snapshot(empty, a); /* a fresh one does not pull the start to 0 */
    struct snapshot *nothing = snapshot_new();
    add(a, nothing, true);
    assert_same_snapshot(empty, a);
    struct snapshot *all[] = {a, b, same, other, empty, nothing};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        snapshot_free(all[i]);
}
END_TEST

START_TEST(test_series_are_sorted_and_bounded)
{
    struct snapshot *s = snapshot_new(), *one_more = snapshot_new();
    for (uint32_t i = 0; i < SNAPSHOT_SERIES_MAX; i++)
        ck_assert_ptr_nonnull(snapshot_series(s, (i * 37) % SNAPSHOT_SERIES_MAX, "x"));
    for (uint32_t i = 0; i < SNAPSHOT_SERIES_MAX; i++)
        ck_assert_uint_eq(s->series[i].stage, i);
    ck_assert_ptr_null(snapshot_series(s, 1, "y"));
    ck_assert_ptr_eq(snapshot_series(s, 5, "x"), &s->series[5]);
    struct series *y = snapshot_series(one_more, 1, "y");
    y->counters.ok = 1;
    snapshot_series(one_more, 1, "x")->counters.ok = 1;
    ck_assert_int_eq(snapshot_add(s, one_more, true), ERR_NOMEM);
    ck_assert_uint_eq(s->series[1].counters.ok, 0); /* untouched */
    char longer[200];
    memset(longer, 'n', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    struct series *cut = snapshot_series(one_more, 9, longer);
    ck_assert_uint_eq(strlen(cut->name), sizeof cut->name - 1);
    ck_assert_ptr_eq(snapshot_series(one_more, 9, longer), cut);
    snapshot_free(s);
    snapshot_free(one_more);
    snapshot_free(NULL);
}
END_TEST

START_TEST(test_sums_that_would_overflow_are_refused)
{
    struct snapshot *a = snapshot_new(), *b = snapshot_new();
    snapshot_series(a, 0, "")->counters.sent = SNAPSHOT_COUNT_MAX;
    snapshot_series(b, 0, "")->counters.ok = 5;
    snapshot_series(b, 0, "")->counters.sent = 1;
    ck_assert_int_eq(snapshot_add(a, b, true), ERR_RANGE);
    ck_assert_uint_eq(a->series[0].counters.ok, 0); /* untouched */
    b->series[0].counters.sent = 0;
    b->status[200] = UINT64_MAX;
    ck_assert_int_eq(snapshot_add(a, b, true), ERR_RANGE);
    b->status[200] = 0;
    b->intervals = UINT32_MAX;
    a->intervals = 1;
    ck_assert_int_eq(snapshot_add(a, b, true), ERR_RANGE);
    b->intervals = 1;
    hist_record(series_hist(&a->series[0], HIST_WAIT), 5, SNAPSHOT_COUNT_MAX);
    hist_record(series_hist(&b->series[0], HIST_WAIT), 5, 1);
    ck_assert_int_eq(snapshot_add(a, b, true), ERR_RANGE);
    ck_assert_uint_eq(a->series[0].counters.ok, 0);
    snapshot_free(a);
    snapshot_free(b);
}
END_TEST

START_TEST(test_error_texts_are_clean_and_bounded)
{
    struct snapshot *s = snapshot_new();
    snapshot_add_error(s, "bad \x1b[31m", 2);
    snapshot_add_error(s, "bad ?[31m", 3);
    snapshot_add_error(s, "never", 0);
    ck_assert_uint_eq(s->n_errors, 1);
    ck_assert_str_eq(s->errors[0].text, "bad ?[31m");
    ck_assert_uint_eq(s->errors[0].count, 5);
    for (int i = 0; i < 100; i++) {
        char text[16];
        snprintf(text, sizeof text, "c%02d", 99 - i);
        snapshot_add_error(s, text, 1);
    }
    ck_assert_uint_eq(s->n_errors, SNAPSHOT_ERRORS_MAX);
    ck_assert_uint_eq(s->errors_other, 101 - SNAPSHOT_ERRORS_MAX);
    ck_assert_str_eq(s->errors[0].text, "bad ?[31m");
    ck_assert_str_eq(s->errors[SNAPSHOT_ERRORS_MAX - 1].text, "c30");
    snapshot_free(s);
}
END_TEST

/* --- comparing ------------------------------------------------------------------------------- */

static void assert_names(const struct snapshot *a, const struct snapshot *b, const char *what)
{
    struct errmsg msg = {""};
    ck_assert(!snapshot_same_data(a, b, &msg));
    ck_assert_msg(strstr(msg.text, what) != NULL, "'%s' does not say '%s'", msg.text, what);
    ck_assert(!snapshot_same_data(b, a, NULL));
}

START_TEST(test_the_first_difference_is_named)
{
    struct snapshot *a = snapshot_new();
    struct series *one = snapshot_series(a, 2, "cart");
    one->counters.ok = 10;
    hist_record(series_hist(one, HIST_SEND_LAG), 1000, 3);
    snapshot_add_error(a, "read: reset", 4);
    a->status[404] = 4;
    struct snapshot *b = snapshot_copy(a);
    assert_same_data(a, b);

    snapshot_series(b, 0, "empty"); /* nothing in it: the same as missing */
    (void)series_hist(&b->series[1], HIST_WAIT);
    b->backlog = 77;
    assert_same_data(a, b);
    assert_same_data(b, a);

    b->series[1].counters.ok = 9;
    assert_names(a, b, "stage 2 cart: ok: 10 against 9");
    b->series[1].counters.ok = 10;
    b->series[0].counters.late = 1;
    assert_names(a, b, "stage 0 empty: late: 0 against 1");
    b->series[0].counters.late = 0;
    hist_record(b->series[1].hists[HIST_SEND_LAG], 1000, 1);
    assert_names(a, b, "samples of send: 3 against 4");
    hist_record(a->series[0].hists[HIST_SEND_LAG], 1500, 1);
    assert_names(a, b, "send histogram, bucket from 1000 ns: 3 against 4");
    hist_record(b->series[1].hists[HIST_SEND_LAG], 1500, 1);
    hist_record(a->series[0].hists[HIST_SEND_LAG], 1000, 1);
    b->status[404] = 5;
    assert_names(a, b, "status 404: 4 against 5");
    b->status[404] = 4;
    snapshot_add_error(b, "connect: refused", 1);
    assert_names(a, b, "error connect: refused: 0 against 1");
    snapshot_add_error(a, "connect: refused", 1);
    a->errors_other = 2;
    assert_names(a, b, "other errors: 2 against 0");
    b->errors_other = 2;
    assert_same_data(a, b);
    snapshot_free(a);
    snapshot_free(b);
}
END_TEST

START_TEST(test_exact_figures_are_compared)
{
    struct snapshot *a = snapshot_new(), *b = snapshot_new();
    struct hist *x = series_hist(snapshot_series(a, 0, ""), HIST_WAIT);
    struct hist *y = series_hist(snapshot_series(b, 0, ""), HIST_WAIT);
    hist_record(x, 5000000, 1); /* one bucket holds all of these */
    hist_record(x, 5000004, 2);
    hist_record(y, 5000000, 2);
    hist_record(y, 5000004, 1);
    assert_names(a, b, "sum of wait");
    hist_record(x, 5000000, 1);
    hist_record(y, 5000005, 1);
    assert_names(a, b, "maximum of wait: 5000004 against 5000005");
    hist_reset(x);
    hist_reset(y);
    hist_record(x, HIST_HIGHEST, 1);
    hist_record(y, HIST_HIGHEST + 1, 1);
    assert_names(a, b, "saturated values of wait: 0 against 1");
    snapshot_free(a);
    snapshot_free(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("snapshot");
    TCase *t = tcase_create("snapshot");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_adding_is_commutative_and_associative);
    tcase_add_test(t, test_the_warmup_is_split_off);
    tcase_add_test(t, test_the_earliest_response_stands);
    tcase_add_test(t, test_totals_are_the_sum_over_series);
    tcase_add_test(t, test_gauges_bounds_and_identity);
    tcase_add_test(t, test_series_are_sorted_and_bounded);
    tcase_add_test(t, test_sums_that_would_overflow_are_refused);
    tcase_add_test(t, test_error_texts_are_clean_and_bounded);
    tcase_add_test(t, test_the_first_difference_is_named);
    tcase_add_test(t, test_exact_figures_are_compared);
    suite_add_tcase(s, t);
    return check_main(s);
}
