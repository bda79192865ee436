/* SPDX-License-Identifier: MIT */
/* Whole comparisons of runs that never were, and what is written of them. */
#include "controller/compare/comparison.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "controller/compare/likeness.h"
#include "controller/compare/sample.h"
#include "controller/run/blocks.h"
#include "tests/lib/check_main.h"
#include "tests/lib/report_fixture.h"

#define RUNS 5

struct world {
    struct report_fixture f[2 * RUNS];
    struct compared_side baseline, candidate;
    struct criterion criteria[4];
    size_t n_criteria;
    bool by_default;
    struct comparison c;
};

/* Blocks as a run of so many seconds would have had them; the latencies are around `ns`. */
static struct blocks *make_blocks(uint64_t ns, uint64_t *random)
{
    struct blocks *b = blocks_new();
    for (uint64_t i = 0; i < 20; i++) {
        struct hist *h = hist_new_default();
        for (size_t j = 0; j < 300; j++)
            hist_record(h, ns + check_below(random, ns), 1);
        struct result_interval row = {.from_ns = i * 1000000000,
                                      .to_ns = (i + 1) * 1000000000,
                                      .sent = 300,
                                      .completed = 300,
                                      .slots = 1};
        struct merge_view v = {.row = &row, .corrected = h, .uncorrected = h};
        blocks_add(b, &v);
        hist_free(h);
    }
    return b;
}

/* In the totals of the fixture the latencies are replaced. */
static void set_latencies(struct result *r, uint64_t ns, uint64_t *random)
{
    static const enum hist_kind kinds[] = {HIST_CORRECTED, HIST_UNCORRECTED};
    for (size_t i = 0; i < r->total->n_series; i++)
        for (size_t k = 0; k < 2; k++) {
            struct hist *h = series_hist(&r->total->series[i], kinds[k]);
            uint64_t n = hist_count(h);
            hist_reset(h);
            for (uint64_t j = 0; j < n; j++)
                hist_record(h, ns + check_below(random, ns), 1);
        }
    blocks_free(r->blocks);
    r->blocks = make_blocks(ns, random);
}

static void add_run(struct world *w, struct compared_side *side, size_t i, uint64_t ns,
                    uint64_t *random)
{
    report_fixture(&w->f[i], 3000, 0);
    report_fixture_finish(&w->f[i]);
    set_latencies(w->f[i].r, ns, random);
    w->f[i].r->verdict.status = STATUS_VALID;
    side->runs[side->n++] = (struct compared_run){
        .id = i % 2 == 0 ? "00112233445566778899aabbccddeeff" : "ffeeddccbbaa99887766554433221100",
        .name = "n<a>me|",
        .r = w->f[i].r};
}

static void criterion(struct world *w, const char *text)
{
    struct errmsg msg = {{0}};
    ck_assert_msg(criterion_parse(text, &w->criteria[w->n_criteria++], &msg) == ERR_OK, "%s",
                  msg.text);
}

static void make(struct world *w, size_t runs, uint64_t baseline_ns, uint64_t candidate_ns)
{
    uint64_t random = check_seed();
    memset(w, 0, sizeof *w);
    for (size_t i = 0; i < runs; i++) {
        add_run(w, &w->baseline, 2 * i, baseline_ns + i * 1000, &random);
        add_run(w, &w->candidate, 2 * i + 1, candidate_ns + i * 1000, &random);
    }
    criterion(w, "p50>+10%");
    criterion(w, "p99>+5ms");
}

static enum gate_verdict compare(struct world *w)
{
    struct comparison_question q = {.baseline = &w->baseline,
                                    .candidate = &w->candidate,
                                    .criteria = w->criteria,
                                    .n_criteria = w->n_criteria,
                                    .by_default = w->by_default};
    comparison_clear(&w->c);
    comparison_make(&q, &w->c);
    return w->c.verdict;
}

static void clear(struct world *w)
{
    comparison_clear(&w->c);
    for (size_t i = 0; i < w->baseline.n + w->candidate.n; i++)
        result_free(w->f[i].r);
}

#define MS UINT64_C(1000000)

START_TEST(test_verdicts)
{
    struct world w;
    size_t runs = _i == 0 ? 1 : RUNS;
    make(&w, runs, 20 * MS, 20 * MS);
    ck_assert_int_eq(compare(&w), GATE_PASS);
    ck_assert(w.c.sets == (runs > 1) && w.c.n_judged == 2 && w.c.exit_code == 0);
    ck_assert(w.c.differences.n == 0);
    clear(&w);
    make(&w, runs, 20 * MS, 26 * MS);
    ck_assert_int_eq(compare(&w), GATE_REGRESSION);
    ck_assert(w.c.exit_code == 99 && w.c.gap.distance > 0.2);
    ck_assert_int_eq(w.c.rows[0].gate.verdict, GATE_REGRESSION);
    ck_assert(w.c.rows[0].gate.effect.low > 1.2 && w.c.rows[0].gate.effect.high < 1.4);
    ck_assert(w.c.rows[1].gate.effect.estimate > 10e6); /* p99 is near 40 and 52 ms */
    clear(&w);
    make(&w, runs, 26 * MS, 20 * MS);
    ck_assert_int_eq(compare(&w), GATE_PASS);
    clear(&w);
}
END_TEST

START_TEST(test_few_runs)
{
    struct world w;
    char advice[COMPARISON_ADVICE];
    make(&w, 3, 20 * MS, 40 * MS);
    ck_assert_int_eq(compare(&w), GATE_INCONCLUSIVE);
    ck_assert(strstr(comparison_advice(&w.c, advice), "needs 5 runs a side") != NULL);
    clear(&w);
}
END_TEST

