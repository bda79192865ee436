/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "common/units.h"
#include "controller/report/text.h"

#define STALLS_SHOWN 10

/* What the target did, as far as several agents together can tell. */

static const char *name_of(const struct result *r, uint32_t agent)
{
    const struct result_agent *a = &r->agents[agent];
    return a->address[0] != '\0' ? a->address : a->name;
}

/* Whose it is follows from who saw it. */
static void whose(struct text_flow *f, const struct result *r, const struct stall *s)
{
    text_item(f, " ", "seen by %" PRIu32 " of %" PRIu32 " agent%s", s->seen_by, s->of,
              s->of < 2 ? "" : "s:");
    if (s->of >= 2 && s->seen_by == s->of)
        text_words(f, "the server, or what all of them share");
    if (s->of < 2 || s->seen_by == s->of)
        return;
    for (uint32_t i = 0; i < s->n_agents; i++)
        text_item(f, i == 0 ? " " : ", ", "%.100s", name_of(r, s->agents[i]));
    if (s->seen_by > s->n_agents)
        text_item(f, " ", "and %" PRIu32 " more", s->seen_by - s->n_agents);
    text_words(f, s->seen_by == 1 ? "or its path" : "or their path");
}

static void stall(FILE *out, const struct result *r, size_t i)
{
    const struct stall *s = &r->stalls[i];
    char at[UNITS_TEXT], length[UNITS_TEXT];
    struct text_flow f = text_begin(out, i == 0 ? "Stalls" : "");
    text_item(&f, "", "at %s for%s %s, %" PRIu64 " requests due;",
              units_format_latency(s->begin_ns, at), s->open ? " at least" : "",
              units_format_latency(s->length_ns, length), s->due);
    whose(&f, r, s);
    text_end(&f);
}

static void outlier(FILE *out, const struct result *r, size_t i)
{
    const struct outlier *o = &r->agents[i].outlier;
    char here[UNITS_TEXT], others[UNITS_TEXT], text[400];
    struct text_flow f = text_begin(out, "Outlier");
    snprintf(text, sizeof text, "agent %.100s differs from the other%s: p%g about %s, there %s%s",
             name_of(r, (uint32_t)i), o->pair ? "" : "s", o->percentile,
             units_format_latency(o->here_ns, here), units_format_latency(o->others_ns, others),
             o->pair ? "; which of the two is odd nobody can tell" : "");
    text_words(&f, text);
    text_end(&f);
}

void text_stalls(FILE *out, const struct result *r)
{
    size_t lines = 0;
    for (size_t i = 0; i < r->n_stalls && i < STALLS_SHOWN; i++, lines++)
        stall(out, r, i);
    if (r->n_stalls > STALLS_SHOWN) {
        text_label(out, "");
        fprintf(out, "and %zu more (all of them in the JSON report)\n", r->n_stalls - STALLS_SHOWN);
    }
    for (size_t i = 0; i < r->n_agents; i++) {
        if (!r->agents[i].outlier.any)
            continue;
        outlier(out, r, i);
        lines++;
        if (r->agents[i].outlier.pair)
            break; /* the other one is the other half of it */
    }
    if (lines > 0)
        fputc('\n', out);
}
