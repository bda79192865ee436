/* SPDX-License-Identifier: MIT */
#include "controller/run/merge.h"

#include <malloc.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

#define AGENTS_MAX    6
#define SNAPSHOTS_MAX 60 /* more than a row stays unpacked, or unsettled, see merge.c */
#define ROUNDS        4
#define INTERVAL      NS_PER_SEC

/* What a set of agents sent: their snapshots in order, and every sample in one histogram. */
struct world {
    uint64_t rng;
    size_t agents;
    size_t n[AGENTS_MAX];
    struct snapshot *snaps[AGENTS_MAX][SNAPSHOTS_MAX];
    struct snapshot *cumulative[AGENTS_MAX];
    struct hist *all[HIST_KINDS];
    struct counters counters;
    struct hist *warmup; /* the same of the warm-up, which comes apart */
    struct counters warmup_counters;
    uint64_t intervals; /* grid slots covered */
};

static void fill_warmup(struct world *w, struct snapshot *s)
{
    struct series *series = snapshot_series(s, SERIES_STAGE_WARMUP, "");
    uint64_t n = check_below(&w->rng, 60);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t v = check_random(&w->rng) >> (24 + check_below(&w->rng, 40));
        hist_record(series_hist(series, HIST_CORRECTED), v, 1);
        hist_record(series_hist(series, HIST_UNCORRECTED), v, 1);
        hist_record(w->warmup, v, 1);
    }
    struct counters c = {.scheduled = n + 2, .sent = n + 2, .completed = n, .ok = n, .timeouts = 2};
    counters_add(&series->counters, &c);
    counters_add(&w->warmup_counters, &c);
}

static void fill(struct world *w, struct snapshot *s)
{
    struct series *series = snapshot_series(s, 0, "");
    uint64_t n = check_below(&w->rng, 60);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t v = check_random(&w->rng) >> (24 + check_below(&w->rng, 40));
        for (int k = 0; k < HIST_KINDS; k++) {
            hist_record(series_hist(series, (enum hist_kind)k), v + (uint64_t)k, 1);
            hist_record(w->all[k], v + (uint64_t)k, 1);
        }
    }
    struct counters c = {.scheduled = n + 1, .sent = n + 1, .completed = n, .ok = n, .timeouts = 1};
    counters_add(&series->counters, &c);
    counters_add(&w->counters, &c);
    if (check_below(&w->rng, 3) == 0)
        fill_warmup(w, s);
    s->status[200] += n;
    snapshot_add_error(s, check_below(&w->rng, 2) ? "timeout" : "connection reset", 1);
    s->backlog = check_below(&w->rng, 10);
    s->cpu_busy_ppm = check_below(&w->rng, 1000000);
}

static void make_agent(struct world *w, size_t a)
{
    uint64_t slot = 0;
    w->cumulative[a] = snapshot_new();
    w->cumulative[a]->cumulative = true;
    w->n[a] = 0;
    while (slot < w->intervals) {
        struct snapshot *s = snapshot_new();
        uint64_t covers = check_below(&w->rng, 5) == 0 ? 1 + check_below(&w->rng, 4) : 1;
        if (covers > w->intervals - slot)
            covers = w->intervals - slot;
        s->seq = w->n[a] + 1;
        s->intervals = (uint32_t)covers;
        s->from_ns = slot * INTERVAL + check_below(&w->rng, 1000);
        s->to_ns = (slot + covers) * INTERVAL + check_below(&w->rng, 1000);
        fill(w, s);
        w->snaps[a][w->n[a]++] = s;
        ck_assert_int_eq(snapshot_add(w->cumulative[a], s, true), ERR_OK);
        slot += covers;
    }
    w->cumulative[a]->cumulative = true;
}

static void world_make(struct world *w, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->rng = seed;
    w->agents = 1 + check_below(&w->rng, AGENTS_MAX);
    w->intervals = 1 + check_below(&w->rng, SNAPSHOTS_MAX - 1);
    for (int k = 0; k < HIST_KINDS; k++)
        w->all[k] = hist_new_default();
    w->warmup = hist_new_default();
    for (size_t a = 0; a < w->agents; a++)
        make_agent(w, a);
}

