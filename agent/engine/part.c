/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "agent/client/expectation.h"
#include "agent/engine/recorder.h"
#include "common/clock.h"

/* The shortest interval there is: a few busy microseconds at the end of a run are no overload. */
#define SHARE_MIN_NS (100 * NS_PER_MS)

/* The part's way into a snapshot, on the main thread: the recorder itself never formats. */

static void add_bounds(const struct part *p, struct snapshot *s)
{
    bool first = s->n_series == 0;
    if (first || p->from_ns < s->from_ns)
        s->from_ns = p->from_ns;
    if (first || p->to_ns > s->to_ns)
        s->to_ns = p->to_ns;
}

static void add_health(const struct part *p, struct snapshot *s)
{
    s->backlog += p->backlog;
    s->in_flight += p->in_flight;
    s->cpu_ns += p->cpu_ns;
    s->spin_ns += p->spin_ns;
    s->context_switches += p->context_switches;
    s->preemptions += p->preemptions;
    uint64_t wall_ns = p->wall_ns > SHARE_MIN_NS ? p->wall_ns : SHARE_MIN_NS;
    /* A worker that spins is not busy: it has time to give away. */
    uint64_t busy_ns = clock_elapsed(p->spin_ns, p->cpu_ns);
    uint64_t ppm = (uint64_t)((unsigned __int128)busy_ns * 1000000 / wall_ns);
    if (ppm > s->cpu_busy_ppm)
        s->cpu_busy_ppm = ppm;
    if (p->censored_age_ns > s->censored_age_ns)
        s->censored_age_ns = p->censored_age_ns;
}

static void error_text(const struct part_error *row, char *buf, size_t cap)
{
    if (row->source == PART_ERROR_EXPECT)
        expectation_text(row->code, buf, cap);
    else if (row->source >= PART_ERROR_FAULT)
        fault_text((enum client_fault)(row->source - PART_ERROR_FAULT), row->code, buf, cap);
    else
        outcome_text((enum outcome)row->source, row->code, buf, cap);
}

static void add_errors(const struct part *p, struct snapshot *s)
{
    for (uint32_t i = 0; i < p->n_errors; i++) {
        char text[SNAPSHOT_ERROR_TEXT];
        error_text(&p->errors[i], text, sizeof text);
        snapshot_add_error(s, text, p->errors[i].count);
    }
    s->errors_other += p->errors_other;
}

static void add_suites(const struct part *p, struct snapshot *s)
{
    for (uint32_t i = 0; i < p->n_suites; i++) {
        char text[SNAPSHOT_ERROR_TEXT];
        snprintf(text, sizeof text, "%s %s", p->suites[i].version, p->suites[i].cipher);
        snapshot_add_suite(s, text, p->suites[i].count);
    }
}

static void add_addresses(const struct part *p, struct snapshot *s)
{
    for (uint32_t i = 0; i < p->n_addresses; i++) {
        char text[TARGET_TEXT];
        target_addr_text(&p->addresses[i].to, text, sizeof text);
        snapshot_add_address(s, text, p->addresses[i].count);
    }
}

static void add_hist(const struct hist_rec *from, struct series *to, enum hist_kind k)
{
    if (from->total > 0)
        hist_rec_add_to(from, series_hist(to, k));
}

static enum err add_row(const struct part *p, uint32_t row, struct snapshot *s)
{
    static const struct counters none = {0};
    const struct part_row *r = &p->rows[row];
    if (row > 0 && counters_equal(&r->counters, &none))
        return ERR_OK;
    struct series *to =
        snapshot_series(s, series_map_stage(p->series, row), series_map_name(p->series, row));
    if (to == NULL)
        return ERR_TOO_BIG;
    counters_add(&to->counters, &r->counters);
    add_hist(&r->corrected, to, HIST_CORRECTED);
    add_hist(&r->uncorrected, to, HIST_UNCORRECTED);
    for (size_t k = HIST_SEND_LAG; k < HIST_KINDS && row == 0; k++)
        add_hist(&p->hists[k], to, (enum hist_kind)k);
    return ERR_OK;
}

enum err part_add_to(const struct part *p, struct snapshot *s)
{
    add_bounds(p, s);
    for (uint32_t i = 0; i < p->series->n; i++) {
        enum err e = add_row(p, i, s);
        if (e != ERR_OK)
            return e;
    }
    for (size_t code = SNAPSHOT_STATUS_MIN; code <= SNAPSHOT_STATUS_MAX; code++)
        s->status[code] += p->status[code];
    add_errors(p, s);
    add_suites(p, s);
    if (p->first_ns != 0)
        snapshot_note_first(s, p->first_ns, p->document_bytes, p->server);
    if (p->debug != NULL)
        snapshot_note_debug(s, p->debug);
    add_addresses(p, s);
    add_health(p, s);
    return ERR_OK;
}
