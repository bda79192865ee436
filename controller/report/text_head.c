/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "common/clock.h"
#include "common/redact.h"
#include "common/units.h"
#include "controller/report/given.h"
#include "controller/report/text.h"

/* What was run. */

#define URL_SHOWN      32 /* characters at least */
#define LOAD_TEXT      112
#define OPTION_SHOWN   44 /* characters of a value */
#define OPTIONS_LISTED 2  /* of a list */

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* A piece more of the description of the load. */
static void add(char load[LOAD_TEXT], const char *fmt, ...) PRINTF_LIKE(2, 3);

static void add(char load[LOAD_TEXT], const char *fmt, ...)
{
    size_t len = strlen(load);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(load + len, LOAD_TEXT - len, fmt, ap);
    va_end(ap);
}

/* Connections that rest are not at full speed. */
static void add_closed_loop(char load[LOAD_TEXT], const struct plan *p)
{
    char least[UNITS_TEXT], most[UNITS_TEXT];
    if (p->think_max_ns == 0) {
        add(load, "closed loop at full speed");
        return;
    }
    units_format_duration(p->think_min_ns, least);
    units_format_duration(p->think_max_ns, most);
    if (p->think_min_ns == p->think_max_ns)
        add(load, "closed loop, thinking %s", most);
    else
        add(load, "closed loop, thinking %s..%s (seed %" PRIu64 ")", least, most, p->seed);
}

static void describe_load(const struct result *r, const struct plan *p, char load[LOAD_TEXT])
{
    char text[UNITS_TEXT];
    load[0] = '\0';
    if (p->rate.num == 0)
        add_closed_loop(load, p);
    else if (p->n_stages > 0)
        add(load, "open loop in %" PRIu32 " stage%s", p->n_stages, plural(p->n_stages));
    else if (p->rate.den == 1)
        add(load, "open loop @ %" PRIu64 " req/s", p->rate.num);
    else
        add(load, "open loop @ %s", units_format_rate(&p->rate, text));
    if (p->rate_per_agent.num > 0)
        add(load, " (%s an agent)", units_format_rate(&p->rate_per_agent, text));
    if (p->arrivals == PLAN_POISSON)
        add(load, ", Poisson arrivals (seed %" PRIu64 ")", p->seed);
    if (p->jitter > 0)
        add(load, ", jitter %s (seed %" PRIu64 ")", units_format_percent(p->jitter, text), p->seed);
    if (p->dispatch_quantum_ns > 0)
        add(load, ", dispatch quantum %s", units_format_duration(p->dispatch_quantum_ns, text));
    if (p->rate.num > 0 && result_one_clock(r))
        add(load, ", timed from the send");
}

/* Who sends, and how; in one line where there is room. */
static void write_load(FILE *out, const struct result *r, const struct plan *p)
{
    char load[LOAD_TEXT];
    uint64_t threads = 0, connections = 0;
    for (size_t i = 0; i < r->n_agents; i++) {
        threads += r->agents[i].threads;
        connections += r->agents[i].connections;
    }
    struct text_flow f = text_begin_at(out, 2);
    text_item(&f, "", "%zu agent%s, %" PRIu64 " thread%s, %" PRIu64 " connection%s", r->n_agents,
              plural(r->n_agents), threads, plural(threads), connections, plural(connections));
    describe_load(r, p, load);
    text_item(&f, ", ", "%s", load);
    text_end(&f);
}

static void write_stages(FILE *out, const struct plan *p)
{
    if (p->n_stages == 0)
        return;
    struct text_flow f = text_begin(out, "Stages");
    for (uint32_t i = 0; i < p->n_stages; i++) {
        char text[PLAN_STAGE_TEXT];
        text_item(&f, " ", "%s%s", plan_stage_text(&p->stages[i], text),
                  i + 1 < p->n_stages ? "," : "");
    }
    text_end(&f);
}

static void write_abort_on(FILE *out, const struct condition_list *l)
{
    if (l == NULL || l->n == 0)
        return;
    struct text_flow f = text_begin(out, "Abort on");
    for (size_t i = 0; i < l->n; i++)
        text_item(&f, " ", "%s%s", l->items[i].text, i + 1 < l->n ? "," : "");
    text_end(&f);
}

/* Whichever of the two bounds is reached first ends the run. */
static void write_length(FILE *out, const struct plan *p)
{
    char text[UNITS_TEXT], length[128], url[2 * TEXT_WIDTH];
    bool timed = p->duration_ns != NS_NEVER, counted = p->requests != UINT64_MAX;
    if (timed)
        units_format_duration(p->duration_ns, text);
    if (counted)
        snprintf(length, sizeof length, "Running test of %" PRIu64 " request%s%s%s @ ", p->requests,
                 plural(p->requests), timed ? ", at most " : "", timed ? text : "");
    else if (timed)
        snprintf(length, sizeof length, "Running %s test @ ", text);
    else
        snprintf(length, sizeof length, "Running test until stopped @ ");
    redact_url(p->url, url, sizeof url);
    size_t room = TEXT_WIDTH - strlen(length);
    if (strlen(length) + URL_SHOWN > TEXT_WIDTH)
        room = URL_SHOWN;
    bool whole = strlen(url) <= room;
    fprintf(out, "%s%.*s%s\n", length, (int)(whole ? room : room - 3), url, whole ? "" : "...");
}

static void write_entries(FILE *out, const struct plan *p)
{
    if (p->n_entries < 2)
        return;
    struct text_flow f = text_begin(out, "Requests");
    text_item(&f, "", "%zu different ones;", p->n_entries);
    text_words(&f, "the URL above is the first one's");
    text_end(&f);
}

struct options {
    FILE *out;
    bool begun;
    struct text_flow flow;
};

/* What the lines above do not say; of headers and the like only how many they are. */
static void write_option(void *arg, const struct given *g)
{
    struct options *all = arg;
    bool counted = g->list && g->n > OPTIONS_LISTED;
    size_t len = strlen(g->value);
    if (g->in_head || (counted && g->i > 0))
        return;
    if (!all->begun)
        all->flow = text_begin(all->out, "Options");
    all->begun = true;
    if (g->flag)
        text_item(&all->flow, ", ", "--%s", g->name);
    else if (counted)
        text_item(&all->flow, ", ", "--%s (%zu of them)", g->name, g->n);
    else
        text_item(&all->flow, ", ", "--%s %.*s%s", g->name, OPTION_SHOWN, g->value,
                  len > OPTION_SHOWN ? ".." : "");
}

static void write_options(FILE *out, const struct plan *p, const struct report_options *o)
{
    struct options all = {.out = out};
    given_each(p, o->secret_headers, write_option, &all);
    if (all.begun)
        text_end(&all.flow);
}

static void write_words(FILE *out, const char *label, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return;
    struct text_flow f = text_begin(out, label);
    text_words(&f, text);
    text_end(&f);
}

void text_head(FILE *out, const struct result *r, const struct report_options *o)
{
    const struct plan *p = r->plan;
    if (p == NULL)
        return;
    write_length(out, p);
    write_load(out, r, p);
    write_stages(out, p);
    write_abort_on(out, r->abort_on);
    write_entries(out, p);
    write_options(out, p, o);
    write_words(out, "Name", r->name);
    write_words(out, "Description", r->description);
    write_words(out, "Tags", r->tags);
    text_view(out, r);
}
