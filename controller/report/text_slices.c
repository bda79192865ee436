/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "common/units.h"
#include "controller/report/figures.h"
#include "controller/report/text.h"

/* Two tables: what was sent, and how long it took. */

#define ROWS_SHOWN 12
#define LABEL      18 /* columns of a row's name, the blank behind it included */
#define CLOCK      8
#define COLUMN     10
#define NAME       28 /* the same where there is room */
#define RATE       12
#define LABEL_TEXT 128

static const double percentiles[] = {50, 90, 99, 99.9};
#define N_PERCENTILES (sizeof percentiles / sizeof percentiles[0])

struct table {
    FILE *out;
    const struct result *r;
    enum slice_by by;
    struct slices slices;
    size_t shown, rows[ROWS_SHOWN]; /* which, by their number */
};

/* Cut to `width` columns at most; a character of several bytes counts as one. */
static void label(FILE *out, const char *text, int width)
{
    int columns = 0, room = width - 1;
    size_t len = 0, cut = 0;
    for (; text[len] != '\0' && columns <= room; len++) {
        columns += ((unsigned char)text[len] & 0xc0) != 0x80;
        if (columns <= room - 2)
            cut = len + 1;
    }
    bool whole = columns <= room;
    for (size_t i = 0; i < (whole ? len : cut); i++)
        fputc((unsigned char)text[i] < 32 || text[i] == 127 ? '?' : text[i], out);
    fprintf(out, "%s%*s", whole ? "" : "..", width - (whole ? columns : room), "");
}

static void name_of(const struct table *t, size_t i, char out[LABEL_TEXT])
{
    const struct slice *s = &t->slices.items[i];
    const struct plan *p = t->r->plan;
    char stage[PLAN_STAGE_TEXT];
    if (t->by == SLICE_NAME)
        snprintf(out, LABEL_TEXT, "%s", s->name[0] != '\0' ? s->name : "(no name)");
    else if (p != NULL && s->stage < p->n_stages)
        snprintf(out, LABEL_TEXT, "%" PRIu32 "  %s", s->stage + 1,
                 plan_stage_text(&p->stages[s->stage], stage));
    else
        snprintf(out, LABEL_TEXT, "%" PRIu32, s->stage + 1);
}

static void row_label(const struct table *t, size_t i, int width)
{
    char text[LABEL_TEXT];
    name_of(t, i, text);
    fprintf(t->out, "    ");
    label(t->out, text, width);
}

static void cell_rate(FILE *out, double rate, bool known)
{
    if (known)
        fprintf(out, rate > 0 && rate < 0.1 ? "%*.3g" : "%*.2f", RATE, rate);
    else
        fprintf(out, "%*s", RATE, "-");
}

static void row_counts(const struct table *t, size_t i)
{
    const struct slice *s = &t->slices.items[i];
    row_label(t, i, NAME);
    cell_rate(t->out, s->target, s->target > 0);
    cell_rate(t->out, s->achieved, s->ns > 0);
    fprintf(t->out, "%*" PRIu64 "%*" PRIu64 "\n", RATE, s->c.scheduled, RATE, slices_errors(&s->c));
}

static void row_clock(const struct table *t, const struct hist *h)
{
    struct text_row row = {.out = t->out};
    uint64_t n = hist_count(h);
    for (size_t i = 0; i < N_PERCENTILES; i++)
        text_cell_latency(&row, COLUMN, figures_at(h, percentiles[i]),
                          !result_supports(percentiles[i], n));
    text_cell_latency(&row, COLUMN, hist_max(h), false);
    fputc('\n', t->out);
}

static void row_latency(const struct table *t, size_t i)
{
    const struct slice *s = &t->slices.items[i];
    bool one = result_one_clock(t->r);
    row_label(t, i, LABEL);
    if (hist_count(s->uncorrected) == 0) {
        fprintf(t->out, "%*s\n", CLOCK + COLUMN, "no answers");
        return;
    }
    fprintf(t->out, "%-*s", CLOCK, one ? "" : "corr.");
    row_clock(t, one ? s->uncorrected : s->corrected);
    if (one)
        return;
    fprintf(t->out, "    %*s%-*s", LABEL, "", CLOCK, "uncorr.");
    row_clock(t, s->uncorrected);
}