static void world_clear(struct world *w)
{
    for (size_t a = 0; a < w->agents; a++) {
        for (size_t i = 0; i < w->n[a]; i++)
            snapshot_free(w->snaps[a][i]);
        snapshot_free(w->cumulative[a]);
    }
    for (int k = 0; k < HIST_KINDS; k++)
        hist_free(w->all[k]);
    hist_free(w->warmup);
}

struct seen {
    size_t rows;
    uint64_t last_to;
};

static void on_row(void *arg, const struct merge_view *v)
{
    struct seen *s = arg;
    s->rows++;
    ck_assert_uint_ge(v->row->to_ns, s->last_to);
    s->last_to = v->row->to_ns;
}

/* Delivers everything in a random interleaving (each agent's own in order). */
static struct result *run(const struct world *w, uint64_t seed, struct seen *seen)
{
    uint64_t rng = seed;
    size_t next[AGENTS_MAX] = {0}, left = w->agents;
    struct errmsg msg = {{0}};
    struct merge *m = merge_new(w->agents, INTERVAL);
    merge_on_interval(m, on_row, seen);
    while (left > 0) {
        size_t a = check_below(&rng, w->agents);
        if (next[a] > w->n[a])
            continue;
        enum err e = next[a] < w->n[a] ? merge_add(m, a, w->snaps[a][next[a]], &msg)
                                       : merge_final(m, a, w->cumulative[a], &msg);
        ck_assert_msg(e == ERR_OK, "%s", msg.text);
        if (next[a]++ == w->n[a])
            left--;
        merge_tick(m, check_below(&rng, w->intervals * INTERVAL), 0);
    }
    struct result *r = result_new(w->agents);
    merge_finish(m, r);
    merge_free(m);
    return r;
}

/* All of it and nothing else; with the rest it is everything that the agents counted. */
static void check_warmup(const struct world *w, const struct result *r)
{
    struct counters all = w->counters, of_agents = {0}, ours = result_counters(r);
    counters_add(&all, &w->warmup_counters);
    for (size_t a = 0; a < r->n_agents; a++) {
        struct counters one = result_agent_counters(&r->agents[a]);
        counters_add(&of_agents, &one);
    }
    ck_assert(counters_equal(&all, &ours) && counters_equal(&all, &of_agents));
    uint64_t sent = 0, completed = 0, errors = 0;
    for (size_t i = 0; i < r->n_intervals; i++) {
        sent += r->intervals[i].warmup.sent;
        completed += r->intervals[i].warmup.completed;
        errors += r->intervals[i].warmup.errors;
    }
    ck_assert_uint_eq(sent, w->warmup_counters.sent);
    ck_assert_uint_eq(completed, w->warmup_counters.completed);
    ck_assert_uint_eq(errors, w->warmup_counters.timeouts);
    ck_assert_int_eq(r->warmup != NULL, w->warmup_counters.scheduled > 0);
    if (r->warmup == NULL)
        return;
    struct hist *h = snapshot_hist(r->warmup, HIST_CORRECTED);
    ck_assert(hist_equal(h, w->warmup));
    hist_free(h);
}

START_TEST(test_merged_is_the_histogram_of_all_samples)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < ROUNDS; round++) {
        struct world w;
        world_make(&w, check_random(&rng));
        struct seen seen = {0};
        struct result *r = run(&w, check_random(&rng), &seen);
        for (int k = 0; k < HIST_KINDS; k++) {
            struct hist *h = snapshot_hist(r->total, (enum hist_kind)k);
            ck_assert_msg(hist_equal(h, w.all[k]), "kind %d", k);
            hist_free(h);
        }
        struct counters c = snapshot_counters(r->total);
        ck_assert(counters_equal(&c, &w.counters));
        check_warmup(&w, r);
        for (size_t a = 0; a < w.agents; a++)
            ck_assert(r->agents[a].checked);
        ck_assert_uint_eq(r->end_ns, r->intervals[r->n_intervals - 1].to_ns);
        result_free(r);
        world_clear(&w);
    }
}
END_TEST

