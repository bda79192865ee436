/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "controller/report/html/html.h"
#include "controller/report/html/html_page.h"
#include "controller/report/html/html_table.h"
#include "controller/run/confidence.h"

/* The table of latencies: both clocks, how far the main one's can be trusted, and all that was due.
 */

#define SPACE     "\xe2\x80\xaf"
#define AT_LEAST  "\xe2\x89\xa5 "
#define AT_MOST   "\xe2\x89\xa4 "
#define TAIL_FROM 99 /* percentiles from which on the independent events are told */
#define COLUMNS   5

struct latency {
    const struct html_page *p;
    struct html_table t;
    struct confidence due[FIGURES_PERCENTILES], sent[FIGURES_PERCENTILES];
    size_t parts;
    uint64_t part_ns;
};

static void trust(struct latency *l)
{
    const struct html_page *p = l->p;
    enum blocks_clock main = p->one_clock ? BLOCKS_UNCORRECTED : BLOCKS_CORRECTED;
    struct confidence_run *due = confidence_new(p->r->blocks, main);
    struct confidence_run *sent = confidence_new(p->r->blocks, BLOCKS_UNCORRECTED);
    for (size_t i = 0; i < FIGURES_PERCENTILES; i++) {
        l->due[i] = confidence_at(due, p->corrected, figures_percentiles[i].p);
        l->sent[i] = confidence_at(sent, p->uncorrected, figures_percentiles[i].p);
    }
    l->parts = confidence_parts(due);
    l->part_ns = confidence_part_ns(due);
    confidence_free(due);
    confidence_free(sent);
}

/* --- rows ------------------------------------------------------------------------------------- */

static void limit_cell(struct html_table *t, uint64_t limit_ns)
{
    char text[HTML_NUMBER];
    html_cell(t, AT_LEAST "%s", html_latency(limit_ns, text));
}

/* "1.18-1.23 ms": the unit once where it is the same. */
static void interval_cell(struct html_table *t, const struct confidence *c)
{
    char lo[HTML_NUMBER], hi[HTML_NUMBER];
    html_latency(c->lo, lo);
    html_latency(c->hi, hi);
    size_t digits = strspn(lo, "0123456789.");
    if (c->has_hi && strcmp(lo + digits, hi + strspn(hi, "0123456789.")) == 0)
        lo[digits] = '\0';
    if (c->lo == 0 && !c->has_hi)
        html_cell_text(t, "-");
    else if (c->lo == 0)
        html_cell(t, AT_MOST "%s", hi);
    else if (c->has_hi)
        html_cell(t, "%s\xe2\x80\x93%s", lo, hi);
    else
        html_cell(t, AT_LEAST "%s", lo);
}

/* min, mean and max: exact, so without an interval. */
static void row_fixed(struct latency *l, const char *name, uint64_t due, uint64_t sent)
{
    html_row(&l->t);
    html_cell_text(&l->t, name);
    html_cell_latency(&l->t, due, false);
    html_cell_text(&l->t, "");
    if (!l->p->one_clock)
        html_cell_latency(&l->t, sent, false);
}

static void row_percentile(struct latency *l, size_t i)
{
    const struct html_page *p = l->p;
    html_row(&l->t);
    html_cell(&l->t, "%s" SPACE "%%", figures_percentiles[i].key);
    html_cell_latency(&l->t, p->due.at[i], !l->due[i].supported);
    interval_cell(&l->t, &l->due[i]);
    if (!p->one_clock)
        html_cell_latency(&l->t, p->sent.at[i], !l->sent[i].supported);
    if (p->with_all && p->all.known[i])
        html_cell_latency(&l->t, p->all.at[i], !p->all.supported[i]);
    else if (p->with_all)
        limit_cell(&l->t, p->all.limit);
    html_row_end(&l->t);
}

static void rows(struct latency *l)
{
    const struct html_page *p = l->p;
    row_fixed(l, "min", p->due.min, p->sent.min);
    if (p->with_all)
        html_cell_latency(&l->t, p->due.min, false);
    html_row_end(&l->t);
    row_fixed(l, "mean", (uint64_t)(p->due.mean + 0.5), (uint64_t)(p->sent.mean + 0.5));
    if (p->with_all)
        html_cell_text(&l->t, "-");
    html_row_end(&l->t);
    for (size_t i = 0; i < FIGURES_PERCENTILES; i++)
        row_percentile(l, i);
    row_fixed(l, "max", p->due.max, p->sent.max);
    if (p->with_all)
        limit_cell(&l->t, p->all.limit);
    html_row_end(&l->t);
}

/* --- notes ------------------------------------------------------------------------------------ */

static void note_confidence(const struct latency *l)
{
    FILE *out = l->p->out;
    char length[HTML_NUMBER];
    const char *glue = ". Independent events beyond it: ";
    fprintf(out, "<p class=\"note\">The percentile lies in its interval with 95" SPACE
                 "%% confidence, judged ");
    if (l->due[0].method == CONFIDENCE_INDEPENDENT || l->due[0].method == CONFIDENCE_NONE)
        fprintf(out, "as if no request depended on another: the run is too short to see bursts");
    else
        fprintf(out, "by how much %zu parts of %s differ%s", l->parts,
                html_latency(l->part_ns, length),
                l->due[0].method == CONFIDENCE_SHORT_BLOCKS ? " (a short run: a rough one)" : "");
    for (size_t i = 0; i < FIGURES_PERCENTILES; i++) {
        if (figures_percentiles[i].p < TAIL_FROM || l->due[i].tail_events < 0.05)
            continue;
        fprintf(out, "%s%s" SPACE "%% %.*f", glue, figures_percentiles[i].key,
                l->due[i].tail_events < 10, l->due[i].tail_events);
        glue = ", ";
    }
    fprintf(out, ".</p>\n");
}

/* Which percentiles are marked, and what they need. */
static void note_weak(const struct latency *l)
{
    char n[HTML_NUMBER];
    bool any = false;
    for (size_t i = 0; i < FIGURES_PERCENTILES; i++) {
        if (l->due[i].supported)
            continue;
        fprintf(l->p->out,
                any ? ", %s" SPACE "%% needs %s"
                    : "<p class=\"note\">~ too few samples: %s" SPACE "%% needs %s",
                figures_percentiles[i].key, html_count(l->due[i].needed, n));
        any = true;
    }
    if (any)
        fprintf(l->p->out, "</p>\n");
}

static void note_all_due(const struct html_page *p)
{
    char some[HTML_NUMBER], whole[HTML_NUMBER];
    if (p->with_all)
        fprintf(p->out,
                "<p class=\"note\">All due: corrected, and the %s of %s requests that never "
                "completed count as slowest.</p>\n",
                html_count(p->all.incomplete, some), html_count(p->all.count, whole));
}

void html_table_latency(const struct html_page *p)
{
    struct html_column columns[COLUMNS] = {{"percentile", false},
                                           {p->one_clock ? "latency" : "corrected", true},
                                           {"95 % interval", true}};
    struct latency l = {.p = p};
    size_t n = 3;
    if (p->due.count == 0) {
        fprintf(p->out, "<p class=\"note\">No request completed, so there is no latency.</p>\n");
        return;
    }
    trust(&l);
    if (!p->one_clock)
        columns[n++] = (struct html_column){"uncorrected", true};
    if (p->with_all)
        columns[n++] = (struct html_column){"all due", true};
    l.t = html_table_begin(p->out, "t-latency", "Percentiles", columns, n);
    rows(&l);
    html_table_end(&l.t);
    note_all_due(p);
    note_confidence(&l);
    note_weak(&l);
}
