/* SPDX-License-Identifier: MIT */
#include "controller/report/doc.h"
#include "controller/report/peers.h"
#include "controller/report/phases.h"

json_t *doc_phases(const struct snapshot *s)
{
    if (!phases_any(s))
        return NULL;
    json_t *all = json_object();
    for (unsigned p = 0; p < PHASES; p++) {
        struct hist *h = phases_hist(s, (enum phase)p);
        doc_set(all, phases_key((enum phase)p), doc_figures(h));
        hist_free(h);
    }
    return all;
}

static json_t *stats(const struct peers_stats *s)
{
    json_t *o = json_object();
    bool any = s->count > 0;
    doc_set(o, "count", doc_integer(s->count));
    doc_set(o, "mean", any ? doc_real(s->mean) : NULL);
    doc_set(o, "stddev", any ? doc_real(s->stddev) : NULL);
    doc_set(o, "max", any ? doc_real(s->max) : NULL);
    doc_set(o, "within_stddev", any ? doc_real(s->within) : NULL);
    return o;
}

json_t *doc_peers(const struct result *r)
{
    struct peers p = peers_of(r);
    json_t *o = json_object();
    doc_set(o, "time_per_request", p.any ? doc_real(p.time_per_request) : NULL);
    doc_set(o, "time_across_all", p.any ? doc_real(p.time_across) : NULL);
    doc_set(o, "availability", p.any ? doc_real(p.availability) : NULL);
    doc_set(o, "concurrency", p.any ? doc_real(p.concurrency) : NULL);
    doc_set(o, "longest", p.any ? doc_integer(p.longest) : NULL);
    doc_set(o, "shortest", p.any ? doc_integer(p.shortest) : NULL);
    doc_set(o, "latency", stats(&p.latency));
    doc_set(o, "rate", stats(&p.rate));
    return o;
}
