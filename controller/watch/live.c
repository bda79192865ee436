/* SPDX-License-Identifier: MIT */
#include "controller/watch/live.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/units.h"
#include "controller/watch/live_line.h"

#define BAR_MAX   40
#define CELL      12
#define SPARK_MAX 60

const char *live_time(uint64_t ns, char buf[LIVE_TIME])
{
    uint64_t tenths = ns / (NS_PER_SEC / 10), s = tenths / 10;
    if (s < 60)
        snprintf(buf, LIVE_TIME, "%" PRIu64 ".%" PRIu64 "s", s, tenths % 10);
    else if (s < 3600)
        snprintf(buf, LIVE_TIME, "%" PRIu64 "m%02" PRIu64 "s", s / 60, s % 60);
    else
        snprintf(buf, LIVE_TIME, "%" PRIu64 "h%02" PRIu64 "m%02" PRIu64 "s", s / 3600, s / 60 % 60,
                 s % 60);
    return buf;
}

/* --- where the run is ----------------------------------------------------------------------- */

/* 0..1; negative = there is no telling. */
static double share_done(const struct progress *p)
{
    double by_time = -1, by_count = -1;
    if (p->planned_ns != NS_NEVER && p->planned_ns > 0)
        by_time = (double)progress_elapsed_ns(p) / (double)p->planned_ns;
    if (p->plan->requests != UINT64_MAX && p->plan->requests > 0)
        by_count = (double)(p->total.scheduled + p->warmup.scheduled) / (double)p->plan->requests;
    double share = by_time > by_count ? by_time : by_count;
    return share > 1 ? 1 : share;
}

static void bar(struct live_writer *w, double share)
{
    char text[BAR_MAX * 3 + 1] = "", percent[16];
    bool unicode = columns_unicode(w->o->columns);
    const char *full = unicode ? "\xe2\x96\x88" : "#", *empty = unicode ? "\xe2\x96\x91" : "-";
    size_t tail = (size_t)snprintf(percent, sizeof percent, " %3.0f %%", 100 * share);
    size_t left = live_left(w), n = left > tail + 2 ? left - tail - 2 : 0;
    n = n > BAR_MAX ? BAR_MAX : n;
    if (n >= 8) {
        size_t done = (size_t)(share * (double)n), len = 0;
        for (size_t i = 0; i < n; i++)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s", i < done ? full : empty);
        live_piece(w, LIVE_PLAIN, "  %s", text);
    }
    live_piece(w, LIVE_PLAIN, "%s", percent);
}

static size_t agents_from(const struct progress *p, enum coord_agent_state state)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_agents; i++)
        n += p->agents[i].state >= state && p->agents[i].state < COORD_REFUSED;
    return n;
}

/* Before the start: how many agents are through with it. */
static void head_before(struct live_writer *w)
{
    static const enum coord_agent_state through[PROGRESS_PHASES] = {
        [PROGRESS_DIALLING] = COORD_HELD,
        [PROGRESS_PREPARING] = COORD_PREPARED,
        [PROGRESS_CLOCKS] = COORD_PROBED,
        [PROGRESS_ARMED] = COORD_ARMED};
    const struct progress *p = w->p;
    char text[LIVE_TIME];
    live_piece(w, LIVE_PLAIN, "%zu of %zu agent%s", agents_from(p, through[p->phase]), p->n_agents,
               p->n_agents == 1 ? "" : "s");
    if (p->phase == PROGRESS_ARMED && p->t0_ns > p->now_ns)
        live_piece(w, LIVE_PLAIN, ", starts in %s", live_time(p->t0_ns - p->now_ns, text));
}

static void head(struct live_writer *w)
{
    const struct progress *p = w->p;
    char text[LIVE_TIME];
    live_label(w, LIVE_LABELLED, progress_phase_name(p->phase));
    if (p->phase <= PROGRESS_ARMED) {
        head_before(w);
        return;
    }
    live_piece(w, LIVE_PLAIN, "%s", live_time(progress_elapsed_ns(p), text));
    if (p->planned_ns != NS_NEVER)
        live_piece(w, LIVE_PLAIN, " of %s", live_time(p->planned_ns, text));
    else if (p->plan->requests != UINT64_MAX)
        live_piece(w, LIVE_PLAIN, ", %" PRIu64 " requests", p->plan->requests);
    if (share_done(p) >= 0)
        bar(w, share_done(p));
}

