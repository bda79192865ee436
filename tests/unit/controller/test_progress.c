/* SPDX-License-Identifier: MIT */
/* Random runs through a real merge, against sums of our own; and the metrics made from them. */
#include "controller/watch/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/watch/openmetrics.h"
#include "tests/lib/check_main.h"
#include "tests/lib/random_snapshot.h"

#define AGENTS   3
#define SECONDS  40
#define INTERVAL (250 * NS_PER_MS)
#define ROUNDS   (SECONDS * 4)

static struct plan plan;
static struct progress *p;
static struct merge *m;
static size_t agent, windows;
static uint64_t rng, window_count;

static void on_snapshot(void *arg, const struct snapshot *s)
{
    (void)arg;
    progress_snapshot(p, agent, s);
}

static void on_interval(void *arg, const struct merge_view *v)
{
    (void)arg;
    if (!progress_interval(p, v))
        return;
    windows++;
    window_count += p->last.corrected.count;
    ck_assert_uint_eq(p->last.to_ns - p->last.from_ns, NS_PER_SEC);
}

static void set_up(void)
{
    plan_defaults(&plan);
    plan.rate = (struct rate){100, 1};
    plan.duration_ns = SECONDS * NS_PER_SEC;
    p = progress_new(AGENTS, &plan, NS_PER_SEC);
    m = merge_new(AGENTS, INTERVAL);
    merge_on_snapshot(m, on_snapshot, NULL);
    merge_on_interval(m, on_interval, NULL);
    rng = check_seed();
    windows = 0;
    window_count = 0;
}

static void tear_down(void)
{
    progress_free(p);
    merge_free(m);
    plan_clear(&plan);
}

static void fill(struct snapshot *s)
{
    static const uint32_t stages[] = {0, SERIES_STAGE_WARMUP};
    for (size_t k = 0; k < 2; k++) {
        struct series *series = snapshot_series(s, stages[k], "");
        uint64_t n = check_below(&rng, 50);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t v = check_random(&rng) >> (24 + check_below(&rng, 40));
            hist_record(series_hist(series, HIST_CORRECTED), v, 1);
            hist_record(series_hist(series, HIST_UNCORRECTED), v / 2, 1);
        }
        series->counters = (struct counters){.scheduled = n, .sent = n, .completed = n, .ok = n};
    }
    s->backlog = check_below(&rng, 9);
    s->in_flight = check_below(&rng, 9);
}

static void run_all(struct snapshot *sum)
{
    struct errmsg msg;
    for (uint64_t k = 0; k < ROUNDS; k++)
        for (agent = 0; agent < AGENTS; agent++) {
            struct snapshot *s = snapshot_new();
            s->seq = k + 1;
            s->from_ns = k * INTERVAL;
            s->to_ns = s->from_ns + INTERVAL;
            s->intervals = 1;
            fill(s);
            ck_assert_int_eq(merge_add(m, agent, s, &msg), ERR_OK);
            ck_assert_int_eq(snapshot_add(sum, s, true), ERR_OK);
            p->agents[agent].state = COORD_RUNNING;
            snapshot_free(s);
        }
}

START_TEST(test_sums)
{
    struct snapshot *sum = snapshot_new();
    run_all(sum);
    struct snapshot *warmup = snapshot_split_warmup(sum);
    struct counters total = snapshot_counters(sum), warm = snapshot_counters(warmup);
    struct hist *corrected = snapshot_hist(sum, HIST_CORRECTED);
    ck_assert(counters_equal(&p->total, &total) && counters_equal(&p->warmup, &warm));
    ck_assert(hist_equal(p->corrected, corrected));
    ck_assert_uint_eq(windows, SECONDS);
    ck_assert_uint_eq(window_count, total.completed);
    ck_assert_uint_eq(p->n_history, SECONDS);
    ck_assert_uint_eq(progress_history(p, SECONDS - 1), p->last.corrected.p99);
    uint64_t sent = 0, backlog = 0;
    progress_settle(p, 1, 1 + 5 * NS_PER_SEC);
    for (size_t i = 0; i < AGENTS; i++) {
        sent += p->agents[i].sent;
        backlog += p->agents[i].backlog;
    }
    ck_assert_uint_eq(sent, total.sent + warm.sent);
    ck_assert_uint_eq(p->backlog, backlog);
    p->agents[1].state = COORD_LOST;
    progress_settle(p, 1, 1 + 5 * NS_PER_SEC);
    ck_assert_uint_eq(p->backlog, backlog - p->agents[1].backlog);
    hist_free(corrected);
    snapshot_free(sum);
    snapshot_free(warmup);
}
END_TEST

