/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "controller/report/figures.h"
#include "controller/report/foreign.h"
#include "controller/report/report.h"
#include "controller/report/slices.h"

/*
 * Tables for spreadsheets and pandas: a line of names, then rows (RFC 4180, but lines end in LF
 * only). Times are decimals in the unit of their name, exact to the nanosecond; a figure that does
 * not exist is an empty cell, never 0. docs/formats.md has every column: one may be added behind
 * the others, none is renamed.
 */

/* An exact decimal: ns with so many of its last digits behind the point, after a comma. */
static void cell_decimal(FILE *out, uint64_t ns, uint64_t unit, int digits)
{
    fprintf(out, "%" PRIu64 ".%0*" PRIu64, ns / unit, digits, ns % unit);
}

static void cell_ms(FILE *out, bool known, uint64_t ns)
{
    fputc(',', out);
    if (known)
        cell_decimal(out, ns, NS_PER_MS, 6);
}

static void cell_count(FILE *out, uint64_t n)
{
    fprintf(out, ",%" PRIu64, n);
}

static void cell_rate(FILE *out, uint64_t n, uint64_t ns)
{
    fputc(',', out);
    if (ns > 0)
        fprintf(out, "%.3f", (double)n * (double)NS_PER_SEC / (double)ns);
}

static enum err finish(FILE *out)
{
    return fflush(out) == 0 && !ferror(out) ? ERR_OK : ERR_SYSTEM;
}

/* --- the timeline --------------------------------------------------------------------------- */

#define CLOCK_COLUMNS(clock)                                                                       \
    "," clock "_min_ms," clock "_mean_ms," clock "_p50_ms," clock "_p99_ms," clock "_max_ms"

static void cells_latency(FILE *out, const struct result_latency *l)
{
    const uint64_t figures[] = {l->min, l->mean, l->p50, l->p99, l->max};
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        cell_ms(out, l->count > 0, figures[i]);
}

static void timeline_row(const struct result *r, const struct result_interval *row, FILE *out)
{
    cell_decimal(out, row->from_ns, NS_PER_SEC, 9);
    fputc(',', out);
    cell_decimal(out, row->to_ns, NS_PER_SEC, 9);
    cell_count(out, row->sent);
    cell_count(out, row->completed);
    cell_count(out, row->errors);
    cell_rate(out, row->completed, row->to_ns - row->from_ns);
    cells_latency(out, &row->corrected);
    cells_latency(out, &row->uncorrected);
    cell_count(out, row->backlog);
    cell_count(out, row->agents_reporting);
    cell_count(out, row->agents_lost);
    fputc(',', out);
    if (r->plan != NULL && r->plan->n_stages > 0)
        fprintf(out, "%zu", plan_stage_at(r->plan, row->from_ns) + 1);
    fputc('\n', out);
}

static enum err write_timeline(const struct result *r, const struct report_options *o, FILE *out)
{
    bool grouped = r->every_ns > 0;
    const struct result_interval *rows = grouped ? r->groups : r->intervals;
    size_t n = grouped ? r->n_groups : r->n_intervals;
    (void)o;
    fputs("from_s,to_s,sent,completed,errors,rate" CLOCK_COLUMNS("corrected")
              CLOCK_COLUMNS("uncorrected") ",backlog,agents,agents_lost,stage\n",
          out);
    for (size_t i = 0; i < n; i++)
        timeline_row(r, &rows[i], out);
    return finish(out);
}

const struct report_format report_csv = {.name = "csv",
                                         .suffix = ".csv",
                                         .text = "the timeline as a table, a row per interval",
                                         .write = write_timeline};

/* --- percentiles ---------------------------------------------------------------------------- */

/* Ones that anybody plots, and dense where the tail is. */
static const double percentiles[] = {
    0,     1,      5,      10,      20,      25,       30,   40,     50,    60,
    70,    75,     80,     85,      90,      92.5,     95,   96,     97,    97.5,
    98,    98.5,   99,     99.25,   99.5,    99.75,    99.9, 99.925, 99.95, 99.975,
    99.99, 99.995, 99.999, 99.9995, 99.9999, 99.99999, 100,
};

static void cell_percentile(FILE *out, const struct hist *h, double p)
{
    uint64_t value = p > 0 ? figures_at(h, p) : hist_min(h);
    cell_ms(out, hist_count(h) > 0, value);
}

/* The fastest is the fastest; beyond what completed there is no figure. */
static void cell_all_due(FILE *out, const struct snapshot *s, const struct hist *h, double p)
{
    uint64_t value = hist_min(h);
    bool known = hist_count(h) > 0 && (p <= 0 || result_all_due(s, h, p, &value));
    if (known && value > hist_max(h))
        value = hist_max(h);
    cell_ms(out, known, value);
}