static void same_rows(const struct result *a, const struct result *b)
{
    ck_assert_uint_eq(a->n_intervals, b->n_intervals);
    for (size_t i = 0; i < a->n_intervals; i++) {
        struct result_interval x = a->intervals[i], y = b->intervals[i];
        x.backlog = y.backlog = 0; /* a gauge: joined rows keep the larger of what they had */
        x.agents_late = y.agents_late = 0; /* who came after the deadline is a matter of order */
        ck_assert_msg(memcmp(&x, &y, sizeof x) == 0, "row %zu", i);
    }
}

START_TEST(test_order_does_not_matter)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < ROUNDS; round++) {
        struct world w;
        world_make(&w, check_random(&rng));
        struct seen s1 = {0}, s2 = {0};
        struct result *a = run(&w, check_random(&rng), &s1);
        struct result *b = run(&w, check_random(&rng), &s2);
        struct errmsg msg = {{0}};
        ck_assert_msg(snapshot_same_data(a->total, b->total, &msg), "%s", msg.text);
        same_rows(a, b);
        result_free(a);
        result_free(b);
        world_clear(&w);
    }
}
END_TEST

START_TEST(test_timeline_holds_everything_once)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < ROUNDS; round++) {
        struct world w;
        world_make(&w, check_random(&rng));
        struct seen seen = {0};
        struct result *r = run(&w, check_random(&rng), &seen);
        uint64_t completed = 0, errors = 0, samples = 0, from = 0;
        for (size_t i = 0; i < r->n_intervals; i++) {
            const struct result_interval *row = &r->intervals[i];
            ck_assert_uint_eq(row->from_ns, from);
            ck_assert_uint_eq(row->agents_reporting, w.agents);
            from = row->to_ns;
            completed += row->completed;
            errors += row->errors;
            samples += row->corrected.count;
            ck_assert_uint_le(row->corrected.p50, row->corrected.p99);
            ck_assert_uint_le(row->corrected.p99, row->corrected.max);
        }
        ck_assert_uint_eq(from, w.intervals * INTERVAL);
        ck_assert_uint_eq(completed, w.counters.completed);
        ck_assert_uint_eq(errors, w.counters.timeouts);
        ck_assert_uint_eq(samples, w.counters.completed);
        ck_assert_uint_le(r->n_intervals, seen.rows);
        result_free(r);
        world_clear(&w);
    }
}
END_TEST

static struct snapshot *one(uint64_t seq, uint64_t slot, uint64_t value, uint64_t count)
{
    struct snapshot *s = snapshot_new();
    s->seq = seq;
    s->intervals = 1;
    s->from_ns = slot * INTERVAL;
    s->to_ns = (slot + 1) * INTERVAL;
    struct series *series = snapshot_series(s, 0, "");
    hist_record(series_hist(series, HIST_CORRECTED), value, count);
    hist_record(series_hist(series, HIST_UNCORRECTED), value, count);
    series->counters = (struct counters){
        .scheduled = count, .sent = count, .completed = count, .ok = count, .connects = 1};
    return s;
}

static void add_one(struct merge *m, size_t agent, uint64_t seq, uint64_t slot, uint64_t value,
                    uint64_t count)
{
    struct errmsg msg = {{0}};
    struct snapshot *s = one(seq, slot, value, count);
    ck_assert_msg(merge_add(m, agent, s, &msg) == ERR_OK, "%s", msg.text);
    snapshot_free(s);
}

/* A fast agent with 99 times the requests of a slow one: the merged p50 is the fast one's, not the
 * mean of the two. */
