/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "controller/report/text.h"

static void head(FILE *out, const struct verdict *v)
{
    struct text_flow f = text_begin(out, "Verdict");
    if (v->status == STATUS_SERVER_LIMITED)
        text_words(&f, "valid, server-limited");
    else
        text_words(&f, result_status_name(v->status));
    if (v->also_server_limited && v->status != STATUS_SERVER_LIMITED)
        text_item(&f, ", ", "server-limited");
    if (v->exit_code != 0)
        text_item(&f, " ", "(exit code %d)", v->exit_code);
    text_end(&f);
}

static void point(FILE *out, const char *sentence)
{
    struct text_flow f = text_begin(out, "");
    text_item(&f, "", "-");
    text_words(&f, sentence);
    text_end(&f);
}

/* A valid measurement of errors is valid all the same: say it where the eye looks. */
static void failures(FILE *out, const struct counters *c)
{
    char text[160];
    if (c->ok >= c->scheduled)
        return;
    snprintf(text, sizeof text,
             "%" PRIu64 " of %" PRIu64 " requests did not succeed (status codes and errors above)",
             c->scheduled - c->ok, c->scheduled);
    point(out, text);
}

/* What to do about it; nothing where the reasons say it all. */
static const char *advice(const struct verdict *v, const struct counters *c)
{
    if (v->status == STATUS_GENERATOR_LIMITED)
        return "the latencies contain delay of the load machines themselves: run again on machines "
               "that do nothing else, with more agents, or at a lower rate";
    if (v->status == STATUS_SERVER_LIMITED && c->connect_errors == 0)
        return "run again with more connections (-c) to see whether the server or their number is "
               "the limit";
    return NULL;
}

static void warnings(FILE *out, const struct verdict *v)
{
    for (size_t i = 0; i < v->n_warnings; i++) {
        struct text_flow f = text_begin(out, "Warning");
        text_words(&f, v->warnings[i]);
        text_end(&f);
    }
}

static void objectives(FILE *out, const struct result *r)
{
    for (size_t i = 0; i < r->n_objectives; i++) {
        const struct objective *o = &r->objectives[i];
        char said[CONDITION_SAID];
        struct text_flow f = text_begin(out, i == 0 ? "Objectives" : "");
        text_item(&f, "", o->held ? "held  " : "FAILED");
        text_item(&f, "  ", "%s:", o->condition->text);
        text_words(&f, objective_say(o, said));
        text_end(&f);
    }
    if (r->n_objectives > 0)
        fputc('\n', out);
}

void text_verdict(FILE *out, const struct result *r, const struct counters *c)
{
    const struct verdict *v = &r->verdict;
    objectives(out, r);
    head(out, v);
    if (r->view.partial) {
        point(out, "that is the verdict on the whole run; a part of it is not judged");
        return;
    }
    for (size_t i = 0; i < v->n_reasons; i++)
        point(out, v->reasons[i]);
    failures(out, c);
    warnings(out, v);
    const char *hint = advice(v, c);
    if (hint == NULL)
        return;
    struct text_flow f = text_begin(out, "What to do");
    text_words(&f, hint);
    text_end(&f);
}
