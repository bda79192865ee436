/* SPDX-License-Identifier: MIT */
/*
 * Truth test: while the server really stalls, every percentile of both clocks is what the server's
 * own log of the same run says it must be.
 *
 *   corrected truth    written - due      leaves out the way back and hammer's reading
 *   uncorrected truth  written - arrived  leaves out both ways too (arrived = at the server's
 *                                         kernel; written - read would not see a freeze)
 *
 * On loopback and a quiet machine what is left out is below 0.1 ms, and the bar is the larger of 1
 * % and 0.3 ms. On a machine with other work a response may lie in the socket for milliseconds
 * until hammer gets a core; hammer reports that as receive lag. The bar does not grow for it.
 * Instead:
 *
 *   1. In every run, of every percentile: truth <= reported <= explained + bar, where `explained`
 * is the percentile of truth + hammer's own delay of that request, which the kernel witnesses: from
 * the response's arrival to hammer's stamp, and for the uncorrected clock from hammer's stamp of
 * the send to the request's arrival. Below the truth there is no tolerance.
 *   2. Of every percentile, in the best of at most RUNS runs: reported <= truth + bar. Whatever
 * else the machine does only adds delay, so the least deviation is the nearest to hammer's own, and
 *      an error of hammer's is in every run. A quiet machine needs one run. Sanitized builds are
 *      slow themselves: there 1 is all that can be said.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/truth.h"

#define RUNS        4
#define STOLEN      100
#define CONNECTIONS 20
#define FLOOR_NS    (300 * NS_PER_US)

static const struct rate rate = {2000, 1};
static const double percentiles[] = {50, 90, 95, 99, 99.9, 100}; /* 100 = the maximum */
#define PERCENTILES (sizeof percentiles / sizeof percentiles[0])

static uint64_t corrected(const struct truth_sample *s)
{
    return clock_elapsed(s->due_ns, s->written_ns);
}

static uint64_t corrected_explained(const struct truth_sample *s)
{
    return corrected(s) + s->receive_ns;
}

static uint64_t uncorrected(const struct truth_sample *s)
{
    return clock_elapsed(s->arrived_ns, s->written_ns);
}

static uint64_t uncorrected_explained(const struct truth_sample *s)
{
    return uncorrected(s) + clock_elapsed(s->sent_ns, s->arrived_ns) + s->receive_ns;
}

static const struct clock_row {
    const char *name;
    enum hist_kind kind;
    truth_fn truth, explained;
} clocks[] = {
    {"corrected", HIST_CORRECTED, corrected, corrected_explained},
    {"uncorrected", HIST_UNCORRECTED, uncorrected, uncorrected_explained},
};
#define CLOCKS (sizeof clocks / sizeof clocks[0])

struct truth_case {
    const char *const *target;
    uint32_t workers; /* see worker_rig_plan */
    uint64_t duration_ns;
    bool one_queue; /* compare with the ideal client as well */
};

/* What one percentile of one run is, ns. */
struct figure {
    uint64_t truth, explained, reported;
};

/* How far beyond its bar a figure is, ns: the least of all runs so far. */
struct evidence {
    uint32_t runs;
    uint64_t beyond[CLOCKS][PERCENTILES];
    uint64_t queue_p90, queue_p99;
    bool quiet; /* in one of the runs the load thread had its core */
};

static uint64_t bar(uint64_t ns)
{
    return ns / 100 > FLOOR_NS ? ns / 100 : FLOOR_NS;
}

static uint64_t reported(const struct hist *h, double percentile)
{
    return percentile < 100 ? hist_value_at_percentile(h, percentile) : hist_max(h);
}

static void keep_least(uint64_t *least, uint64_t ns, const struct evidence *ev)
{
    if (ev->runs == 0 || ns < *least)
        *least = ns;
}

static void judge(const struct figure *f, const char *name, double percentile)
{
    printf("  %-11s %5.1f  truth %9.3f  explained %9.3f  reported %9.3f ms\n", name, percentile,
           (double)f->truth / 1e6, (double)f->explained / 1e6, (double)f->reported / 1e6);
    ck_assert_msg(f->reported >= f->truth, "%s %g: %" PRIu64 " ns, below the truth %" PRIu64, name,
                  percentile, f->reported, f->truth);
    ck_assert_msg(f->reported <= f->explained + bar(f->explained),
                  "%s %g: %" PRIu64 " ns, but the server and hammer's own delay explain %" PRIu64,
                  name, percentile, f->reported, f->explained);
}

static void compare(const struct worker_rig *rig, const struct truth_sample *s, size_t clock,
                    struct evidence *ev)
{
    const struct clock_row *row = &clocks[clock];
    uint64_t *truth = truth_sorted(s, rig->tags, row->truth);
    uint64_t *explained = truth_sorted(s, rig->tags, row->explained);
    struct hist *h = snapshot_hist(rig->total, row->kind);
    ck_assert_uint_eq(hist_count(h), rig->tags);
    for (size_t i = 0; i < PERCENTILES; i++) {
        struct figure f = {truth_percentile(truth, rig->tags, percentiles[i]),
                           truth_percentile(explained, rig->tags, percentiles[i]),
                           reported(h, percentiles[i])};
        judge(&f, row->name, percentiles[i]);
        keep_least(&ev->beyond[clock][i], clock_elapsed(f.truth + bar(f.truth), f.reported), ev);
    }
    hist_free(h);
    mem_free(truth);
    mem_free(explained);
}

