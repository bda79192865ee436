/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "common/units.h"
#include "controller/compare/comparison.h"
#include "controller/report/text.h"

#define LABEL_WIDTH 14

static void side(FILE *out, const char *label, const struct compared_side *s)
{
    char name[120], utc[UNITS_TEXT];
    for (size_t i = 0; i < s->n; i++) {
        const struct compared_run *run = &s->runs[i];
        text_label(out, i == 0 ? label : "");
        fprintf(out, "%s, %s, %s\n", comparison_run_name(run, name, sizeof name),
                units_format_utc(run->r->started_wall_ns, utc),
                result_status_name(run->r->verdict.status));
    }
}

static void head(FILE *out)
{
    fprintf(out, "  %-*s%10s%10s%9s%19s%9s\n", LABEL_WIDTH, "", "baseline", "candidate", "change",
            "95 % interval", "smallest");
}

static void row(const struct comparison *c, const struct comparison_row *r, FILE *out)
{
    char baseline[COMPARISON_SAID], candidate[COMPARISON_SAID], change[COMPARISON_SAID],
        interval[2 * COMPARISON_SAID], smallest[COMPARISON_SAID], missed[COMPARISON_MISSED];
    const char *label = r->criterion.label;
    (void)c;
    if (strlen(label) >= LABEL_WIDTH) {
        fprintf(out, "  %s\n", label);
        label = "";
    }
    fprintf(out, "  %-*s%10s%10s%9s%19s%9s", LABEL_WIDTH, label,
            comparison_say(&r->criterion, r->baseline, baseline),
            comparison_say(&r->criterion, r->candidate, candidate),
            comparison_say_change(&r->gate, &r->criterion, r->gate.effect.estimate, change),
            comparison_say_interval(r, interval), comparison_say_smallest(r, smallest));
    if (r->gate.judged)
        fprintf(out, "\n    %-12s %s", gate_verdict_name(r->gate.verdict), r->criterion.text);
    if (r->gate.judged && c->sets && r->gate.p <= 1 && !isnan(r->a12))
        fprintf(out, " (p %.4f, with Holm %.4f; chance of a higher run %.0f %%)", r->gate.p,
                r->gate.p_holm, 100 * r->a12);
    if (comparison_say_missed(r, missed)[0] != '\0')
        fprintf(out, " (%s)", missed);
    fputc('\n', out);
}

static void rows(const struct comparison *c, FILE *out, bool judged, const char *title)
{
    bool any = false;
    for (size_t i = 0; i < c->n_rows; i++) {
        if (c->rows[i].gate.judged != judged)
            continue;
        if (!any) {
            fprintf(out, "  %s\n", title);
            head(out);
        }
        row(c, &c->rows[i], out);
        any = true;
    }
    if (any)
        fputc('\n', out);
}

static void sentence(FILE *out, const char *label, const char *text)
{
    struct text_flow f = text_begin(out, label);
    text_words(&f, text);
    text_end(&f);
}

static void describe(const struct comparison *c, FILE *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], text[300];
    snprintf(text, sizeof text, "%g, longest %s; candidate %g, longest %s", c->stalls[0],
             units_format_latency((uint64_t)c->longest_stall_ns[0], a), c->stalls[1],
             units_format_latency((uint64_t)c->longest_stall_ns[1], b));
    sentence(out, "Stalls, baseline", text);
    snprintf(text, sizeof text,
             "%.1f points at %s: within it %.1f %% of the baseline's requests and %.1f %% of the "
             "candidate's",
             100 * c->gap.distance, units_format_latency(c->gap.at_ns, a),
             100 * c->gap.baseline_within, 100 * c->gap.candidate_within);
    if (c->gap.distance > 0)
        sentence(out, "Largest gap", text);
}

static bool write_text(const struct comparison *c, FILE *out)
{
    char advice[COMPARISON_ADVICE];
    bool clock = result_one_clock(c->baseline->runs[0].r);
    fprintf(out, "Comparison\n");
    side(out, "Baseline", c->baseline);
    side(out, "Candidate", c->candidate);
    for (size_t i = 0; i < c->differences.n; i++)
        sentence(out, i == 0 ? "Not alike" : "", c->differences.items[i]);
    sentence(out, "Method", comparison_method(c));
    sentence(out, "Latencies",
             clock ? "from the send (a closed loop has no due times)"
                   : "corrected, of all that was due; uncorrected where it says so");
    fputc('\n', out);
    rows(c, out, true, "Judged");
    rows(c, out, false, "Not judged");
    describe(c, out);
    sentence(out, "Smallest",
             "column: the smallest change for the worse that these runs could have shown");
    comparison_advice(c, advice);
    if (advice[0] != '\0')
        sentence(out, "", advice);
    sentence(out, "Verdict", gate_verdict_name(c->verdict));
    return ferror(out) == 0 && fflush(out) == 0;
}

const struct comparison_format comparison_text = {"text", write_text};
