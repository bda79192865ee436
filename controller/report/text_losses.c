/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "common/units.h"
#include "controller/report/text.h"

/* What is missing because of lost agents, and who was late without anything being missing. */

static void name_of(const struct result_agent *a, char out[160])
{
    snprintf(out, 160, "%.128s", a->address[0] != '\0' ? a->address : a->name);
}

static void line_why(FILE *out, const struct result_agent *a)
{
    char name[160], at[UNITS_TEXT], text[640];
    const struct loss *l = &a->loss;
    struct text_flow f = text_begin(out, "Lost");
    name_of(a, name);
    snprintf(text, sizeof text, "%s, %s after the start: %s", name,
             units_format_latency(l->at_ns, at),
             a->problem[0] != '\0' ? a->problem : "no reason is known");
    text_words(&f, text);
    text_end(&f);
}

static void line_known(FILE *out, const struct loss *l)
{
    char to[UNITS_TEXT];
    struct text_flow f = text_begin(out, "  known");
    if (l->last_seq == 0) {
        text_words(&f, "nothing: no interval of it arrived");
    } else {
        text_item(&f, "", "%" PRIu64 " requests due until %s,", l->scheduled,
                  units_format_latency(l->last_to_ns, to));
        text_item(&f, " ", "%" PRIu64 " interval%s;", l->last_seq, l->last_seq == 1 ? "" : "s");
        if (l->collected)
            text_words(&f, "what it did until it stopped by itself has been collected");
        else
            text_item(&f, " ", "%" PRIu64 " of them with an end that nobody knows", l->open);
    }
    text_end(&f);
}

static void line_missing(FILE *out, const struct result_agent *a)
{
    const struct loss *l = &a->loss;
    struct counters c = snapshot_counters(a->total);
    struct text_flow f = text_begin(out, "  missing");
    if (l->count == UINT64_MAX)
        text_words(&f, "unknown: a closed loop has no schedule");
    else if (l->count == 0)
        text_item(&f, "", "nothing is unknown; %" PRIu64 " of its requests were not sent",
                  counters_unsent(&c));
    else
        text_item(&f, "", "%" PRIu64 " requests, its share of number %" PRIu64 " to %" PRIu64,
                  l->count, l->first_index, l->last_index);
    if (l->count > 0)
        text_item(&f, ", ", "%.4g %% of the load", 100 * l->share);
    text_end(&f);
}

static void line_taken(FILE *out, const struct loss *l)
{
    char at[UNITS_TEXT];
    struct text_flow f = text_begin(out, "  from then on");
    if (l->taken_over_from == UINT64_MAX)
        text_words(&f, "nobody sent its share");
    else
        text_item(&f, "", "the others sent its share from request %" PRIu64 " (%s) on",
                  l->taken_over_from, units_format_latency(l->taken_ns, at));
    if (l->overlap > 0)
        text_item(&f, "; ", "%" PRIu64 " of its scheduled ones are among these", l->overlap);
    text_end(&f);
}

static size_t intervals_without(const struct result *r, const struct loss *l)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_intervals; i++)
        n += loss_lacks(l, r->intervals[i].from_ns, r->intervals[i].to_ns);
    return n;
}

static void lost(FILE *out, const struct result *r, const struct result_agent *a)
{
    line_why(out, a);
    line_known(out, &a->loss);
    line_missing(out, a);
    line_taken(out, &a->loss);
    size_t without = intervals_without(r, &a->loss);
    if (a->loss.count == 0 || without == 0)
        return;
    struct text_flow f = text_begin(out, "  timeline");
    text_item(&f, "", "%zu of %zu intervals lack it", without, r->n_intervals);
    text_end(&f);
}

static void late(FILE *out, const struct result_agent *a)
{
    char name[160], longest[UNITS_TEXT], text[320];
    struct text_flow f = text_begin(out, "Late");
    name_of(a, name);
    snprintf(text, sizeof text,
             "%s was out of reach %" PRIu32 " time%s, %s at most; nothing is lost", name,
             a->times_late, a->times_late == 1 ? "" : "s",
             units_format_latency(a->longest_late_ns, longest));
    text_words(&f, text);
    text_end(&f);
}

void text_losses(FILE *out, const struct result *r)
{
    size_t lines = 0;
    for (size_t i = 0; i < r->n_agents; i++) {
        const struct result_agent *a = &r->agents[i];
        if (a->loss.any)
            lost(out, r, a);
        else if (a->longest_late_ns > 0 && a->checked)
            late(out, a);
        else
            continue;
        lines++;
    }
    if (lines > 0)
        fputc('\n', out);
}

void text_check(FILE *out, const struct result *r)
{
    size_t of = 0, good = 0, lost = 0;
    for (size_t i = 0; i < r->n_agents; i++) {
        const struct result_agent *a = &r->agents[i];
        if (!result_took_part(a))
            continue;
        of++;
        good += a->checked;
        lost += a->state == RESULT_LOST && !a->checked;
    }
    struct text_flow f = text_begin(out, "Check");
    text_item(&f, "", "%zu of %zu agents' sums equal their own totals", good, of);
    if (lost > 0)
        text_item(&f, "; ", "%zu lost", lost);
    text_end(&f);
}