static void write_more(const struct table *t)
{
    if (t->shown < t->slices.n)
        fprintf(t->out, "    and %zu more with fewer errors or lower p99: see --json\n",
                t->slices.n - t->shown);
}

/* --- which rows ------------------------------------------------------------------------------- */

static bool is_worse(const struct result *r, const struct slice *a, const struct slice *b)
{
    uint64_t errors_a = slices_errors(&a->c), errors_b = slices_errors(&b->c);
    bool one = result_one_clock(r);
    if (errors_a != errors_b)
        return errors_a > errors_b;
    return figures_at(one ? a->uncorrected : a->corrected, 99) >
           figures_at(one ? b->uncorrected : b->corrected, 99);
}

/* The worst stay, in their order. */
static void choose(struct table *t)
{
    size_t n = t->slices.n;
    t->shown = 0;
    for (size_t i = 0; i < n; i++) {
        size_t worse = 0;
        for (size_t k = 0; k < n; k++)
            worse += is_worse(t->r, &t->slices.items[k], &t->slices.items[i]) ||
                     (k < i && !is_worse(t->r, &t->slices.items[i], &t->slices.items[k]));
        if (worse < ROWS_SHOWN)
            t->rows[t->shown++] = i;
    }
}

void text_slices(FILE *out, const struct result *r, enum slice_by by)
{
    if (!slices_any(r, by))
        return;
    struct table t = {.out = out, .r = r, .by = by, .slices = slices_of(r, r->total, by)};
    choose(&t);
    fprintf(out, "  %-*s%*s%*s%*s%*s\n", NAME + 2, by == SLICE_STAGE ? "Stage" : "Request", RATE,
            "target/s", RATE, "achieved/s", RATE, "requests", RATE, "errors");
    for (size_t i = 0; i < t.shown; i++)
        row_counts(&t, t.rows[i]);
    write_more(&t);
    fprintf(out, "  %-*s%*s%*s%*s%*s%*s\n", LABEL + 2 + CLOCK,
            by == SLICE_STAGE ? "Latency by stage" : "Latency by request", COLUMN, "50%", COLUMN,
            "90%", COLUMN, "99%", COLUMN, "99.9%", COLUMN, "max");
    for (size_t i = 0; i < t.shown; i++)
        row_latency(&t, t.rows[i]);
    write_more(&t);
    fputc('\n', out);
    slices_clear(&t.slices);
}

/* --- the warm-up ------------------------------------------------------------------------------ */

static void clock_of(struct text_flow *f, const struct hist *h, const char *glue, const char *name)
{
    char p50[UNITS_TEXT], p99[UNITS_TEXT];
    if (hist_count(h) > 0)
        text_item(f, glue, "%s p50 %s, p99 %s", name, units_format_latency(figures_at(h, 50), p50),
                  units_format_latency(figures_at(h, 99), p99));
}

void text_warmup(FILE *out, const struct result *r)
{
    if (r->warmup == NULL)
        return;
    char length[UNITS_TEXT];
    struct counters c = snapshot_counters(r->warmup);
    struct hist *corrected = snapshot_hist(r->warmup, HIST_CORRECTED);
    struct hist *uncorrected = snapshot_hist(r->warmup, HIST_UNCORRECTED);
    struct text_flow f = text_begin(out, "Warm-up");
    text_item(&f, "", "the first %s:", units_format_duration(result_warmup_ns(r), length));
    text_item(&f, " ", "%" PRIu64 " requests, %" PRIu64 " ok, %" PRIu64 " errors", c.scheduled,
              c.ok, slices_errors(&c));
    text_item(&f, "; ", "in no other figure");
    text_end(&f);
    f = text_begin(out, "");
    clock_of(&f, corrected, "", "corrected");
    clock_of(&f, uncorrected, "; ", hist_count(corrected) > 0 ? "uncorrected" : "from the send");
    if (f.items == 0)
        text_item(&f, "", "none was answered");
    text_end(&f);
    fputc('\n', out);
    hist_free(corrected);
    hist_free(uncorrected);
}
