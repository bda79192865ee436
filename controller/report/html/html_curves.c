/* SPDX-License-Identifier: MIT */
#include "controller/report/html/html_curves.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/units.h"
#include "controller/report/figures.h"
#include "controller/report/slices.h"

/* --- lines ------------------------------------------------------------------------------------ */

static double rate_of(const struct rate *r)
{
    return (double)r->num / (double)r->den;
}

/* The rate that the plan wanted at that instant; NAN = none. */
static double wanted(const struct result *r, double at_ns)
{
    const struct plan *p = r->plan;
    if (p == NULL || p->rate.num == 0 || at_ns > (double)r->duration_ns)
        return NAN;
    if (p->n_stages == 0)
        return rate_of(&p->rate);
    uint64_t from_ns, to_ns;
    size_t i = plan_stage_at(p, (uint64_t)at_ns);
    slices_stage_bounds(r, (uint32_t)i, &from_ns, &to_ns);
    double begin = rate_of(&p->stages[i].from), end = rate_of(&p->stages[i].to);
    double part = (at_ns - (double)from_ns) / (double)p->stages[i].duration_ns;
    return begin + (end - begin) * fmin(fmax(part, 0), 1);
}

static double latency(const struct result_latency *l, uint64_t value)
{
    return l->count > 0 ? (double)value : NAN;
}

/* What the lines are at one row. A last row that is much shorter than the others, as a run that
 * ends within an interval leaves it, has no rates: a single answer in it would be a peak. */
static void values_of(const struct result *r, size_t i, double values[CURVES_LINES])
{
    const struct result_interval *row = &r->intervals[i];
    uint64_t ns = row->to_ns - row->from_ns;
    uint64_t usual = r->intervals[0].to_ns - r->intervals[0].from_ns;
    bool rates = row->to_ns > row->from_ns && ns >= usual / 2;
    double per_second = rates ? (double)NS_PER_SEC / (double)ns : NAN;
    values[LINE_ACHIEVED] = (double)row->completed * per_second;
    values[LINE_ERRORS] = (double)row->errors * per_second;
    values[LINE_TARGET] = wanted(r, (double)row->from_ns + (double)ns / 2);
    values[LINE_CORRECTED_P50] = latency(&row->corrected, row->corrected.p50);
    values[LINE_CORRECTED_P99] = latency(&row->corrected, row->corrected.p99);
    values[LINE_CORRECTED_MAX] = latency(&row->corrected, row->corrected.max);
    values[LINE_UNCORRECTED_P50] = latency(&row->uncorrected, row->uncorrected.p50);
    values[LINE_UNCORRECTED_P99] = latency(&row->uncorrected, row->uncorrected.p99);
    values[LINE_UNCORRECTED_MAX] = latency(&row->uncorrected, row->uncorrected.max);
}

/* Smallest and largest of a group, and which came first. */
struct extremes {
    double min, max;
    size_t min_at, max_at;
};

static void extend(struct extremes *e, double value, size_t at)
{
    if (isnan(value))
        return;
    if (isnan(e->min) || value < e->min) {
        e->min = value;
        e->min_at = at;
    }
    if (isnan(e->max) || value > e->max) {
        e->max = value;
        e->max_at = at;
    }
}

static void add_group(struct curves *t, const struct result *r, size_t first, size_t last)
{
    struct extremes e[CURVES_LINES];
    double from = (double)r->intervals[first].from_ns, to = (double)r->intervals[last].to_ns;
    for (size_t k = 0; k < CURVES_LINES; k++)
        e[k] = (struct extremes){.min = NAN, .max = NAN};
    for (size_t i = first; i <= last; i++) {
        double values[CURVES_LINES];
        values_of(r, i, values);
        for (size_t k = 0; k < CURVES_LINES; k++)
            extend(&e[k], values[k], i);
    }
    for (size_t half = 0; half < (t->rows > 1 ? 2U : 1U); half++) {
        t->at_ns[t->n] =
            t->rows > 1 ? from + (to - from) * (half == 0 ? 0.25 : 0.75) : from + (to - from) / 2;
        for (size_t k = 0; k < CURVES_LINES; k++)
            t->line[k][t->n] = (e[k].min_at < e[k].max_at) == (half == 0) ? e[k].min : e[k].max;
        t->n++;
    }
}

struct curves curves_of(const struct result *r, size_t points)
{
    struct curves t = {.rows = 1, .to_ns = figures_elapsed_ns(r)};
    if (r->view.partial && r->view.to_ns > r->view.from_ns) {
        t.from_ns = r->view.from_ns;
        t.to_ns = r->view.to_ns;
    }
    if (r->n_intervals > points)
        t.rows = (r->n_intervals + points / 2 - 1) / (points / 2); /* two points a group */
    size_t room = 2 * (r->n_intervals / t.rows + 1);
    t.at_ns = mem_calloc(room, sizeof *t.at_ns);
    for (size_t k = 0; k < CURVES_LINES; k++)
        t.line[k] = mem_calloc(room, sizeof *t.line[k]);
    for (size_t i = 0; i < r->n_intervals; i += t.rows) {
        size_t last = i + t.rows - 1;
        add_group(&t, r, i, last < r->n_intervals ? last : r->n_intervals - 1);
    }
    if (r->n_intervals > 0 && r->intervals[r->n_intervals - 1].to_ns > t.to_ns)
        t.to_ns = r->intervals[r->n_intervals - 1].to_ns;
    return t;
}

