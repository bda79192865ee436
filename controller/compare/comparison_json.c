/* SPDX-License-Identifier: MIT */
#include <jansson.h>

#include "controller/compare/comparison.h"

/* JSON has neither NaN nor infinity: null, and of a figure "never": true for infinity. */
static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *side(const struct compared_side *s)
{
    json_t *list = json_array();
    for (size_t i = 0; i < s->n; i++) {
        const struct compared_run *run = &s->runs[i];
        json_array_append_new(list, json_pack("{s:s, s:s*, s:s}", "id", run->id, "name",
                                              run->name[0] != '\0' ? run->name : NULL, "status",
                                              result_status_name(run->r->verdict.status)));
    }
    return list;
}

static const char *unit(const struct criterion *c)
{
    return c->metric == CRITERION_ERRORS ? "share" : c->metric == CRITERION_RATE ? "1/s" : "ns";
}

static json_t *row(const struct comparison *c, const struct comparison_row *r)
{
    const struct gate_row *g = &r->gate;
    json_t *o = json_pack("{s:s, s:s, s:o, s:o, s:b, s:b, s:s, s:{s:o, s:o, s:o}, s:o, s:b}",
                          "figure", r->criterion.label, "unit", unit(&r->criterion), "baseline",
                          number(r->baseline), "candidate", number(r->candidate), "baseline_never",
                          isinf(r->baseline) != 0, "candidate_never", isinf(r->candidate) != 0,
                          "effect_is", g->kind == EFFECT_RATIO ? "ratio" : "difference", "effect",
                          "estimate", number(g->effect.estimate), "low", number(g->effect.low),
                          "high", number(g->effect.high), "smallest_difference",
                          number(g->smallest), "judged", g->judged);
    if (o == NULL || !g->judged)
        return o;
    json_object_set_new(o, "fail_if", json_string(r->criterion.text));
    json_object_set_new(o, "limit", number(g->limit));
    json_object_set_new(o, "unseen", json_boolean(g->unseen));
    json_object_set_new(o, "p", number(g->p));
    json_object_set_new(o, "p_holm", number(g->p_holm));
    json_object_set_new(o, "verdict", json_string(gate_verdict_name(g->verdict)));
    if (c->sets)
        json_object_set_new(o, "a12", number(r->a12));
    return o;
}

static json_t *differences(const struct comparison *c)
{
    json_t *list = json_array();
    for (size_t i = 0; i < c->differences.n; i++)
        json_array_append_new(list, json_string(c->differences.items[i]));
    return list;
}

static bool write_json(const struct comparison *c, FILE *out)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < c->n_rows; i++)
        json_array_append_new(rows, row(c, &c->rows[i]));
    json_t *doc = json_pack(
        "{s:s, s:s, s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:{s:f, s:I, s:f, s:f}, s:{s:f, s:f}, "
        "s:{s:f, s:f}}",
        "schema", "hammer.comparison/1", "version", HAMMER_VERSION, "verdict",
        gate_verdict_name(c->verdict), "exit_code", c->exit_code, "method", comparison_method(c),
        "differences", differences(c), "baseline", side(c->baseline), "candidate",
        side(c->candidate), "figures", rows, "largest_gap", "distance", c->gap.distance, "at_ns",
        (json_int_t)c->gap.at_ns, "baseline_within", c->gap.baseline_within, "candidate_within",
        c->gap.candidate_within, "stalls", "baseline", c->stalls[0], "candidate", c->stalls[1],
        "longest_stall_ns", "baseline", c->longest_stall_ns[0], "candidate",
        c->longest_stall_ns[1]);
    bool ok = doc != NULL && json_dumpf(doc, out, JSON_INDENT(2)) == 0 && fputc('\n', out) != EOF &&
              fflush(out) == 0;
    json_decref(doc);
    return ok;
}

const struct comparison_format comparison_json = {"json", write_json};
