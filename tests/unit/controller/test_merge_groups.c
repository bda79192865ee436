/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "common/clock.h"
#include "controller/run/blocks.h"
#include "controller/run/merge.h"
#include "tests/lib/check_main.h"

#define AGENTS    3
#define SLOTS_MAX 40
#define ROUNDS    20
#define INTERVAL  NS_PER_SEC

/* What a run was made of: every sample after the warm-up, by both clocks. */
struct sums {
    struct hist *corrected, *uncorrected;
};

static void fill(struct snapshot *s, uint64_t *rng, struct sums *sum)
{
    uint64_t n = check_below(rng, 60), warm = check_below(rng, 5);
    struct series *series = snapshot_series(s, 0, "");
    for (uint64_t i = 0; i < n; i++) {
        uint64_t v = check_random(rng) >> (24 + check_below(rng, 40));
        hist_record(series_hist(series, HIST_CORRECTED), v + 1, 1);
        hist_record(series_hist(series, HIST_UNCORRECTED), v, 1);
        hist_record(sum->corrected, v + 1, 1);
        hist_record(sum->uncorrected, v, 1);
    }
    series->counters = (struct counters){
        .scheduled = n + 1, .sent = n + 1, .completed = n, .ok = n, .timeouts = 1};
    series = snapshot_series(s, SERIES_STAGE_WARMUP, "");
    hist_record(series_hist(series, HIST_CORRECTED), NS_PER_MS, warm);
    hist_record(series_hist(series, HIST_UNCORRECTED), NS_PER_MS, warm);
    series->counters =
        (struct counters){.scheduled = warm, .sent = warm, .completed = warm, .ok = warm};
}

/* One agent after the other, now and then several intervals at once. */
static struct result *run(uint64_t *rng, uint64_t every_ns, struct sums *sum)
{
    struct merge *m = merge_new(AGENTS, INTERVAL);
    struct errmsg msg = {{0}};
    size_t slots = 1 + check_below(rng, SLOTS_MAX);
    *sum = (struct sums){hist_new_default(), hist_new_default()};
    merge_every(m, every_ns);
    for (size_t a = 0; a < AGENTS; a++) {
        uint64_t seq = 0;
        for (size_t at = 0, n; at < slots; at += n) {
            n = check_below(rng, 5) == 0 ? 1 + check_below(rng, slots - at) % 4 : 1;
            n = at + n > slots ? slots - at : n;
            struct snapshot *s = snapshot_new();
            s->seq = ++seq;
            s->intervals = (uint32_t)n;
            s->from_ns = at * INTERVAL;
            s->to_ns = (at + n) * INTERVAL;
            fill(s, rng, sum);
            ck_assert_msg(merge_add(m, a, s, &msg) == ERR_OK, "%s", msg.text);
            snapshot_free(s);
        }
    }
    struct result *r = result_new(AGENTS);
    merge_finish(m, r);
    merge_free(m);
    return r;
}

static void clear(struct result *r, struct sums *sum)
{
    hist_free(sum->corrected);
    hist_free(sum->uncorrected);
    result_free(r);
}

/* The rows that begin in a group, and no others, are what it holds. */
static void check_group(const struct result *r, const struct result_interval *g, size_t *at)
{
    uint64_t sent = 0, completed = 0, errors = 0, warmup = 0, samples = 0, slots = 0, max = 0;
    ck_assert_uint_eq(g->from_ns, r->intervals[*at].from_ns);
    uint64_t k = g->from_ns / r->every_ns;
    for (; *at < r->n_intervals && r->intervals[*at].from_ns / r->every_ns == k; ++*at) {
        const struct result_interval *row = &r->intervals[*at];
        sent += row->sent;
        completed += row->completed;
        errors += row->errors;
        warmup += row->warmup.sent;
        samples += row->uncorrected.count;
        slots += row->slots;
        max = row->corrected.max > max ? row->corrected.max : max;
        ck_assert_uint_le(row->to_ns, g->to_ns);
    }
    ck_assert_uint_eq(g->sent, sent);
    ck_assert_uint_eq(g->completed, completed);
    ck_assert_uint_eq(g->errors, errors);
    ck_assert_uint_eq(g->warmup.sent, warmup);
    ck_assert_uint_eq(g->uncorrected.count, samples);
    ck_assert_uint_eq(g->slots, slots);
    ck_assert_uint_eq(g->corrected.max, max);
    ck_assert_uint_eq(g->agents_reporting, r->n_agents);
}