START_TEST(test_percentiles_are_not_averaged)
{
    struct merge *m = merge_new(2, INTERVAL);
    add_one(m, 0, 1, 0, 1000, 990);
    add_one(m, 1, 1, 0, 1000000, 10);
    struct result *r = result_new(2);
    merge_finish(m, r);
    merge_free(m);
    ck_assert_uint_eq(r->intervals[0].corrected.p50, 1000);
    ck_assert_uint_eq(r->intervals[0].corrected.p99, 1000);
    ck_assert_uint_ge(r->intervals[0].corrected.max, 1000000);
    ck_assert_uint_eq(r->intervals[0].corrected.mean, (990 * 1000 + 10 * UINT64_C(1000000)) / 1000);
    struct hist *h = snapshot_hist(r->total, HIST_CORRECTED);
    ck_assert_uint_eq(hist_value_at_percentile(h, 50), 1000);
    hist_free(h);
    result_free(r);
}
END_TEST

START_TEST(test_interval_waits_for_all_or_for_its_deadline)
{
    struct seen seen = {0};
    struct merge *m = merge_new(3, INTERVAL);
    merge_on_interval(m, on_row, &seen);
    add_one(m, 0, 1, 0, 1000, 1);
    add_one(m, 1, 1, 0, 1000, 1);
    ck_assert_uint_eq(seen.rows, 0);
    merge_tick(m, INTERVAL + NS_PER_MS, 500 * NS_PER_MS);
    ck_assert_uint_eq(seen.rows, 0);
    merge_tick(m, INTERVAL + 501 * NS_PER_MS, 500 * NS_PER_MS);
    ck_assert_uint_eq(seen.rows, 1);
    add_one(m, 2, 1, 0, 5000, 1); /* late, still added */
    add_one(m, 0, 2, 1, 1000, 1);
    add_one(m, 1, 2, 1, 1000, 1);
    ck_assert_uint_eq(seen.rows, 1);
    merge_gone(m, 2);
    ck_assert_uint_eq(seen.rows, 2);
    struct result *r = result_new(3);
    merge_finish(m, r);
    merge_free(m);
    ck_assert_uint_eq(r->n_intervals, 2);
    ck_assert_uint_eq(r->intervals[0].agents_reporting, 3);
    ck_assert_uint_eq(r->intervals[0].completed, 3);
    ck_assert_uint_eq(r->intervals[0].corrected.max, 5000);
    ck_assert_uint_eq(r->intervals[1].agents_reporting, 2);
    result_free(r);
}
END_TEST

#define LATE UINT64_C(5000)

/* However long ago its row was packed, a snapshot changes its percentiles exactly. */
START_TEST(test_very_late_snapshot_is_added_exactly)
{
    struct merge *m = merge_new(2, INTERVAL);
    for (uint64_t k = 0; k < LATE; k++)
        add_one(m, 0, k + 1, k, 1000 + k, 10);
    merge_tick(m, (LATE + 1) * INTERVAL, 0);
    for (uint64_t k = 0; k < LATE; k++)
        add_one(m, 1, k + 1, k, 900000 + k, 30);
    for (size_t a = 0; a < 2; a++)
        add_one(m, a, LATE + 1, LATE, 1000, 10);
    struct result *r = result_new(2);
    merge_finish(m, r);
    merge_free(m);
    ck_assert_uint_eq(r->n_intervals, LATE + 1);
    ck_assert_uint_eq(r->intervals[LATE].agents_late, 0);
    for (uint64_t k = 0; k < LATE; k++) {
        const struct result_latency *l = &r->intervals[k].corrected;
        ck_assert_uint_eq(l->count, 40);
        ck_assert_uint_eq(l->min, 1000 + k);
        ck_assert_uint_eq(l->max, 900000 + k);
        ck_assert_uint_ge(l->p50, 900000 + k);
        ck_assert_uint_eq(r->intervals[k].agents_late, 1);
        ck_assert_uint_eq(r->intervals[k].slots, 1);
        ck_assert_uint_eq(l->mean, (10 * (1000 + k) + 30 * (900000 + k)) / 40);
    }
    result_free(r);
}
END_TEST

