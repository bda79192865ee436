/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/redact.h"
#include "common/units.h"
#include "controller/report/doc.h"
#include "controller/report/given.h"

/* Reports are passed around: what is secret stays out of them. */
static json_t *redacted_url(const char *url)
{
    char *shown = mem_calloc(2, PLAN_URL_MAX);
    redact_url(url, shown, 2 * (size_t)PLAN_URL_MAX);
    json_t *s = doc_text(shown);
    mem_free(shown);
    return s;
}

static json_t *redacted_header(const char *line, const char *secret_headers)
{
    char *shown = mem_calloc(2, PLAN_HEADER_LINE_MAX);
    redact_header(line, secret_headers, shown, 2 * (size_t)PLAN_HEADER_LINE_MAX);
    json_t *s = doc_text(shown);
    mem_free(shown);
    return s;
}

static json_t *json_stages(const struct plan *p)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < p->n_stages; i++) {
        const struct stage *s = &p->stages[i];
        json_t *o = json_object();
        char text[PLAN_STAGE_TEXT];
        doc_set(o, "stage", json_string(plan_stage_text(s, text)));
        doc_set(o, "duration_ns", doc_integer(s->duration_ns));
        doc_set(o, "from", doc_real((double)s->from.num / (double)s->from.den));
        doc_set(o, "to", doc_real((double)s->to.num / (double)s->to.den));
        json_array_append_new(all, o);
    }
    return all;
}

static json_t *abort_on(const struct result *r)
{
    json_t *all = json_array();
    for (size_t i = 0; r->abort_on != NULL && i < r->abort_on->n; i++)
        json_array_append_new(all, doc_text(r->abort_on->items[i].text));
    return all;
}

static json_t *entries(const struct plan *p)
{
    json_t *all = json_array();
    for (size_t i = 0; i < p->n_entries; i++) {
        struct plan_request request;
        json_t *o = json_object();
        plan_request_at(p, i, &request);
        doc_set(o, "name", doc_text(request.name));
        doc_set(o, "method", request.method != NULL ? doc_text(request.method) : NULL);
        doc_set(o, "url", request.url != NULL ? redacted_url(request.url) : NULL);
        doc_set(o, "weight", doc_integer(request.weight));
        json_array_append_new(all, o);
    }
    return all;
}

static void add_option(void *arg, const struct given *g)
{
    json_t *all = arg, *list = json_object_get(all, g->name);
    if (g->list && !json_is_array(list)) {
        list = json_array();
        doc_set(all, g->name, list);
    }
    if (g->list)
        json_array_append_new(list, doc_text(g->value));
    else
        doc_set(all, g->name, g->flag ? json_true() : doc_text(g->value));
}

json_t *doc_plan(const struct result *r, const struct report_options *options)
{
    const struct plan *p = r->plan;
    json_t *o = json_object();
    if (p == NULL)
        return o;
    json_t *headers = json_array(), *given = json_object();
    uint64_t connections = 0;
    for (size_t i = 0; i < r->n_agents; i++)
        connections += r->agents[i].connections;
    char rate[UNITS_TEXT];
    bool open = p->rate.num > 0;
    for (size_t i = 0; i < p->headers.n; i++)
        json_array_append_new(headers,
                              redacted_header(p->headers.items[i], options->secret_headers));
    doc_set(o, "url", p->url != NULL ? redacted_url(p->url) : NULL);
    doc_set(o, "method", p->method != NULL ? doc_text(p->method) : NULL);
    doc_set(o, "headers", headers);
    doc_set(o, "body_bytes", doc_integer(p->body_len));
    doc_set(o, "loop", json_string(open ? "open" : "closed"));
    doc_set(o, "stopwatch", json_string(result_one_clock(r) ? "send" : "due"));
    doc_set(o, "rate", open ? json_string(units_format_rate(&p->rate, rate)) : NULL);
    doc_set(o, "stages", json_stages(p));
    doc_set(o, "arrivals", open ? json_string(plan_arrivals_name(p)) : NULL);
    doc_set(o, "seed", plan_is_random(p) ? doc_integer(p->seed) : NULL);
    doc_set(o, "rate_per_agent",
            p->rate_per_agent.num > 0 ? json_string(units_format_rate(&p->rate_per_agent, rate))
                                      : NULL);
    doc_set(o, "jitter_percent", doc_real((double)p->jitter / 1e7));
    doc_set(o, "duration_ns", doc_integer(p->duration_ns));
    doc_set(o, "requests", doc_integer(p->requests));
    doc_set(o, "timeout_ns", doc_integer(p->timeout_ns));
    doc_set(o, "interval_ns", doc_integer(p->interval_ns));
    doc_set(o, "spin_ns", doc_integer(p->spin_ns));
    doc_set(o, "dispatch_quantum_ns", doc_integer(p->dispatch_quantum_ns));
    doc_set(o, "abort_on", abort_on(r));
    doc_set(o, "connections", doc_integer(connections));
    doc_set(o, "threads", p->threads > 0 ? doc_integer(p->threads) : NULL);
    doc_set(o, "warmup_ns", doc_integer(result_warmup_ns(r)));
    doc_set(o, "entries", entries(p));
    given_each(p, options->secret_headers, add_option, given);
    doc_set(o, "options", given);
    return o;
}
