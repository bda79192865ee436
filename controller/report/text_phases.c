/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "common/units.h"
#include "controller/report/figures.h"
#include "controller/report/peers.h"
#include "controller/report/phases.h"
#include "controller/report/text.h"

/* --latency: where the time goes, and the same run as ab, wrk and siege would show it. */

#define COLUMN 10
#define LABEL  14
#define FIRST  11 /* where the peers' own names end */

static uint64_t rounded(double ns)
{
    return ns > 0 ? (uint64_t)(ns + 0.5) : 0;
}

static void phase_row(FILE *out, enum phase p, const struct hist *h)
{
    struct figures f = figures_of(h);
    struct text_row row = {.out = out};
    if (f.count == 0)
        return;
    fprintf(out, "    %-*s%*" PRIu64, LABEL, phases_label(p), COLUMN, f.count);
    text_cell_latency(&row, COLUMN, rounded(f.mean), false);
    text_cell_latency(&row, COLUMN, rounded(f.stddev), false);
    text_cell_latency(&row, COLUMN, figures_at(h, 50), false);
    text_cell_latency(&row, COLUMN, figures_at(h, 99), !result_supports(99, f.count));
    text_cell_latency(&row, COLUMN, f.max, false);
    fputc('\n', out);
}

void text_phases(FILE *out, const struct result *r)
{
    if (!phases_any(r->total))
        return;
    fprintf(out, "  %-*s%*s%*s%*s%*s%*s%*s\n", LABEL + 2, "Time goes to", COLUMN, "count", COLUMN,
            "mean", COLUMN, "stddev", COLUMN, "50%", COLUMN, "99%", COLUMN, "max");
    for (unsigned p = 0; p < PHASES; p++) {
        struct hist *h = phases_hist(r->total, (enum phase)p);
        phase_row(out, (enum phase)p, h);
        hist_free(h);
    }
    fprintf(out, "    look-up, connect, TLS: each connection's; the others: each request's\n\n");
}

/* --- ab --------------------------------------------------------------------------------------- */

static void ab_line(FILE *out, const struct peers_line *l)
{
    struct text_row row = {.out = out};
    if (!l->any)
        return;
    fprintf(out, "    %-*s%-*s", FIRST, "", LABEL - 2, l->name);
    if (l->only_mean)
        text_cell(&row, COLUMN, "-", false);
    else
        text_cell_latency(&row, COLUMN, l->min, false);
    text_cell_latency(&row, COLUMN, rounded(l->mean), false);
    if (l->only_mean) {
        fprintf(out, "%*s%*s%*s\n", COLUMN, "-", COLUMN, "-", COLUMN, "-");
        return;
    }
    text_cell_latency(&row, COLUMN, rounded(l->stddev), false);
    text_cell_latency(&row, COLUMN, l->median, false);
    text_cell_latency(&row, COLUMN, l->max, false);
    fputc('\n', out);
}

static void ab_percentages(FILE *out, const struct hist *h)
{
    static const double rows[] = {50, 66, 75, 80, 90, 95, 98, 99, 100};
    char text[UNITS_TEXT];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        fprintf(out, "    %-*s%3.0f %%%*s\n", FIRST, "", rows[i], LABEL - 2 + COLUMN - 5,
                units_format_latency(figures_at(h, rows[i]), text));
}

static void ab(FILE *out, const struct result *r, const struct peers *p)
{
    char mean[UNITS_TEXT], across[UNITS_TEXT];
    struct peers_line lines[PEERS_LINES];
    peers_lines(r, lines);
    fprintf(out, "    %-*sTime per request: %s (mean),\n", FIRST, "ab",
            units_format_latency(rounded(p->time_per_request), mean));
    fprintf(out, "    %-*s%s (mean, across all concurrent requests)\n", FIRST, "",
            units_format_latency(rounded(p->time_across), across));
    fprintf(out, "    %-*s%-*s%*s%*s%*s%*s%*s\n", FIRST, "", LABEL - 2, "", COLUMN, "min", COLUMN,
            "mean", COLUMN, "+/-sd", COLUMN, "median", COLUMN, "max");
    for (size_t i = 0; i < PEERS_LINES; i++)
        ab_line(out, &lines[i]);
    struct hist *h = snapshot_hist(r->total, HIST_UNCORRECTED);
    ab_percentages(out, h);
    hist_free(h);
}

/* --- wrk and siege ---------------------------------------------------------------------------- */

static void wrk(FILE *out, const struct peers *p)
{
    struct text_row row = {.out = out};
    fprintf(out, "    %-*s%-*s%*s%*s%*s%*s\n", FIRST, "wrk", LABEL - 2, "Thread Stats", COLUMN,
            "Avg", COLUMN, "Stdev", COLUMN, "Max", COLUMN, "+/- Stdev");
    fprintf(out, "    %-*s%-*s", FIRST, "", LABEL - 2, "Latency");
    text_cell_latency(&row, COLUMN, rounded(p->latency.mean), false);
    text_cell_latency(&row, COLUMN, rounded(p->latency.stddev), false);
    text_cell_latency(&row, COLUMN, rounded(p->latency.max), false);
    fprintf(out, "%*.2f%%\n", COLUMN - 1, 100 * p->latency.within);
    if (p->rate.count == 0)
        return;
    fprintf(out, "    %-*s%-*s%*.2f%*.2f%*.2f%*.2f%%\n", FIRST, "", LABEL - 2, "Req/Sec", COLUMN,
            p->rate.mean, COLUMN, p->rate.stddev, COLUMN, p->rate.max, COLUMN - 1,
            100 * p->rate.within);
}

static void siege(FILE *out, const struct peers *p)
{
    char longest[UNITS_TEXT], shortest[UNITS_TEXT];
    fprintf(out, "    %-*sAvailability %.2f %%, concurrency %.2f\n", FIRST, "siege",
            100 * p->availability, p->concurrency);
    fprintf(out, "    %-*sLongest transaction %s, shortest %s\n", FIRST, "",
            units_format_latency(p->longest, longest), units_format_latency(p->shortest, shortest));
}

void text_peers(FILE *out, const struct result *r)
{
    struct peers p = peers_of(r);
    if (!p.any)
        return;
    fprintf(out, "  For users of ab, wrk and siege: all timed from the send, as these tools do\n");
    ab(out, r, &p);
    wrk(out, &p);
    siege(out, &p);
    fputc('\n', out);
}