START_TEST(test_history_is_bounded)
{
    struct result_interval row = {.completed = 1};
    struct merge_view v = {.row = &row};
    for (uint64_t i = 0; i < 3 * PROGRESS_HISTORY; i++) {
        row.from_ns = i * NS_PER_SEC;
        row.to_ns = row.from_ns + NS_PER_SEC;
        ck_assert(progress_interval(p, &v));
    }
    ck_assert_uint_eq(p->n_history, PROGRESS_HISTORY);
    ck_assert_double_eq(progress_rate(&p->last), 1);
}
END_TEST

START_TEST(test_target)
{
    struct stage up = {.duration_ns = 10 * NS_PER_SEC, .from = {100, 1}, .to = {300, 1}};
    ck_assert_double_eq(progress_target(p, 0), 100);
    ck_assert_double_eq(progress_target(p, SECONDS * NS_PER_SEC), 0);
    plan.n_stages = 2;
    plan.stages[0] = up;
    plan.stages[1] = (struct stage){.duration_ns = NS_PER_SEC, .from = {5, 1}, .to = {5, 1}};
    ck_assert_double_eq(progress_target(p, 5 * NS_PER_SEC), 200);
    ck_assert_double_eq(progress_target(p, 10 * NS_PER_SEC), 5);
    plan.n_stages = 0;
}
END_TEST

/* --- metrics -------------------------------------------------------------------------------- */

/* Samples of one clock whose bucket begins at or below the bound, counted one bucket after the
 * other. */
static uint64_t count_to(const struct hist *h, uint64_t bound)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < HIST_COUNTS; i++)
        n += hist_low(hist_geometry_of(h), i) <= bound ? hist_count_at(h, i) : 0;
    return n;
}

static void check_buckets(const char *text, const char *clock, const struct hist *h)
{
    char head[80];
    size_t n = 0;
    uint64_t last = 0;
    int len =
        snprintf(head, sizeof head, "hammer_latency_seconds_bucket{clock=\"%s\",le=\"", clock);
    for (const char *at = text; (at = strstr(at, head)) != NULL; n++) {
        char *end;
        double bound = strtod(at += len, &end);
        uint64_t count = strtoull(end + 3, NULL, 10);
        bool inf = strncmp(at, "+Inf", 4) == 0;
        ck_assert_uint_ge(count, last);
        ck_assert_uint_eq(count, inf ? hist_count(h) : count_to(h, (uint64_t)(bound * 1e9 + 0.5)));
        last = count;
    }
    ck_assert_uint_eq(n, 20);
}

/* Of OpenMetrics 1.0: a family's lines stand together, TYPE first, and samples have its name and
 * the suffix of its type. */
static void check_format(char *text)
{
    char family[80] = "", type[20] = "", *next;
    ck_assert_str_eq(text + strlen(text) - 6, "# EOF\n");
    for (char *line = text; *line != '\0'; line = next + 1) {
        next = strchr(line, '\n');
        ck_assert_ptr_nonnull(next);
        *next = '\0';
        if (strncmp(line, "# TYPE ", 7) == 0) {
            ck_assert_int_eq(sscanf(line, "# TYPE %79s %19s", family, type), 2);
        } else if (line[0] == '#') {
            ck_assert(strcmp(line, "# EOF") == 0 || strstr(line, family) == line + 7);
        } else {
            ck_assert_msg(strncmp(line, family, strlen(family)) == 0, "%s", line);
            const char *suffix = line + strlen(family);
            const char *want = strcmp(type, "counter") == 0 ? "_total"
                               : strcmp(type, "info") == 0  ? "_info"
                                                            : "";
            ck_assert_msg(strncmp(suffix, want, strlen(want)) == 0, "%s", line);
            ck_assert_ptr_nonnull(strrchr(line, ' '));
        }
    }
}

START_TEST(test_metrics)
{
    struct openmetrics_run about = {.id = "00", .name = "a\"b\\c\nd\xff", .version = "1"};
    struct snapshot *sum = snapshot_new();
    size_t len;
    run_all(sum);
    snprintf(p->agents[0].name, sizeof p->agents[0].name, "n\"1");
    char *text = openmetrics_text(p, &about, true, &len);
    ck_assert_uint_eq(len, strlen(text));
    ck_assert_ptr_nonnull(strstr(text, "name=\"a\\\"b\\\\c\\nd?\""));
    ck_assert_ptr_nonnull(strstr(text, "agent=\"n\\\"1\"} 1\n"));
    check_buckets(text, "corrected", p->corrected);
    check_buckets(text, "uncorrected", p->uncorrected);
    check_format(text);
    mem_free(text);
    text = openmetrics_text(p, &about, false, &len);
    ck_assert_ptr_nonnull(strstr(text, "# TYPE hammer_requests_total counter\n"));
    ck_assert_ptr_null(strstr(text, "# EOF"));
    mem_free(text);
    snapshot_free(sum);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("progress");
    TCase *t = tcase_create("progress");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, test_sums);
    tcase_add_test(t, test_history_is_bounded);
    tcase_add_test(t, test_target);
    tcase_add_test(t, test_metrics);
    suite_add_tcase(s, t);
    return check_main(s);
}
