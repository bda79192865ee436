/* SPDX-License-Identifier: MIT */
#include "controller/run/blocks.h"

#include "common/clock.h"
#include "tests/lib/check_main.h"

#define ROUNDS   40
#define ROWS_MAX 700

/* Every sample and count that was put in. */
struct sums {
    struct hist *hists[2];
    uint64_t sent, completed, errors, from_ns, to_ns;
};

static void add_row(struct blocks *b, uint64_t *rng, struct sums *sum, struct result_interval *row)
{
    struct hist *h[2] = {hist_new_default(), hist_new_default()};
    uint64_t n = check_below(rng, 20);
    for (uint64_t i = 0; i < n; i++)
        for (int c = 0; c < 2; c++)
            hist_record(h[c], check_random(rng) >> (24 + check_below(rng, 40)), 1);
    row->sent = n + 1;
    row->completed = n;
    row->errors = check_below(rng, 2);
    bool nothing = n == 0 && check_below(rng, 2) == 0;
    struct merge_view v = {.row = row,
                           .corrected = nothing ? NULL : h[BLOCKS_CORRECTED],
                           .uncorrected = nothing ? NULL : h[BLOCKS_UNCORRECTED]};
    blocks_add(b, &v);
    for (int c = 0; c < 2; c++) {
        ck_assert_int_eq(hist_add(sum->hists[c], h[c]), ERR_OK);
        hist_free(h[c]);
    }
    sum->sent += row->sent;
    sum->completed += row->completed;
    sum->errors += row->errors;
    sum->to_ns = row->to_ns;
}

/* Every row has grid places of its own, now and then several. */
static size_t fill(struct blocks *b, uint64_t *rng, struct sums *sum, uint64_t interval_ns)
{
    size_t rows = 1 + check_below(rng, ROWS_MAX), slot = check_below(rng, 5);
    sum->from_ns = slot * interval_ns;
    for (size_t i = 0; i < rows; i++) {
        size_t covers = check_below(rng, 10) == 0 ? 1 + check_below(rng, 4) : 1;
        struct result_interval row = {.from_ns = slot * interval_ns,
                                      .to_ns = (slot + covers) * interval_ns,
                                      .slots = (uint32_t)covers};
        add_row(b, rng, sum, &row);
        slot += covers;
    }
    return rows;
}

static void same_sums(const struct blocks *b, const struct sums *sum)
{
    struct hist *all[2] = {hist_new_default(), hist_new_default()};
    struct block total = {0};
    for (size_t i = 0; i < blocks_n(b); i++) {
        struct block one = blocks_at(b, i);
        total.sent += one.sent;
        total.completed += one.completed;
        total.errors += one.errors;
        for (int c = 0; c < 2; c++) {
            struct hist *h = blocks_hist(b, i, (enum blocks_clock)c);
            ck_assert_int_eq(hist_add(all[c], h), ERR_OK);
            hist_free(h);
        }
    }
    ck_assert_uint_eq(total.sent, sum->sent);
    ck_assert_uint_eq(total.completed, sum->completed);
    ck_assert_uint_eq(total.errors, sum->errors);
    for (int c = 0; c < 2; c++) {
        ck_assert(hist_equal(all[c], sum->hists[c]));
        hist_free(all[c]);
    }
}

/* One after the other, without a gap, and but for the last as long as is said. */
static void in_order(const struct blocks *b, const struct sums *sum)
{
    uint64_t at = sum->from_ns;
    for (size_t i = 0; i < blocks_n(b); i++) {
        struct block one = blocks_at(b, i);
        ck_assert_uint_eq(one.from_ns, at);
        ck_assert_uint_gt(one.to_ns, at);
        if (i + 1 < blocks_n(b))
            ck_assert_uint_ge(one.to_ns - one.from_ns, blocks_length_ns(b));
        at = one.to_ns;
    }
    ck_assert_uint_eq(at, sum->to_ns);
}

START_TEST(blocks_hold_what_the_rows_held)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < ROUNDS; round++) {
        struct sums sum = {.hists = {hist_new_default(), hist_new_default()}};
        struct blocks *b = blocks_new();
        size_t rows = fill(b, &rng, &sum, round % 2 ? NS_PER_SEC : 100 * NS_PER_MS);
        ck_assert_uint_le(blocks_n(b), BLOCKS_MAX);
        ck_assert_uint_ge(blocks_n(b), rows < BLOCKS_MAX / 4 ? 1 : BLOCKS_MAX / 4);
        same_sums(b, &sum);
        in_order(b, &sum);
        blocks_free(b);
        hist_free(sum.hists[0]);
        hist_free(sum.hists[1]);
    }
}
END_TEST

static void add_plain(struct blocks *b, size_t slot, uint64_t sent)
{
    struct result_interval row = {
        .from_ns = slot * NS_PER_SEC, .to_ns = (slot + 1) * NS_PER_SEC, .sent = sent, .slots = 1};
    struct merge_view v = {.row = &row};
    blocks_add(b, &v);
}

START_TEST(a_long_run_has_as_many_blocks_as_a_short_one)
{
    struct blocks *b = blocks_new();
    for (size_t i = 0; i < 100000; i++)
        add_plain(b, i, 1);
    ck_assert_uint_ge(blocks_n(b), BLOCKS_MAX / 2);
    ck_assert_uint_le(blocks_n(b), BLOCKS_MAX);
    ck_assert_uint_eq(blocks_length_ns(b), 2048 * NS_PER_SEC);
    ck_assert_uint_eq(blocks_at(b, 0).sent, 2048);
    blocks_free(b);
}
END_TEST

START_TEST(up_to_the_limit_every_row_is_a_block)
{
    struct blocks *b = blocks_new();
    for (size_t i = 0; i < BLOCKS_MAX; i++)
        add_plain(b, i, i + 1);
    ck_assert_uint_eq(blocks_n(b), BLOCKS_MAX);
    for (size_t i = 0; i < BLOCKS_MAX; i++)
        ck_assert_uint_eq(blocks_at(b, i).sent, i + 1);
    add_plain(b, BLOCKS_MAX, 7);
    ck_assert_uint_eq(blocks_n(b), BLOCKS_MAX / 2 + 1);
    ck_assert_uint_eq(blocks_at(b, 0).sent, 3);
    ck_assert_uint_eq(blocks_at(b, BLOCKS_MAX / 2).sent, 7);
    blocks_free(b);
}
END_TEST

START_TEST(a_warmup_is_no_block_but_a_server_that_is_silent_is)
{
    struct blocks *b = blocks_new();
    ck_assert_uint_eq(blocks_length_ns(b), 0);
    for (size_t i = 0; i < 5; i++)
        add_plain(b, i, 0);
    ck_assert_uint_eq(blocks_n(b), 0);
    add_plain(b, 5, 10);
    add_plain(b, 6, 0);
    add_plain(b, 7, 0);
    ck_assert_uint_eq(blocks_n(b), 3);
    ck_assert_uint_eq(blocks_at(b, 0).from_ns, 5 * NS_PER_SEC);
    struct hist *h = blocks_hist(b, 1, BLOCKS_CORRECTED);
    ck_assert_uint_eq(hist_count(h), 0);
    hist_free(h);
    blocks_free(b);
    blocks_free(NULL);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("blocks");
    TCase *t = tcase_create("blocks");
    tcase_add_test(t, blocks_hold_what_the_rows_held);
    tcase_add_test(t, a_long_run_has_as_many_blocks_as_a_short_one);
    tcase_add_test(t, up_to_the_limit_every_row_is_a_block);
    tcase_add_test(t, a_warmup_is_no_block_but_a_server_that_is_silent_is);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