void curves_clear(struct curves *t)
{
    mem_free(t->at_ns);
    for (size_t k = 0; k < CURVES_LINES; k++)
        mem_free(t->line[k]);
    *t = (struct curves){0};
}

bool curves_range(const struct curves *t, enum curve line, double *min, double *max)
{
    struct extremes e = {.min = NAN, .max = NAN};
    for (size_t i = 0; i < t->n; i++)
        extend(&e, t->line[line][i], i);
    *min = e.min;
    *max = e.max;
    return !isnan(e.min);
}

/* --- bands ------------------------------------------------------------------------------------ */

const char *band_kind_name(enum band_kind k)
{
    static const char *const names[] = {"stage", "warmup", "stall", "lost"};
    return names[k];
}

/* NULL where there is no room or nothing of it within the axis. */
static struct band *add_band(struct bands *b, const struct curves *t, enum band_kind kind,
                             uint64_t from_ns, uint64_t to_ns)
{
    if (from_ns < t->from_ns)
        from_ns = t->from_ns;
    if (to_ns > t->to_ns)
        to_ns = t->to_ns;
    if (b->n >= BANDS_MAX || to_ns <= from_ns)
        return NULL;
    struct band *one = &b->items[b->n++];
    *one = (struct band){.kind = kind, .from_ns = from_ns, .to_ns = to_ns};
    return one;
}

static void add_stages(struct bands *b, const struct result *r, const struct curves *t)
{
    for (uint32_t i = 0; r->plan != NULL && i < r->plan->n_stages; i++) {
        uint64_t from_ns, to_ns;
        char text[PLAN_STAGE_TEXT];
        slices_stage_bounds(r, i, &from_ns, &to_ns);
        struct band *one = add_band(b, t, BAND_STAGE, from_ns, to_ns);
        if (one != NULL)
            snprintf(one->text, sizeof one->text, "%" PRIu32 ": %s", i + 1,
                     plan_stage_text(&r->plan->stages[i], text));
    }
}

static void add_warmup(struct bands *b, const struct result *r, const struct curves *t)
{
    struct band *one = add_band(b, t, BAND_WARMUP, 0, result_warmup_ns(r));
    if (one != NULL)
        snprintf(one->text, sizeof one->text, "warm-up");
}

/* Neighbouring rows that lack as many agents are one band. */
static void add_lost(struct bands *b, const struct result *r, const struct curves *t)
{
    for (size_t i = 0; i < r->n_intervals;) {
        uint32_t lost = r->intervals[i].agents_lost;
        size_t end = i + 1;
        while (end < r->n_intervals && r->intervals[end].agents_lost == lost)
            end++;
        struct band *one = NULL;
        if (lost > 0)
            one = add_band(b, t, BAND_LOST, r->intervals[i].from_ns, r->intervals[end - 1].to_ns);
        if (one != NULL)
            snprintf(one->text, sizeof one->text, "%" PRIu32 " agent%s lost", lost,
                     lost == 1 ? "" : "s");
        i = end;
    }
}

/* How long a stall must be to have its place: of more than there are places, the longest have one.
 */
static uint64_t shortest_shown(const struct result *r, size_t places)
{
    uint64_t least = 0;
    for (;;) {
        size_t n = 0;
        uint64_t shortest = UINT64_MAX;
        for (size_t i = 0; i < r->n_stalls; i++) {
            uint64_t ns = r->stalls[i].length_ns;
            if (ns < least)
                continue;
            n++;
            if (ns < shortest)
                shortest = ns;
        }
        if (n <= places)
            return least;
        least = shortest > least ? shortest + shortest / 8 + 1 : least + least / 8 + 1;
    }
}

static void add_stalls(struct bands *b, const struct result *r, const struct curves *t)
{
    uint64_t least = shortest_shown(r, BANDS_MAX - b->n);
    for (size_t i = 0; i < r->n_stalls; i++) {
        const struct stall *s = &r->stalls[i];
        char length[UNITS_TEXT];
        struct band *one = NULL;
        if (s->length_ns >= least)
            one = add_band(b, t, BAND_STALL, s->begin_ns, s->begin_ns + s->length_ns);
        else
            b->left_out++;
        if (one != NULL)
            snprintf(one->text, sizeof one->text, "stall of %s%s", s->open ? "at least " : "",
                     units_format_latency(s->length_ns, length));
    }
}

struct bands *bands_of(const struct result *r, const struct curves *t)
{
    struct bands *b = mem_calloc(1, sizeof *b);
    add_stages(b, r, t);
    add_warmup(b, r, t);
    add_lost(b, r, t);
    add_stalls(b, r, t);
    return b;
}
