/* SPDX-License-Identifier: MIT */
#include "controller/report/doc.h"
#include "controller/report/figures.h"
#include "controller/run/confidence.h"

static json_t *one(const struct confidence *c)
{
    json_t *o = json_object();
    bool any = c->method != CONFIDENCE_NONE;
    doc_set(o, "lo", any && c->lo > 0 ? doc_integer(c->lo) : NULL);
    doc_set(o, "hi", c->has_hi ? doc_integer(c->hi) : NULL);
    doc_set(o, "method", json_string(confidence_method_name(c->method)));
    doc_set(o, "deff", any ? doc_real(c->deff) : NULL);
    doc_set(o, "tail_events", any ? doc_real(c->tail_events) : NULL);
    doc_set(o, "needed", doc_integer(c->needed));
    doc_set(o, "supported", json_boolean(c->supported));
    doc_set(o, "wide", json_boolean(c->wide));
    return o;
}

void doc_confidence(json_t *distribution, const struct result *r, const struct hist *h,
                    enum blocks_clock clock)
{
    struct confidence_run *run = confidence_new(r->blocks, clock);
    json_t *all = json_object(), *unsupported = json_array();
    for (size_t i = 0; i < FIGURES_PERCENTILES; i++) {
        struct confidence c = confidence_at(run, h, figures_percentiles[i].p);
        doc_set(all, figures_percentiles[i].key, one(&c));
        if (!c.supported)
            json_array_append_new(unsupported, json_string(figures_percentiles[i].key));
    }
    doc_set(distribution, "confidence", all);
    doc_set(distribution, "unsupported", unsupported);
    confidence_free(run);
}

static json_t *change(bool tested, const struct stationarity_change *c)
{
    json_t *o = json_object();
    doc_set(o, "first_ns", tested ? doc_integer(c->first_ns) : NULL);
    doc_set(o, "second_ns", tested ? doc_integer(c->second_ns) : NULL);
    doc_set(o, "ratio", tested && c->ratio > 0 ? doc_real(c->ratio) : NULL);
    doc_set(o, "large", json_boolean(c->large));
    return o;
}

json_t *doc_stationarity(const struct stationarity *s)
{
    json_t *o = json_object();
    doc_set(o, "tested", json_boolean(s->tested));
    doc_set(o, "untested", s->untested != NULL ? json_string(s->untested) : NULL);
    doc_set(o, "changed", json_boolean(s->changed));
    doc_set(o, "split_ns", s->tested ? doc_integer(s->split_ns) : NULL);
    doc_set(o, "p50", change(s->tested, &s->p50));
    doc_set(o, "p99", change(s->tested, &s->p99));
    doc_set(o, "distance", s->tested ? doc_real(s->distance) : NULL);
    doc_set(o, "critical", s->tested ? doc_real(s->critical) : NULL);
    doc_set(o, "rho_p50", s->trended ? doc_real(s->rho_p50) : NULL);
    doc_set(o, "rho_backlog", s->trended ? doc_real(s->rho_backlog) : NULL);
    doc_set(o, "trend", change(s->trended, &s->trend));
    return o;
}