START_TEST(groups_hold_the_timeline)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < ROUNDS; round++) {
        struct sums sum;
        struct result *r = run(&rng, (1 + check_below(&rng, 6)) * INTERVAL, &sum);
        size_t at = 0;
        ck_assert_uint_le(r->n_groups, r->n_intervals);
        for (size_t i = 0; i < r->n_groups; i++)
            check_group(r, &r->groups[i], &at);
        ck_assert_uint_eq(at, r->n_intervals);
        clear(r, &sum);
    }
}
END_TEST

static uint64_t percentile(const struct hist *h, double p)
{
    uint64_t v = hist_value_at_percentile(h, p), max = hist_max(h);
    return v < max ? v : max;
}

START_TEST(a_group_of_everything_has_the_percentiles_of_everything)
{
    uint64_t rng = check_seed();
    struct sums sum;
    struct result *r = run(&rng, 1000 * INTERVAL, &sum);
    ck_assert_uint_eq(r->n_groups, 1);
    ck_assert_uint_eq(r->groups[0].corrected.max, hist_max(sum.corrected));
    ck_assert_uint_eq(r->groups[0].corrected.p99, percentile(sum.corrected, 99));
    ck_assert_uint_eq(r->groups[0].uncorrected.p50, percentile(sum.uncorrected, 50));
    clear(r, &sum);
}
END_TEST

START_TEST(blocks_hold_every_sample_after_the_warmup)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < ROUNDS; round++) {
        struct sums sum;
        struct result *r = run(&rng, 0, &sum);
        struct hist *all[2] = {hist_new_default(), hist_new_default()};
        ck_assert_uint_eq(r->n_groups, 0);
        for (size_t i = 0; i < 2 * blocks_n(r->blocks); i++) {
            struct hist *h = blocks_hist(r->blocks, i / 2, (enum blocks_clock)(i % 2));
            ck_assert_int_eq(hist_add(all[i % 2], h), ERR_OK);
            hist_free(h);
        }
        ck_assert(hist_equal(all[BLOCKS_CORRECTED], sum.corrected));
        ck_assert(hist_equal(all[BLOCKS_UNCORRECTED], sum.uncorrected));
        hist_free(all[0]);
        hist_free(all[1]);
        clear(r, &sum);
    }
}
END_TEST

/* A warm-up's group, and what is after the plan's end, go with the rows. */
START_TEST(groups_of_the_warmup_are_dropped)
{
    struct plan plan = {.rate = {10, 1},
                        .duration_ns = SLOTS_MAX * INTERVAL,
                        .requests = UINT64_MAX,
                        .warmup_ns = 4 * INTERVAL};
    uint64_t rng = 1;
    struct sums sum;
    struct result *r = run(&rng, INTERVAL, &sum);
    size_t rows = r->n_intervals, groups = r->n_groups, gone = 0;
    while (gone < rows && r->intervals[gone].to_ns <= plan.warmup_ns)
        gone++;
    ck_assert_uint_gt(gone, 0);
    r->plan = &plan;
    result_settle(r);
    ck_assert_uint_eq(r->n_intervals, rows - gone);
    ck_assert_uint_eq(r->n_groups, groups - gone);
    ck_assert_uint_eq(r->groups[0].from_ns, r->intervals[0].from_ns);
    clear(r, &sum);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("merge_groups");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_test(t, groups_hold_the_timeline);
    tcase_add_test(t, a_group_of_everything_has_the_percentiles_of_everything);
    tcase_add_test(t, blocks_hold_every_sample_after_the_warmup);
    tcase_add_test(t, groups_of_the_warmup_are_dropped);
    return check_main(s);
}
