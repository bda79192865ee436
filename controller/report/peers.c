/* SPDX-License-Identifier: MIT */
#include "controller/report/peers.h"

#include <math.h>

#include "common/clock.h"
#include "controller/report/figures.h"
#include "controller/report/phases.h"

#define WHOLE     0.9   /* of an interval: a shorter one says nothing about a rate */
#define SAME_SUMS 0.001 /* of the sum of the latencies */

static double within_stddev(const struct hist *h, double mean, double stddev)
{
    const struct hist_geometry *g = hist_geometry_of(h);
    double low = mean > stddev ? mean - stddev : 0;
    uint32_t first = hist_index(g, (uint64_t)ceil(low));
    uint32_t last = hist_index(g, (uint64_t)floor(mean + stddev));
    return (double)hist_count_between(h, first, last) / (double)hist_count(h);
}

static struct peers_stats latency_stats(const struct hist *h)
{
    struct figures f = figures_of(h);
    return (struct peers_stats){.count = f.count,
                                .mean = f.mean,
                                .stddev = f.stddev,
                                .max = (double)f.max,
                                .within = within_stddev(h, f.mean, f.stddev)};
}

/* Of an interval in which requests were sent, < 0 = it does not count. */
static double rate_in(const struct result *r, size_t i)
{
    const struct result_interval *row = &r->intervals[i];
    double ns = (double)(row->to_ns - row->from_ns);
    double whole = r->plan != NULL ? (double)r->plan->interval_ns : 0;
    if (row->sent == 0 || ns <= 0 || ns < whole * WHOLE)
        return -1;
    return (double)row->completed * (double)NS_PER_SEC / ns;
}

/* The sample's own deviation, as wrk has it. */
static struct peers_stats rate_stats(const struct result *r)
{
    struct peers_stats s = {0};
    double squares = 0;
    uint64_t within = 0;
    for (size_t i = 0; i < r->n_intervals; i++) {
        double rate = rate_in(r, i);
        if (rate < 0)
            continue;
        s.count++;
        s.mean += (rate - s.mean) / (double)s.count;
        s.max = rate > s.max ? rate : s.max;
    }
    for (size_t i = 0; i < r->n_intervals; i++) {
        double rate = rate_in(r, i);
        squares += rate < 0 ? 0 : (rate - s.mean) * (rate - s.mean);
    }
    if (s.count > 1)
        s.stddev = sqrt(squares / (double)(s.count - 1));
    for (size_t i = 0; i < r->n_intervals; i++) {
        double rate = rate_in(r, i);
        within += rate >= 0 && fabs(rate - s.mean) <= s.stddev;
    }
    if (s.count > 0)
        s.within = (double)within / (double)s.count;
    return s;
}

struct peers peers_of(const struct result *r)
{
    struct counters c = snapshot_counters(r->total);
    struct hist *h = snapshot_hist(r->total, HIST_UNCORRECTED);
    double ns = (double)figures_measured_ns(r);
    struct peers p = {.any = hist_count(h) > 0 && c.completed > 0 && ns > 0};
    if (p.any) {
        p.time_per_request = hist_mean_exact(h);
        p.time_across = ns / (double)c.completed;
        p.availability = c.sent > 0 ? (double)c.completed / (double)c.sent : 0;
        p.concurrency = hist_sum(h) / ns;
        p.longest = hist_max(h);
        p.shortest = hist_min(h);
        p.latency = latency_stats(h);
        p.rate = rate_stats(r);
    }
    hist_free(h);
    return p;
}

/* --- ab's table ------------------------------------------------------------------------------- */

static struct peers_line line_of(const char *name, const struct hist *h)
{
    struct figures f = figures_of(h);
    return (struct peers_line){.name = name,
                               .any = f.count > 0,
                               .mean = f.mean,
                               .stddev = f.stddev,
                               .min = f.min,
                               .median = f.count > 0 ? figures_at(h, 50) : 0,
                               .max = f.max};
}

/* From the connection to the end of the response. Where no request opened its own connection that
 * is the whole time from the send; else only the mean follows from the phases' sums. */
static struct peers_line processing(const struct snapshot *s, const struct hist *total)
{
    static const enum phase parts[] = {PHASE_UPLOAD, PHASE_FIRST_BYTE, PHASE_DOWNLOAD};
    double sum = 0;
    bool all = true;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct hist *h = phases_hist(s, parts[i]);
        sum += hist_sum(h);
        all = all && hist_count(h) == hist_count(total);
        hist_free(h);
    }
    struct peers_line l = line_of("Processing", total);
    if (!all || fabs(sum - hist_sum(total)) <= SAME_SUMS * hist_sum(total))
        return l;
    l.only_mean = true;
    l.mean = sum / (double)hist_count(total);
    return l;
}

void peers_lines(const struct result *r, struct peers_line lines[PEERS_LINES])
{
    struct hist *connect = phases_hist(r->total, PHASE_CONNECT);
    struct hist *waiting = phases_hist(r->total, PHASE_FIRST_BYTE);
    struct hist *total = snapshot_hist(r->total, HIST_UNCORRECTED);
    lines[0] = line_of("Connect", connect);
    lines[1] = processing(r->total, total);
    lines[2] = line_of("Waiting", waiting);
    lines[3] = line_of("Total", total);
    hist_free(connect);
    hist_free(waiting);
    hist_free(total);
}
