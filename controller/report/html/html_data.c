/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <math.h>

#include "common/mem.h"
#include "controller/report/doc.h"
#include "controller/report/html/html.h"
#include "controller/report/html/html_heat.h"
#include "controller/report/html/html_page.h"
#include "controller/report/html/html_spectrum.h"

/* What the script draws from: the same lines as the static charts, with more points. */

#define LIVE_POINTS 2000

/* Whole numbers where they are large, for size. */
static json_t *number(double v)
{
    if (!isfinite(v))
        return json_null();
    return fabs(v) >= 1000 ? json_integer((json_int_t)llround(v)) : json_real(v);
}

static json_t *numbers(const double *v, size_t n, double unit)
{
    json_t *all = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(all, number(v[i] / unit));
    return all;
}

static json_t *spectrum(const struct html_page *p)
{
    if (p->due.count == 0)
        return NULL;
    struct spectrum s = spectrum_of(p, SPECTRUM_LIVE);
    json_t *o = json_object();
    doc_set(o, "x", numbers(s.x, s.n, 1));
    doc_set(o, "corrected", numbers(s.corrected, s.n, 1));
    doc_set(o, "uncorrected", p->one_clock ? NULL : numbers(s.uncorrected, s.n, 1));
    doc_set(o, "all_due", p->with_all ? numbers(s.all, s.n, 1) : NULL);
    doc_set(o, "supported", number(s.supported));
    spectrum_clear(&s);
    return o;
}

/* Times in seconds. */
static json_t *lines(const struct html_page *p)
{
    static const char *const names[CURVES_LINES] = {
        [LINE_ACHIEVED] = "achieved",   [LINE_TARGET] = "target",
        [LINE_ERRORS] = "errors",       [LINE_CORRECTED_P50] = "c50",
        [LINE_CORRECTED_P99] = "c99",   [LINE_CORRECTED_MAX] = "cmax",
        [LINE_UNCORRECTED_P50] = "u50", [LINE_UNCORRECTED_P99] = "u99",
        [LINE_UNCORRECTED_MAX] = "umax"};
    struct curves t = curves_of(p->r, LIVE_POINTS);
    json_t *o = json_object();
    doc_set(o, "from", number((double)t.from_ns / 1e9));
    doc_set(o, "to", number((double)t.to_ns / 1e9));
    doc_set(o, "x", numbers(t.at_ns, t.n, 1e9));
    for (size_t k = 0; k < CURVES_LINES; k++)
        doc_set(o, names[k], numbers(t.line[k], t.n, 1));
    curves_clear(&t);
    return o;
}

static json_t *bands(const struct html_page *p)
{
    json_t *all = json_array();
    for (size_t i = 0; i < p->bands->n; i++) {
        const struct band *b = &p->bands->items[i];
        json_t *o = json_object();
        doc_set(o, "kind", json_string(band_kind_name(b->kind)));
        doc_set(o, "from", number((double)b->from_ns / 1e9));
        doc_set(o, "to", number((double)b->to_ns / 1e9));
        doc_set(o, "text", doc_text(b->text));
        json_array_append_new(all, o);
    }
    return all;
}

static json_t *counts(const struct heat *h, unsigned clock)
{
    json_t *all = json_array();
    for (size_t i = 0; i < h->columns; i++) {
        json_t *column = json_array();
        for (size_t k = 0; k < h->rows; k++)
            json_array_append_new(column, doc_integer(h->count[clock][i][k]));
        json_array_append_new(all, column);
    }
    return all;
}

static json_t *heat(const struct html_page *p)
{
    struct heat *h = heat_of(p->r);
    if (h == NULL)
        return NULL;
    json_t *o = json_object(), *from = json_array(), *to = json_array();
    for (size_t i = 0; i < h->columns; i++) {
        json_array_append_new(from, number((double)h->from_ns[i] / 1e9));
        json_array_append_new(to, number((double)h->to_ns[i] / 1e9));
    }
    doc_set(o, "from", from);
    doc_set(o, "to", to);
    doc_set(o, "edges", numbers(h->edge_ns, h->rows + 1, 1));
    doc_set(o, "due", counts(h, p->one_clock ? BLOCKS_UNCORRECTED : BLOCKS_CORRECTED));
    doc_set(o, "sent", p->one_clock ? NULL : counts(h, BLOCKS_UNCORRECTED));
    mem_free(h);
    return o;
}

bool html_data(const struct html_page *p)
{
    json_t *o = json_object();
    doc_set(o, "oneClock", json_boolean(p->one_clock));
    doc_set(o, "spectrum", spectrum(p));
    doc_set(o, "time", lines(p));
    doc_set(o, "bands", bands(p));
    doc_set(o, "heat", heat(p));
    fprintf(p->out, "<script type=\"application/json\" id=\"data\">");
    bool good = html_json(p->out, o);
    fprintf(p->out, "</script>\n");
    json_decref(o);
    return good;
}