/* Whatever differs in the load is named, and then nothing is proven. */
START_TEST(test_not_alike)
{
    struct world w;
    make(&w, 1, 20 * MS, 40 * MS);
    w.f[1].plan.connections += 1;
    w.f[1].plan.rate.num *= 2;
    w.f[1].plan.arrivals = PLAN_POISSON;
    w.f[0].r->verdict.status = STATUS_GENERATOR_LIMITED;
    ck_assert_int_eq(compare(&w), GATE_INCONCLUSIVE);
    ck_assert_int_eq(w.c.exit_code, 5);
    char all[4000] = "";
    for (size_t i = 0; i < w.c.differences.n; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s\n", w.c.differences.items[i]);
    ck_assert_msg(strstr(all, "connections: ") != NULL && strstr(all, "rate: ") != NULL &&
                      strstr(all, "arrivals: ") != NULL && strstr(all, "generator-limited") != NULL,
                  "%s", all);
    clear(&w);
}
END_TEST

static char *render(const struct comparison_format *f, const struct comparison *c)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    ck_assert(f->write(c, out));
    fclose(out);
    return text;
}

/* So few requests cannot show that there are not a few more errors; that is told where nobody asked
 * for it, and not passed where somebody did. One error, and it has to be shown again. */
START_TEST(test_no_errors)
{
    struct world w;
    make(&w, 1, 20 * MS, 20 * MS);
    w.n_criteria = 0;
    criterion(&w, "errors>+0.001%");
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < w.f[i].r->total->n_series; j++) {
            struct counters *n = &w.f[i].r->total->series[j].counters;
            *n = (struct counters){.sent = n->completed, .completed = n->completed};
        }
    ck_assert_int_eq(compare(&w), GATE_INCONCLUSIVE);
    w.by_default = true;
    ck_assert_int_eq(compare(&w), GATE_PASS);
    char *text = render(&comparison_text, &w.c), *markdown = render(&comparison_markdown, &w.c);
    ck_assert_msg(strstr(text, "could have missed up to ") != NULL, "%s", text);
    ck_assert_ptr_nonnull(strstr(markdown, "PASS: no error on either side"));
    free(text);
    free(markdown);
    w.f[1].r->total->series[0].counters.http_errors = 1;
    compare(&w);
    ck_assert(!w.c.rows[0].gate.unseen);
    clear(&w);
}
END_TEST

START_TEST(test_forms)
{
    struct world w;
    make(&w, _i == 0 ? 1 : RUNS, 20 * MS, 26 * MS);
    w.f[1].r->verdict.status = _i == 2 ? STATUS_INCOMPLETE : STATUS_VALID;
    ck_assert_int_eq(compare(&w), _i == 2 ? GATE_INCONCLUSIVE : GATE_REGRESSION);
    char *text = render(&comparison_text, &w.c), *json = render(&comparison_json, &w.c);
    char *markdown = render(&comparison_markdown, &w.c), *junit = render(&comparison_junit, &w.c);
    ck_assert(strstr(text, "REGRESSION") != NULL && strstr(text, "00112233") != NULL);
    for (const char *line = text; line != NULL; line = strchr(line + 1, '\n'))
        ck_assert_msg(strcspn(line + 1, "\n") <= 100, "%s", line);
    ck_assert((strstr(text, "does not include run-to-run variation") != NULL) == (_i == 0) ||
              strstr(text, "run-to-run") != NULL);
    json_t *doc = json_loads(json, 0, NULL);
    ck_assert_str_eq(json_string_value(json_object_get(doc, "verdict")),
                     _i == 2 ? "INCONCLUSIVE" : "REGRESSION");
    ck_assert_uint_eq(json_array_size(json_object_get(doc, "figures")), w.c.n_rows);
    json_decref(doc);
    ck_assert(strstr(markdown, "n&lt;a>me\\|") != NULL);
    ck_assert(strstr(junit, "p50&gt;+10%") != NULL);
    ck_assert(strstr(junit, _i == 2 ? "failures=\"0\" errors=\"2\"" : "failures=\"2\"") != NULL);
    free(text);
    free(markdown);
    free(junit);
    free(json);
    clear(&w);
}
END_TEST

/* Requests without a response are later than everything, as --slo has it. */
START_TEST(test_never)
{
    struct world w;
    struct criterion c;
    make(&w, 1, 20 * MS, 20 * MS);
    ck_assert_int_eq(criterion_parse("p99>+1%", &c, NULL), ERR_OK);
    ck_assert(isfinite(sample_figure(w.f[1].r, &c)));
    w.f[1].r->total->series[0].counters.timeouts += 200;
    ck_assert(isinf(sample_figure(w.f[1].r, &c)));
    compare(&w);
    ck_assert(isinf(w.c.rows[2].candidate) || isinf(w.c.rows[1].candidate));
    char *json = render(&comparison_json, &w.c);
    json_t *doc = json_loads(json, 0, NULL);
    ck_assert_ptr_nonnull(doc);
    json_decref(doc);
    free(json);
    clear(&w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("comparison");
    TCase *t = tcase_create("comparison");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_verdicts, 0, 2);
    tcase_add_test(t, test_few_runs);
    tcase_add_test(t, test_no_errors);
    tcase_add_test(t, test_not_alike);
    tcase_add_loop_test(t, test_forms, 0, 3);
    tcase_add_test(t, test_never);
    suite_add_tcase(s, t);
    return check_main(s);
}