static enum err add_again(struct merge *m, size_t agent, uint64_t seq, uint64_t slot,
                          struct errmsg *msg)
{
    struct snapshot *s = one(seq, slot, 5000, 1);
    enum err e = merge_add(m, agent, s, msg);
    snapshot_free(s);
    return e;
}

/* As long as another agent may still report an interval, an agent may add to it again; then only to
 * the latest ones. */
START_TEST(test_snapshot_before_the_settled_intervals_is_refused)
{
    const uint64_t n = 60;
    struct errmsg msg = {{0}};
    struct merge *m = merge_new(2, INTERVAL);
    for (uint64_t k = 0; k < n; k++)
        add_one(m, 0, k + 1, k, 1000, 10);
    ck_assert_int_eq(add_again(m, 0, n + 1, 0, &msg), ERR_OK);
    for (uint64_t k = 0; k < n; k++)
        add_one(m, 1, k + 1, k, 1000, 10);
    ck_assert_int_eq(add_again(m, 0, n + 2, 0, &msg), ERR_CORRUPT);
    ck_assert_msg(strstr(msg.text, "snapshot 62 begins at 0 ns, long before what its agent") ==
                      msg.text,
                  "%s", msg.text);
    ck_assert_int_eq(add_again(m, 0, n + 2, n - 2, &msg), ERR_OK);
    struct result *r = result_new(2);
    merge_finish(m, r);
    merge_free(m);
    ck_assert_uint_eq(r->n_intervals, n);
    for (uint64_t k = 0; k < n; k++)
        ck_assert_uint_eq(r->intervals[k].completed, k == 0 || k == n - 2 ? 21 : 20);
    result_free(r);
}
END_TEST

static size_t heap_bytes(void)
{
    struct mallinfo2 i = mallinfo2();
    return i.uordblks + i.hblkhd;
}

#define SOME UINT64_C(200)
#define MANY UINT64_C(6000)

/* Beside the timeline, which grows by halves, a long run takes as much as a short one: also when
 * an agent was behind for a while. Sanitizers' allocators tell nothing, so nothing is seen there.
 */
START_TEST(test_memory_is_the_timeline)
{
    struct merge *m = merge_new(2, INTERVAL);
    size_t before = 0;
    for (uint64_t k = 0; k < MANY; k++) {
        if (k == SOME)
            before = heap_bytes();
        add_one(m, 0, k + 1, k, 1000 + k % 100, 10);
        if (k < MANY / 3)
            add_one(m, 1, k + 1, k, 1000 + k % 100, 10);
        for (uint64_t late = MANY / 3; k == MANY / 2 && late < k; late++)
            add_one(m, 1, late + 1, late, 1000 + late % 100, 10);
        if (k >= MANY / 2)
            add_one(m, 1, k + 1, k, 1000 + k % 100, 10);
    }
    size_t grown = heap_bytes() - before;
    size_t timeline = (MANY + MANY / 2) * sizeof(struct result_interval);
    ck_assert_msg(before == 0 || grown < timeline + 64 * 1024, "%zu bytes, the timeline has %zu",
                  grown, timeline);
    struct result *r = result_new(2);
    merge_finish(m, r);
    merge_free(m);
    ck_assert_uint_eq(r->n_intervals, MANY);
    for (uint64_t k = 0; k < MANY; k++)
        ck_assert_uint_eq(r->intervals[k].corrected.count, 20);
    result_free(r);
}
END_TEST

START_TEST(test_wrong_total_is_detected)
{
    struct merge *m = merge_new(2, INTERVAL);
    add_one(m, 0, 1, 0, 1000, 5);
    add_one(m, 1, 1, 0, 1000, 5);
    struct snapshot *lie = one(0, 0, 1000, 6), *truth = one(0, 0, 1000, 5);
    lie->cumulative = truth->cumulative = true;
    struct errmsg msg = {{0}};
    ck_assert_int_eq(merge_final(m, 0, lie, &msg), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(msg.text, "differ"));
    ck_assert_int_eq(merge_final(m, 1, truth, &msg), ERR_OK);
    struct result *r = result_new(2);
    merge_finish(m, r);
    merge_free(m);
    ck_assert(!r->agents[0].checked);
    ck_assert(r->agents[0].problem[0] != '\0');
    ck_assert(r->agents[1].checked);
    snapshot_free(lie);
    snapshot_free(truth);
    result_free(r);
}
END_TEST

