/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "common/units.h"
#include "controller/report/text.h"

/* What went over the connections, and what was remarkable about it. */

static void connections(FILE *out, const struct counters *c)
{
    if (c->connects == 0)
        return;
    uint64_t again = c->redirects + c->retries; /* are sends of their own */
    struct text_flow f = text_begin(out, "Connections");
    text_item(&f, "", "%" PRIu64 " opened;", c->connects);
    text_item(&f, " ", "%" PRIu64 " of %" PRIu64 " requests", c->reused, c->sent + again);
    if (again > 0)
        text_words(&f, "(redirects and retries too)");
    text_words(&f, "went on one that had carried one before");
    text_end(&f);
}

#define ADDRESSES_SHOWN 8

/* Which addresses of one name, of several hosts, of a name that moved. */
static void addresses(FILE *out, const struct snapshot *s)
{
    struct text_flow f = text_begin(out, "Addresses");
    for (size_t i = 0; i < s->n_addresses && i < ADDRESSES_SHOWN; i++)
        text_item(&f, i == 0 ? "" : ", ", "%s: %" PRIu64, s->addresses[i].text,
                  s->addresses[i].count);
    if (s->n_addresses > ADDRESSES_SHOWN)
        text_item(&f, ", ", "and %zu more", s->n_addresses - ADDRESSES_SHOWN);
    text_words(&f, "(connections opened)");
    text_end(&f);
}

static void bytes(FILE *out, const struct counters *c)
{
    char heads[UNITS_TEXT], bodies[UNITS_TEXT], sent[UNITS_TEXT];
    if (c->head_bytes == 0 && c->body_bytes == 0)
        return;
    struct text_flow f = text_begin(out, "Bytes");
    text_item(&f, "", "read: heads %s, bodies %s", units_format_bytes((double)c->head_bytes, heads),
              units_format_bytes((double)c->body_bytes, bodies));
    text_item(&f, "; ", "written: %s", units_format_bytes((double)c->bytes_out, sent));
    text_end(&f);
}

static void server(FILE *out, const struct snapshot *s)
{
    if (s->first_ns == 0)
        return;
    struct text_flow f = text_begin(out, "Server");
    text_words(&f, s->server[0] != '\0' ? s->server : "(says no name)");
    text_item(&f, ", ", "first document %" PRIu64 " bytes", s->document_bytes);
    text_end(&f);
}

static void lookups(FILE *out, const struct counters *c)
{
    if (c->lookups == 0)
        return;
    struct text_flow f = text_begin(out, "Look-ups");
    text_item(&f, "", "%" PRIu64 " during the run", c->lookups);
    if (c->lookup_errors > 0)
        text_item(&f, ", ", "%" PRIu64 " failed: the addresses stayed", c->lookup_errors);
    text_end(&f);
}

void text_traffic(FILE *out, const struct result *r, const struct report_options *o,
                  const struct counters *c)
{
    server(out, r->total);
    if (o->spectrum)
        connections(out, c);
    if (r->total->n_addresses > 1 || (o->spectrum && r->total->n_addresses > 0))
        addresses(out, r->total);
    if (o->spectrum)
        bytes(out, c);
    if (c->redirects > 0) {
        text_label(out, "Redirects");
        fprintf(out, "%" PRIu64 " followed\n", c->redirects);
    }
    lookups(out, c);
    if (c->unexpected == 0)
        return;
    struct text_flow f = text_begin(out, "Unexpected");
    text_item(&f, "", "%" PRIu64 " response%s", c->unexpected, c->unexpected == 1 ? "" : "s");
    text_words(&f, "against --expect-status or --expect-body");
    text_end(&f);
}