/* --- figures -------------------------------------------------------------------------------- */

static const char *rate_text(double rate, char buf[UNITS_TEXT])
{
    snprintf(buf, UNITS_TEXT, rate > 0 && rate < 100 ? "%.3g/s" : "%.0f/s", rate);
    return buf;
}

static void rate(struct live_writer *w)
{
    const struct progress *p = w->p;
    char text[UNITS_TEXT];
    double target = progress_target(p, progress_elapsed_ns(p)), achieved = progress_rate(&p->last);
    live_label(w, LIVE_LABELLED, "rate");
    live_piece(w, p->last.to_ns > 0 && achieved < 0.95 * target ? LIVE_WARN : LIVE_PLAIN, "%s",
               p->last.to_ns > 0 ? rate_text(achieved, text) : "-");
    if (target > 0)
        live_piece(w, LIVE_PLAIN, " of %s", rate_text(target, text));
    live_piece(w, LIVE_PLAIN, "  sent %" PRIu64, p->total.sent + p->warmup.sent);
    live_piece(w, p->backlog > 0 ? LIVE_WARN : LIVE_PLAIN, "  backlog %" PRIu64, p->backlog);
    live_piece(w, LIVE_PLAIN, "  in flight %" PRIu64, p->in_flight);
}

static const struct {
    size_t counter;
    const char *word;
} kinds[] = {
    {COUNTER_http_errors, "http"},
    {COUNTER_timeouts, "timeout"},
    {COUNTER_failed_connect, "connect"},
    {COUNTER_failed_tls, "tls"},
    {COUNTER_failed_read, "read"},
    {COUNTER_failed_write, "write"},
    {COUNTER_failed_protocol, "protocol"},
    {COUNTER_connect_errors, "connections refused or failed"},
    {COUNTER_handshake_errors, "handshakes failed"},
    {COUNTER_unsent_dropped, "dropped"},
    {COUNTER_unexpected, "unexpected"},
    {COUNTER_fault_fd_limit, "no descriptors left"},
    {COUNTER_fault_ports, "no ports left"},
    {COUNTER_fault_memory, "no kernel memory left"},
};

static void errors(struct live_writer *w)
{
    const struct progress *p = w->p;
    struct counters all = p->total;
    counters_add(&all, &p->warmup);
    uint64_t n = progress_errors(&all);
    live_label(w, LIVE_LABELLED, "errors");
    live_piece(w, n > 0 ? LIVE_BAD : LIVE_PLAIN, "%" PRIu64, n);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        uint64_t count = counters_get(&all, kinds[i].counter);
        if (count > 0)
            live_piece(w, LIVE_BAD, "  %s %" PRIu64, kinds[i].word, count);
    }
}

static void latency_head(struct live_writer *w)
{
    static const char *const words[] = {"p50 last s", "p99 last s", "p50 run", "p99 run"};
    live_label(w, LIVE_LABELLED, "latency");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        live_piece(w, LIVE_PLAIN, "%*s", CELL, words[i]);
}

static const char *value_text(bool known, uint64_t ns, char buf[UNITS_TEXT])
{
    return known ? units_format_latency(ns, buf) : "-";
}

static void clock_row(struct live_writer *w, const char *label, const struct result_latency *last,
                      const struct hist *run_hist)
{
    struct result_latency run = progress_latency(run_hist);
    bool l = last->count > 0, r = run.count > 0;
    char text[UNITS_TEXT];
    live_label(w, LIVE_LABELLED, label);
    if (!live_is_wide(w)) {
        live_piece(w, LIVE_PLAIN, "%s", value_text(l, last->p99, text));
        live_piece(w, LIVE_PLAIN, ", run %s", value_text(r, run.p99, text));
        return;
    }
    live_piece(w, LIVE_PLAIN, "%*s", CELL, value_text(l, last->p50, text));
    live_piece(w, LIVE_PLAIN, "%*s", CELL, value_text(l, last->p99, text));
    live_piece(w, LIVE_PLAIN, "%*s", CELL, value_text(r, run.p50, text));
    live_piece(w, LIVE_PLAIN, "%*s", CELL, value_text(r, run.p99, text));
}

