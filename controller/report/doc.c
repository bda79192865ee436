/* SPDX-License-Identifier: MIT */
#include "controller/report/doc.h"

#include <math.h>

#include "common/mem.h"
#include "controller/report/figures.h"

void doc_set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value != NULL ? value : json_null());
}

json_t *doc_integer(uint64_t v)
{
    return v <= INT64_MAX ? json_integer((json_int_t)v) : json_null();
}

json_t *doc_real(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

/* Peers' and users' text: what is not UTF-8 loses its foreign bytes rather than the report. */
json_t *doc_text(const char *text)
{
    json_t *s = json_string(text);
    if (s != NULL)
        return s;
    char *copy = mem_strdup(text);
    for (char *p = copy; *p != '\0'; p++)
        if ((unsigned char)*p >= 128)
            *p = '?';
    s = json_string(copy);
    mem_free(copy);
    return s;
}

/* --- distributions ---------------------------------------------------------------------------- */

/* Keys of percentiles that the sample cannot support: there, but not to be relied on. */
static json_t *unsupported(const bool supported[FIGURES_PERCENTILES])
{
    json_t *keys = json_array();
    for (size_t i = 0; i < FIGURES_PERCENTILES; i++)
        if (!supported[i])
            json_array_append_new(keys, json_string(figures_percentiles[i].key));
    return keys;
}

json_t *doc_figures(const struct hist *h)
{
    struct figures f = figures_of(h);
    bool any = f.count > 0;
    json_t *o = json_object(), *percentiles = json_object();
    doc_set(o, "count", doc_integer(f.count));
    doc_set(o, "min", any ? doc_integer(f.min) : NULL);
    doc_set(o, "mean", any ? doc_integer((uint64_t)(f.mean + 0.5)) : NULL);
    doc_set(o, "stddev", any ? doc_integer((uint64_t)(f.stddev + 0.5)) : NULL);
    doc_set(o, "max", any ? doc_integer(f.max) : NULL);
    for (size_t i = 0; i < FIGURES_PERCENTILES; i++)
        doc_set(percentiles, figures_percentiles[i].key, any ? doc_integer(f.at[i]) : NULL);
    doc_set(o, "percentiles", percentiles);
    doc_set(o, "unsupported", unsupported(f.supported));
    return o;
}

static json_t *doc_all_due(const struct snapshot *s, const struct hist *corrected)
{
    struct figures_all_due f = figures_all_due(s, corrected);
    bool any = hist_count(corrected) > 0, whole = any && f.incomplete == 0;
    json_t *o = json_object(), *percentiles = json_object();
    doc_set(o, "count", doc_integer(f.count));
    doc_set(o, "min", any ? doc_integer(hist_min(corrected)) : NULL);
    doc_set(o, "mean", whole ? doc_integer((uint64_t)(hist_mean_exact(corrected) + 0.5)) : NULL);
    doc_set(o, "stddev", whole ? doc_integer((uint64_t)(hist_stddev(corrected) + 0.5)) : NULL);
    doc_set(o, "max", whole ? doc_integer(hist_max(corrected)) : NULL);
    for (size_t i = 0; i < FIGURES_PERCENTILES; i++)
        doc_set(percentiles, figures_percentiles[i].key, f.known[i] ? doc_integer(f.at[i]) : NULL);
    doc_set(o, "percentiles", percentiles);
    doc_set(o, "unsupported", unsupported(f.supported));
    doc_set(o, "limit", f.incomplete > 0 && f.limit > 0 ? doc_integer(f.limit) : NULL);
    return o;
}

json_t *doc_latency(const struct result *r, const struct snapshot *s)
{
    json_t *o = json_object();
    struct hist *corrected = snapshot_hist(s, HIST_CORRECTED);
    struct hist *uncorrected = snapshot_hist(s, HIST_UNCORRECTED);
    json_t *first = doc_figures(corrected), *second = doc_figures(uncorrected);
    if (s == r->total) {
        doc_confidence(first, r, corrected, BLOCKS_CORRECTED);
        doc_confidence(second, r, uncorrected, BLOCKS_UNCORRECTED);
    }
    doc_set(o, "corrected", first);
    doc_set(o, "uncorrected", second);
    /* A closed loop has no due times: what was sent is what was due. */
    if (result_is_window(r))
        doc_set(o, "all_due", NULL);
    else
        doc_set(o, "all_due", doc_all_due(s, result_one_clock(r) ? uncorrected : corrected));
    hist_free(corrected);
    hist_free(uncorrected);
    return o;
}

json_t *doc_lag(const struct snapshot *s)
{
    static const enum hist_kind kinds[] = {HIST_SEND_LAG, HIST_WAIT, HIST_RECEIVE};
    json_t *all = json_object();
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct hist *h = snapshot_hist(s, kinds[i]);
        json_t *o = doc_figures(h);
        if (kinds[i] == HIST_SEND_LAG)
            doc_set(o, "late", doc_integer(snapshot_counters(s).late));
        doc_set(all, hist_kind_name(kinds[i]), o);
        hist_free(h);
    }
    return all;
}

json_t *doc_row_latency(const struct result_latency *l)
{
    json_t *o = json_object();
    bool any = l->count > 0;
    doc_set(o, "count", doc_integer(l->count));
    doc_set(o, "min", any ? doc_integer(l->min) : NULL);
    doc_set(o, "mean", any ? doc_integer(l->mean) : NULL);
    doc_set(o, "p50", any ? doc_integer(l->p50) : NULL);
    doc_set(o, "p99", any ? doc_integer(l->p99) : NULL);
    doc_set(o, "max", any ? doc_integer(l->max) : NULL);
    return o;
}

json_t *doc_short(const struct hist *h)
{
    struct figures f = figures_of(h);
    struct result_latency l = {.count = f.count};
    if (f.count > 0)
        l = (struct result_latency){.count = f.count,
                                    .min = f.min,
                                    .mean = (uint64_t)(f.mean + 0.5),
                                    .p50 = figures_at(h, 50),
                                    .p99 = figures_at(h, 99),
                                    .max = f.max};
    return doc_row_latency(&l);
}

json_t *doc_ledger(const struct counters *c)
{
    const struct {
        const char *key;
        uint64_t value;
    } rows[] = {
        {"scheduled", c->scheduled},     {"sent", c->sent},
        {"unsent", counters_unsent(c)},  {"dropped", c->unsent_dropped},
        {"completed", c->completed},     {"ok", c->ok},
        {"http_errors", c->http_errors}, {"failed", counters_failed(c)},
        {"timeouts", c->timeouts},       {"unfinished", c->unfinished},
        {"unexpected", c->unexpected},
    };
    json_t *o = json_object();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        doc_set(o, rows[i].key, doc_integer(rows[i].value));
    return o;
}