static uint64_t difference(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Any free connection serves the oldest due request: p90 is not the wait behind a slow one. */
static void compare_queue(const struct worker_rig *rig, const struct truth_sample *s,
                          struct evidence *ev)
{
    uint64_t *ideal = truth_one_queue(s, rig->tags, CONNECTIONS);
    uint64_t p90 = truth_percentile(ideal, rig->tags, 90);
    uint64_t p99 = truth_percentile(ideal, rig->tags, 99);
    struct hist *h = snapshot_hist(rig->total, HIST_CORRECTED);
    printf("  one queue    90.0  ideal %9.3f   99.0  ideal %9.3f ms\n", (double)p90 / 1e6,
           (double)p99 / 1e6);
    keep_least(&ev->queue_p90, clock_elapsed(200 * NS_PER_US, difference(reported(h, 90), p90)),
               ev);
    keep_least(&ev->queue_p99, clock_elapsed(p99 / 100, difference(reported(h, 99), p99)), ev);
    hist_free(h);
    mem_free(ideal);
}

static void run_once(const struct truth_case *c, struct evidence *ev)
{
    struct target_process target;
    struct worker_rig rig;
    char url[160];
    target_start(&target, c->target);
    snprintf(url, sizeof url, "%sr/{i}", target.url);
    struct worker_rig_plan plan = {rate, c->duration_ns, 5 * NS_PER_SEC, c->workers,
                                   CONNECTIONS / c->workers};
    worker_rig_run(&rig, url, &plan);
    process_signal(&target.process, SIGTERM);
    process_wait(&target.process, 10000);
    struct truth_sample *s = truth_load(&rig, target.log);
    for (size_t k = 0; k < CLOCKS; k++)
        compare(&rig, s, k, ev);
    if (c->one_queue)
        compare_queue(&rig, s, ev);
    ev->quiet = ev->quiet || rig.stolen_ns <= c->duration_ns / STOLEN;
    printf("  the load thread waited %.1f ms for its core\n", (double)rig.stolen_ns / 1e6);
    ev->runs++;
    mem_free(s);
    worker_rig_close(&rig);
    target_stop(&target);
}

static bool proved(const struct evidence *ev)
{
    bool all = ev->queue_p90 == 0 && ev->queue_p99 == 0;
    for (size_t k = 0; k < CLOCKS; k++)
        for (size_t i = 0; i < PERCENTILES; i++)
            all = all && ev->beyond[k][i] == 0;
    return all;
}

static void report_beyond(const struct evidence *ev)
{
    for (size_t k = 0; k < CLOCKS; k++)
        for (size_t i = 0; i < PERCENTILES; i++)
            ck_assert_msg(ev->beyond[k][i] == 0,
                          "%s %g: %" PRIu64 " ns beyond the bar in the best of %" PRIu32 " runs",
                          clocks[k].name, percentiles[i], ev->beyond[k][i], ev->runs);
    ck_abort_msg("one queue: p90 %" PRIu64 " ns, p99 %" PRIu64 " ns beyond the bar", ev->queue_p90,
                 ev->queue_p99);
}

static void check(const struct truth_case *c)
{
    struct evidence ev = {0};
    do
        run_once(c, &ev);
    while (!process_sanitized() && !proved(&ev) && ev.runs < RUNS);
    if (proved(&ev))
        return;
    if (ev.quiet && !process_sanitized())
        report_beyond(&ev);
    printf("  the machine was too busy to prove more than what hammer's own delay explains\n");
}

/* Count-triggered: 200 ms every 2 s, the server's own pause. */
START_TEST(test_pauses)
{
    static const char *const args[] = {"--pause", "200ms", "--every", "4000", NULL};
    check(&(struct truth_case){args, 1, 5 * NS_PER_SEC, false});
}
END_TEST

START_TEST(test_long_pause)
{
    static const char *const args[] = {"--pause", "1s", "--every", "5000", NULL};
    check(&(struct truth_case){args, 1, 4 * NS_PER_SEC, false});
}
END_TEST

/* Absolute: between two due times, whatever has been answered. */
START_TEST(test_freeze)
{
    static const char *const args[] = {"--freeze-at", "1000250us", "--freeze-for", "200ms", NULL};
    check(&(struct truth_case){args, 1, 2 * NS_PER_SEC, false});
}
END_TEST

START_TEST(test_long_freeze)
{
    static const char *const args[] = {"--freeze-at", "1000250us", "--freeze-for", "1s", NULL};
    check(&(struct truth_case){args, 1, 4 * NS_PER_SEC, false});
}
END_TEST

/* 1.2 %, not 1 %: p99 must not fall on the edge between the fast and the slow. */
START_TEST(test_slow_share)
{
    static const char *const args[] = {"--slow", "1.2%:100ms", NULL};
    check(&(struct truth_case){args, 1, 3 * NS_PER_SEC, true});
}
END_TEST

int main(void)
{
    Suite *s = suite_create("truth");
    TCase *t = tcase_create("truth");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_pauses);
    tcase_add_test(t, test_long_pause);
    tcase_add_test(t, test_freeze);
    tcase_add_test(t, test_long_freeze);
    tcase_add_test(t, test_slow_share);
    suite_add_tcase(s, t);
    return check_main(s);
}
