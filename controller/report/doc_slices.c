/* SPDX-License-Identifier: MIT */
#include "common/mem.h"
#include "controller/report/doc.h"
#include "controller/report/figures.h"
#include "controller/report/slices.h"

static void set_key(json_t *o, const struct result *r, const struct slice *s, enum slice_by by)
{
    uint64_t from, to;
    if (by != SLICE_NAME) {
        slices_stage_bounds(r, s->stage, &from, &to);
        doc_set(o, "stage", doc_integer(s->stage));
        doc_set(o, "from_ns", doc_integer(from));
        doc_set(o, "to_ns", doc_integer(to));
    }
    if (by != SLICE_STAGE)
        doc_set(o, "name", doc_text(s->name));
}

static json_t *rate_of(const struct slice *s)
{
    json_t *o = json_object();
    doc_set(o, "target", s->target > 0 ? doc_real(s->target) : NULL);
    doc_set(o, "achieved", s->ns > 0 ? doc_real(s->achieved) : NULL);
    return o;
}

json_t *doc_slices(const struct result *r, enum slice_by by)
{
    json_t *all = json_array();
    if (!slices_any(r, by))
        return all;
    struct slices slices = slices_of(r, r->total, by);
    for (size_t i = 0; i < slices.n; i++) {
        const struct slice *s = &slices.items[i];
        json_t *o = json_object(), *latency = json_object();
        set_key(o, r, s, by);
        doc_set(latency, "corrected", doc_figures(s->corrected));
        doc_set(latency, "uncorrected", doc_figures(s->uncorrected));
        doc_set(o, "rate", rate_of(s));
        doc_set(o, "totals", doc_ledger(&s->c));
        doc_set(o, "latency", latency);
        json_array_append_new(all, o);
    }
    slices_clear(&slices);
    return all;
}

json_t *doc_agent_slices(const struct result *r, const struct snapshot *total, enum slice_by by)
{
    json_t *all = json_array();
    if (!slices_any(r, by))
        return all;
    struct slices slices = slices_of(r, total, by);
    for (size_t i = 0; i < slices.n; i++) {
        const struct slice *s = &slices.items[i];
        json_t *o = json_object();
        if (by == SLICE_STAGE)
            doc_set(o, "stage", doc_integer(s->stage));
        else
            doc_set(o, "name", doc_text(s->name));
        doc_set(o, "requests", doc_integer(s->c.scheduled));
        doc_set(o, "errors", doc_integer(slices_errors(&s->c)));
        doc_set(o, "corrected", doc_short(s->corrected));
        doc_set(o, "uncorrected", doc_short(s->uncorrected));
        json_array_append_new(all, o);
    }
    slices_clear(&slices);
    return all;
}

json_t *doc_warmup(const struct result *r)
{
    if (r->warmup == NULL)
        return NULL;
    struct counters c = snapshot_counters(r->warmup);
    struct hist *corrected = snapshot_hist(r->warmup, HIST_CORRECTED);
    struct hist *uncorrected = snapshot_hist(r->warmup, HIST_UNCORRECTED);
    json_t *o = json_object();
    doc_set(o, "duration_ns", doc_integer(result_warmup_ns(r)));
    doc_set(o, "totals", doc_ledger(&c));
    doc_set(o, "corrected", doc_short(corrected));
    doc_set(o, "uncorrected", doc_short(uncorrected));
    hist_free(corrected);
    hist_free(uncorrected);
    return o;
}