static enum err write_percentiles(const struct result *r, const struct report_options *o, FILE *out)
{
    struct hist *corrected = snapshot_hist(r->total, HIST_CORRECTED);
    struct hist *uncorrected = snapshot_hist(r->total, HIST_UNCORRECTED);
    struct hist *judged = figures_main_hist(r, r->total);
    (void)o;
    fputs("percentile,corrected_ms,uncorrected_ms,all_due_ms\n", out);
    for (size_t i = 0; i < sizeof percentiles / sizeof percentiles[0]; i++) {
        fprintf(out, "%.10g", percentiles[i]);
        cell_percentile(out, corrected, percentiles[i]);
        cell_percentile(out, uncorrected, percentiles[i]);
        cell_all_due(out, r->total, judged, percentiles[i]);
        fputc('\n', out);
    }
    hist_free(corrected);
    hist_free(uncorrected);
    hist_free(judged);
    return finish(out);
}

const struct report_format report_csv_percentiles = {.name = "csv-percentiles",
                                                     .text =
                                                         "percentiles of both clocks as a table",
                                                     .write = write_percentiles};

/* --- the run and its parts ------------------------------------------------------------------ */

static const char *const shown[] = {"50", "90", "95", "99", "99.9"};

static void cells_figures(FILE *out, const struct hist *h)
{
    struct figures f = figures_of(h);
    bool any = f.count > 0;
    cell_ms(out, any, f.min);
    cell_ms(out, any, (uint64_t)(f.mean + 0.5));
    for (size_t i = 0; i < FIGURES_PERCENTILES; i++)
        for (size_t k = 0; k < sizeof shown / sizeof shown[0]; k++)
            if (strcmp(figures_percentiles[i].key, shown[k]) == 0)
                cell_ms(out, any, f.at[i]);
    cell_ms(out, any, f.max);
}

static void summary_row(FILE *out, const char *scope, const char *name, const struct slice *s)
{
    fprintf(out, "%s,", scope);
    foreign_csv(out, name);
    cell_count(out, s->c.scheduled);
    cell_count(out, s->c.sent);
    cell_count(out, s->c.completed);
    cell_count(out, s->c.ok);
    cell_count(out, slices_errors(&s->c));
    cell_rate(out, s->c.completed, s->ns);
    cells_figures(out, s->corrected);
    cells_figures(out, s->uncorrected);
    fputc('\n', out);
}

static void summary_whole(FILE *out, const struct result *r, const struct snapshot *s,
                          const char *scope, const char *name)
{
    struct slice one = {.c = snapshot_counters(s),
                        .ns = figures_measured_ns(r),
                        .corrected = snapshot_hist(s, HIST_CORRECTED),
                        .uncorrected = snapshot_hist(s, HIST_UNCORRECTED)};
    summary_row(out, scope, name, &one);
    hist_free(one.corrected);
    hist_free(one.uncorrected);
}

static void summary_parts(FILE *out, const struct result *r, enum slice_by by, const char *scope)
{
    if (!slices_any(r, by))
        return;
    struct slices all = slices_of(r, r->total, by);
    for (size_t i = 0; i < all.n; i++) {
        char number[16];
        snprintf(number, sizeof number, "%" PRIu32, all.items[i].stage + 1);
        summary_row(out, scope, by == SLICE_STAGE ? number : all.items[i].name, &all.items[i]);
    }
    slices_clear(&all);
}

#define FIGURE_COLUMNS(clock)                                                                      \
    "," clock "_min_ms," clock "_mean_ms," clock "_p50_ms," clock "_p90_ms," clock                 \
    "_p95_ms," clock "_p99_ms," clock "_p99_9_ms," clock "_max_ms"

static enum err write_summary(const struct result *r, const struct report_options *o, FILE *out)
{
    (void)o;
    fputs("scope,name,scheduled,sent,completed,ok,errors,rate" FIGURE_COLUMNS("corrected")
              FIGURE_COLUMNS("uncorrected") "\n",
          out);
    summary_whole(out, r, r->total, "run", r->name);
    summary_parts(out, r, SLICE_STAGE, "stage");
    summary_parts(out, r, SLICE_NAME, "request");
    for (size_t i = 0; i < r->n_agents; i++) {
        const struct result_agent *a = &r->agents[i];
        if (a->total != NULL)
            summary_whole(out, r, a->total, "agent", a->name[0] != '\0' ? a->name : a->address);
    }
    return finish(out);
}

const struct report_format report_csv_summary = {.name = "csv-summary",
                                                 .text = "the run, its stages, requests and agents "
                                                         "as a table, a row each",
                                                 .write = write_summary};