static void corrected(struct live_writer *w)
{
    clock_row(w, live_is_wide(w) ? "corrected" : "corr. p99", &w->p->last.corrected,
              w->p->corrected);
}

static void uncorrected(struct live_writer *w)
{
    clock_row(w, live_is_wide(w) ? "uncorrected" : "unc. p99", &w->p->last.uncorrected,
              w->p->uncorrected);
}

static void sparkline(struct live_writer *w)
{
    static const char *const blocks[] = {"\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83",
                                         "\xe2\x96\x84", "\xe2\x96\x85", "\xe2\x96\x86",
                                         "\xe2\x96\x87", "\xe2\x96\x88"};
    static const char *const letters[] = {"_", ".", ",", "-", "=", "+", "*", "#"};
    const struct progress *p = w->p;
    const char *const *steps = columns_unicode(w->o->columns) ? blocks : letters;
    char spark[SPARK_MAX * 3 + 1] = "", text[UNITS_TEXT];
    size_t room = w->o->width > LIVE_LABEL + 20 ? w->o->width - LIVE_LABEL - 20 : 8, len = 0;
    size_t n = room < SPARK_MAX ? room : SPARK_MAX;
    uint64_t max = 0;
    n = n < p->n_history ? n : p->n_history;
    for (size_t i = p->n_history - n; i < p->n_history; i++)
        if (progress_history(p, i) != UINT64_MAX && progress_history(p, i) > max)
            max = progress_history(p, i);
    for (size_t i = p->n_history - n; i < p->n_history; i++) {
        uint64_t v = progress_history(p, i);
        size_t step = v == UINT64_MAX || max == 0 ? 0 : (size_t)((double)v / (double)max * 7);
        len += (size_t)snprintf(spark + len, sizeof spark - len, "%s",
                                v == UINT64_MAX ? " " : steps[step]);
    }
    live_label(w, LIVE_LABELLED, "p99");
    live_piece(w, LIVE_PLAIN, "%s", spark);
    live_piece(w, LIVE_PLAIN, "  up to %s", value_text(max > 0, max, text));
}

/* --- the whole ------------------------------------------------------------------------------ */

static bool always(const struct progress *p)
{
    (void)p;
    return true;
}

static bool has_begun(const struct progress *p)
{
    return p->phase > PROGRESS_ARMED && p->snapshots > 0;
}

static bool has_corrected(const struct progress *p)
{
    return has_begun(p) && !p->one_clock;
}

static bool has_history(const struct progress *p)
{
    return has_begun(p) && p->n_history > 0;
}

/* From top to bottom; where there is no room for all, those with the lowest rank are shown. */
static const struct {
    unsigned rank;
    bool (*shown)(const struct progress *p);
    void (*write)(struct live_writer *w);
} rows[] = {
    {0, always, head},
    {1, has_begun, rate},
    {2, has_begun, errors},
    {5, has_begun, latency_head},
    {3, has_corrected, corrected},
    {4, has_begun, uncorrected},
    {6, has_history, sparkline},
};

#define ROWS (sizeof rows / sizeof rows[0])

static bool fits(const struct progress *p, size_t i, size_t height)
{
    size_t better = 0;
    for (size_t k = 0; k < ROWS; k++)
        better += rows[k].rank < rows[i].rank && rows[k].shown(p);
    return rows[i].shown(p) && better < height;
}

void live_render(const struct progress *p, const struct live_options *o, struct live_frame *f)
{
    struct live_options own = *o;
    if (own.width > LIVE_WIDTH_MAX)
        own.width = LIVE_WIDTH_MAX;
    if (own.height > LIVE_LINES_MAX)
        own.height = LIVE_LINES_MAX;
    f->n = f->len = 0;
    if (own.width == 0 || own.height == 0)
        return;
    struct live_writer w = {.p = p, .o = &own, .f = f};
    for (size_t i = 0; i < ROWS; i++) {
        if (!fits(p, i, own.height) || (rows[i].write == latency_head && !live_is_wide(&w)))
            continue;
        live_begin(&w);
        rows[i].write(&w);
    }
    live_agents(&w, own.height - f->n);
}

const char *live_line(const struct live_frame *f, size_t i)
{
    return f->text + f->at[i];
}

void live_clear(struct live_frame *f)
{
    mem_free(f->text);
    *f = (struct live_frame){0};
}
