/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "common/clock.h"
#include "common/units.h"
#include "controller/report/text.h"
#include "controller/report/timeline.h"

#define WINDOW  15 /* "1h2m3s-1h2m4s" */
#define COUNT   12
#define LATENCY 10
#define CLOCKS  3 /* figures of each */

/* How the run went: a line for the slow ones, one for the rate, and its worst moment. */

static const char *window(const struct result_interval *row, char text[2 * UNITS_TEXT])
{
    char from[UNITS_TEXT], to[UNITS_TEXT];
    snprintf(text, 2 * UNITS_TEXT, "%s-%s", units_format_duration(row->from_ns, from),
             units_format_duration(timeline_rounded(row->to_ns), to));
    return text;
}

static void label(FILE *out, const char *text)
{
    fprintf(out, "    %-*s", TEXT_INDENT - 4, text);
}

static void lines(FILE *out, const struct timeline *t, const struct result *r,
                  const struct report_options *o)
{
    char line[TIMELINE_TEXT], least[UNITS_TEXT], most[UNITS_TEXT];
    label(out, "p99, log scale");
    fprintf(out, "%s  %s..%s\n", timeline_p99(t, o->unicode, line),
            units_format_latency(t->p99_min, least), units_format_latency(t->p99_max, most));
    label(out, "requests/sec");
    fprintf(out, "%s  %.5g..%.5g\n", timeline_rate(t, o->unicode, line), t->rate_min, t->rate_max);
    if (timeline_stages(t, r->plan, line)[0] == '\0')
        return;
    label(out, "stage");
    fprintf(out, "%s\n", line);
}

static void worst(FILE *out, const struct timeline *t, const struct result *r)
{
    const struct result_interval *row = &r->intervals[t->worst];
    char text[2 * UNITS_TEXT], p99[UNITS_TEXT], length[UNITS_TEXT];
    label(out, "worst interval");
    struct text_flow f = {.out = out, .indent = TEXT_INDENT, .column = TEXT_INDENT};
    text_item(&f, "", "%s: p99 %s", window(row, text),
              units_format_latency(timeline_latency(r, row)->p99, p99));
    text_item(&f, ", ", "max %s", units_format_latency(timeline_latency(r, row)->max, length));
    if (row->agents_reporting < r->n_agents)
        text_item(&f, ", ", "%" PRIu32 " of %zu agents reporting", row->agents_reporting,
                  r->n_agents);
    if (timeline_stalled(r, row))
        text_item(&f, ", ", "during a stall");
    text_end(&f);
}

/* --- --every -----------------------------------------------------------------------------------
 */

static void group_begin(FILE *out, const struct result_interval *g)
{
    char text[2 * UNITS_TEXT];
    fprintf(out, "    %-*s", WINDOW, window(g, text));
}

static void group_counts(FILE *out, const struct result *r, const struct result_interval *g)
{
    uint64_t ns = g->to_ns - g->from_ns;
    group_begin(out, g);
    fprintf(out, "%*" PRIu64 "%*" PRIu64 "%*" PRIu64 "%*.2f", COUNT, g->sent, COUNT, g->completed,
            COUNT, g->errors, COUNT,
            ns > 0 ? (double)g->completed * (double)NS_PER_SEC / (double)ns : 0.0);
    fprintf(out, "%6" PRIu32 "/%zu\n", g->agents_reporting, r->n_agents);
}

static void group_clock(struct text_row *row, const struct result_latency *l)
{
    const uint64_t values[CLOCKS] = {l->p50, l->p99, l->max};
    for (size_t i = 0; i < CLOCKS; i++) {
        if (l->count > 0)
            text_cell_latency(row, LATENCY, values[i], i == 1 && !result_supports(99, l->count));
        else
            text_cell(row, LATENCY, "-", false);
    }
}

static void group_latency(FILE *out, const struct result *r, const struct result_interval *g)
{
    struct text_row row = {.out = out};
    group_begin(out, g);
    if (!result_one_clock(r))
        group_clock(&row, &g->corrected);
    group_clock(&row, &g->uncorrected);
    fputc('\n', out);
}

static void groups(FILE *out, const struct result *r)
{
    char every[UNITS_TEXT];
    fprintf(out, "  Every %-*s%*s%*s%*s%*s%8s\n", WINDOW - 4,
            units_format_duration(r->every_ns, every), COUNT, "sent", COUNT, "completed", COUNT,
            "errors", COUNT, "rate", "agents");
    for (size_t i = 0; i < r->n_groups; i++)
        group_counts(out, r, &r->groups[i]);
    fputc('\n', out);
    if (!result_one_clock(r))
        fprintf(out, "    %*s%*s\n", WINDOW + CLOCKS * LATENCY, "corrected", CLOCKS * LATENCY,
                "uncorrected");
    fprintf(out, "    %*s%*s%*s", WINDOW + LATENCY, "50%", LATENCY, "99%", LATENCY, "max");
    if (!result_one_clock(r))
        fprintf(out, "%*s%*s%*s", LATENCY, "50%", LATENCY, "99%", LATENCY, "max");
    fputc('\n', out);
    for (size_t i = 0; i < r->n_groups; i++)
        group_latency(out, r, &r->groups[i]);
    fputc('\n', out);
}

void text_timeline(FILE *out, const struct result *r, const struct report_options *o)
{
    struct timeline t = timeline_of(r);
    char each[UNITS_TEXT], from[UNITS_TEXT], to[UNITS_TEXT], column[UNITS_TEXT];
    if (t.rows > 1 && t.p99_max > 0) {
        text_label(out, "Timeline");
        fprintf(out, "%s to %s", units_format_duration(t.from_ns, from),
                units_format_duration(timeline_rounded(t.to_ns), to));
        if (t.per > 1)
            fprintf(out, ", a column for %s: the worst p99 of its %zu intervals\n",
                    units_format_duration(t.per * t.row_ns, column), t.per);
        else
            fprintf(out, ", a column for %s\n", units_format_duration(t.row_ns, each));
        lines(out, &t, r, o);
        worst(out, &t, r);
        fputc('\n', out);
    }
    if (r->n_groups > 0)
        groups(out, r);
}