START_TEST(test_wrong_sequence_is_refused)
{
    struct merge *m = merge_new(1, INTERVAL);
    add_one(m, 0, 1, 0, 1000, 5);
    uint64_t wrong[][2] = {{1, 0}, {3, 1}, {2, UINT64_MAX / INTERVAL / 2}};
    for (size_t i = 0; i < 3; i++) {
        struct snapshot *s = one(wrong[i][0], wrong[i][1], 1000, 5);
        struct errmsg msg = {{0}};
        ck_assert_int_eq(merge_add(m, 0, s, &msg), ERR_CORRUPT);
        snapshot_free(s);
    }
    add_one(m, 0, 2, 1, 1000, 5);
    merge_free(m);
}
END_TEST

static struct result_interval row_of(uint64_t quick, uint64_t slow)
{
    struct errmsg msg = {{0}};
    struct merge *m = merge_new(1, INTERVAL);
    struct snapshot *s = snapshot_new();
    s->seq = s->intervals = 1;
    s->to_ns = INTERVAL;
    struct hist *h = series_hist(snapshot_series(s, 0, ""), HIST_SEND_LAG);
    hist_record(h, 20000, quick);
    hist_record(h, 9 * NS_PER_MS, slow);
    ck_assert_int_eq(merge_add(m, 0, s, &msg), ERR_OK);
    snapshot_free(s);
    struct result *r = result_new(1);
    merge_finish(m, r);
    merge_free(m);
    ck_assert_uint_eq(r->n_intervals, 1);
    struct result_interval row = r->intervals[0];
    result_free(r);
    return row;
}

/* One late wake-up among few samples is the p99 and still no evidence; two are. */
START_TEST(test_one_outlier_is_not_judged)
{
    ck_assert_uint_ge(row_of(10, 1).send_lag_p99, 8 * NS_PER_MS);
    ck_assert_uint_lt(row_of(10, 1).send_lag_judged, NS_PER_MS);
    ck_assert_uint_eq(row_of(0, 1).send_lag_judged, 0);
    ck_assert_uint_ge(row_of(10, 2).send_lag_judged, 8 * NS_PER_MS);
    ck_assert_uint_lt(row_of(500, 4).send_lag_judged, NS_PER_MS);
    ck_assert_uint_ge(row_of(500, 6).send_lag_judged, 8 * NS_PER_MS);
}
END_TEST

START_TEST(test_no_snapshot_at_all)
{
    struct merge *m = merge_new(2, INTERVAL);
    merge_gone(m, 0);
    merge_gone(m, 1);
    merge_tick(m, 100 * INTERVAL, 0);
    struct result *r = result_new(2);
    merge_finish(m, r);
    merge_free(m);
    ck_assert_uint_eq(r->n_intervals, 0);
    ck_assert_uint_eq(r->end_ns, 0);
    result_free(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("merge");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    tcase_add_test(t, test_merged_is_the_histogram_of_all_samples);
    tcase_add_test(t, test_order_does_not_matter);
    tcase_add_test(t, test_timeline_holds_everything_once);
    tcase_add_test(t, test_percentiles_are_not_averaged);
    tcase_add_test(t, test_interval_waits_for_all_or_for_its_deadline);
    tcase_add_test(t, test_very_late_snapshot_is_added_exactly);
    tcase_add_test(t, test_snapshot_before_the_settled_intervals_is_refused);
    tcase_add_test(t, test_memory_is_the_timeline);
    tcase_add_test(t, test_wrong_total_is_detected);
    tcase_add_test(t, test_wrong_sequence_is_refused);
    tcase_add_test(t, test_one_outlier_is_not_judged);
    tcase_add_test(t, test_no_snapshot_at_all);
    return check_main(s);
}
