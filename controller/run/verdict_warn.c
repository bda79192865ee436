/* SPDX-License-Identifier: MIT */
#include "controller/run/verdict_warn.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/units.h"
#include "controller/run/verdict_incomplete.h"

#define LAG_WARN_MIN   (100 * NS_PER_US)
#define LAG_WARN_SHARE 20 /* of corrected p50: 5 % */
#define PHASE_SHARE    5  /* of the gap between two requests: 20 % */
#define DRIFT_SHARE    10 /* of the interval */

static void warning(struct result *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void warning(struct result *r, const char *fmt, ...)
{
    struct verdict *v = &r->verdict;
    if (v->n_warnings == VERDICT_WARNINGS_MAX)
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(v->warnings[v->n_warnings], sizeof v->warnings[0], fmt, ap);
    va_end(ap);
    v->n_warnings++;
}

static size_t agents_taking_part(const struct result *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_agents; i++)
        n += !r->agents[i].left_out;
    return n;
}

static bool has_rate(const struct result *r)
{
    return r->plan != NULL && r->plan->rate.num > 0;
}

/* Of a few samples p99 is the slowest, and one late wake-up says nothing about a run. */
static uint64_t lag_p99(const struct hist *h)
{
    if (hist_count(h) < 2)
        return 0;
    uint64_t rank = hist_rank(99, hist_count(h)), last = hist_count(h) - 1;
    uint64_t value = hist_value_at_rank(h, rank < last ? rank : last), max = hist_max(h);
    return value < max ? value : max; /* a bucket's upper edge lies a little beyond */
}

static void warn_lag(struct result *r, enum hist_kind kind, const char *what, uint64_t bound_ns)
{
    struct hist *h = snapshot_hist(r->total, kind);
    bool more_than_one = lag_p99(h) > bound_ns;
    uint64_t p99_ns = hist_value_at_percentile(h, 99), max_ns = hist_max(h); /* as in the table */
    hist_free(h);
    if (!more_than_one)
        return;
    char lag[UNITS_TEXT], bound[UNITS_TEXT];
    warning(r,
            "hammer's own %s delay was %s at p99 (more than %s): the slowest latencies contain "
            "delay of the load machines",
            what, units_format_latency(p99_ns < max_ns ? p99_ns : max_ns, lag),
            units_format_latency(bound_ns, bound));
}

/* The load was split over those that were there: whole, but not from where it was planned. */
static void warn_left_out(struct result *r)
{
    size_t n = r->n_agents - agents_taking_part(r);
    const struct result_agent *first = NULL;
    for (size_t i = r->n_agents; i > 0; i--)
        if (r->agents[i - 1].left_out)
            first = &r->agents[i - 1];
    if (first == NULL)
        return;
    char more[48] = "";
    if (n > 1)
        snprintf(more, sizeof more, " and %zu more", n - 1);
    warning(r, "agent %.64s%s did not take part (%.80s): the others had the whole load",
            verdict_agent_label(first), more, first->problem);
}

/* Where the generator is the limit anyway, the reasons say so. */
static void warn_lags(struct result *r)
{
    if (!has_rate(r) || r->verdict.status == STATUS_GENERATOR_LIMITED)
        return;
    struct hist *h =
        snapshot_hist(r->total, result_one_clock(r) ? HIST_UNCORRECTED : HIST_CORRECTED);
    uint64_t bound_ns = hist_count(h) > 0 ? hist_value_at_percentile(h, 50) / LAG_WARN_SHARE : 0;
    hist_free(h);
    if (bound_ns < LAG_WARN_MIN)
        bound_ns = LAG_WARN_MIN;
    warn_lag(r, HIST_SEND_LAG, "send", bound_ns + r->plan->dispatch_quantum_ns);
    warn_lag(r, HIST_RECEIVE, "receive", bound_ns);
}

static bool one_clock(const struct result_agent *a, const struct result_agent *b)
{
    return (a->same_clock && b->same_clock) || (a->clock == b->clock && a->clock != 0);
}

/* Requests of several agents interleave as planned only while their clocks agree to a fraction of
 * the gap between two requests. */
static void warn_phases(struct result *r)
{
    uint64_t worst_ns = 0;
    const struct result_agent *first = NULL;
    bool several = false;
    for (size_t i = 0; i < r->n_agents; i++) {
        const struct result_agent *a = &r->agents[i];
        if (!a->started)
            continue;
        first = first != NULL ? first : a;
        several = several || !one_clock(a, first);
        if (!a->same_clock && a->clock_error_ns > worst_ns)
            worst_ns = a->clock_error_ns;
    }
    if (!several || !has_rate(r))
        return;
    uint64_t gap_ns = schedule_due_of_index(&r->plan->rate, 1);
    if (worst_ns <= gap_ns / PHASE_SHARE)
        return;
    char error[UNITS_TEXT], gap[UNITS_TEXT];
    warning(
        r,
        "phases between agents are unsynchronised: the clock error is up to %s, the gap between "
        "two requests %s; the server may see bursts of up to %zu requests",
        units_format_latency(worst_ns, error), units_format_latency(gap_ns, gap),
        agents_taking_part(r));
}

/* Only where the clocks certainly went apart: the bound of a long way is wide. */
static void warn_drift(struct result *r)
{
    const struct result_agent *worst = NULL;
    for (size_t i = 0; i < r->n_agents; i++) {
        const struct result_agent *a = &r->agents[i];
        if (a->drift.windows > 0 && (uint64_t)llabs(a->drift.max_ns) > a->drift.max_error_ns &&
            (worst == NULL || llabs(a->drift.max_ns) > llabs(worst->drift.max_ns)))
            worst = a;
    }
    if (worst == NULL || r->plan == NULL ||
        (uint64_t)llabs(worst->drift.max_ns) <= r->plan->interval_ns / DRIFT_SHARE)
        return;
    char moved[UNITS_TEXT], interval[UNITS_TEXT];
    warning(r,
            "the clock of agent %.64s moved by %s in the run, more than a tenth of the interval of "
            "%s: its intervals in the timeline do not fit the others'; totals are not touched",
            verdict_agent_label(worst), units_format_offset(worst->drift.max_ns, moved),
            units_format_duration(r->plan->interval_ns, interval));
}

static void warn_changed(struct result *r)
{
    char text[STATIONARITY_WARNING];
    if (r->stationarity.changed)
        warning(r, "%s", stationarity_say(&r->stationarity, text));
}

void verdict_warn(struct result *r)
{
    warn_phases(r);
    warn_drift(r);
    warn_left_out(r);
    warn_lags(r);
    warn_changed(r);
}
