/* SPDX-License-Identifier: MIT */
#include "controller/compare/comparison.h"

#include <string.h>

#include "common/mem.h"
#include "controller/compare/bootstrap.h"
#include "controller/compare/likeness.h"
#include "controller/compare/sample.h"

#define SEED 1 /* the same runs give the same answer */
#define NAME 96

const char *const comparison_default_criteria[] = {"p50>+10%", "p99>+10%", "errors>+0.1%"};
const size_t comparison_n_default_criteria =
    sizeof comparison_default_criteria / sizeof comparison_default_criteria[0];

/* What is shown of any two runs. */
static const char *const shown[] = {
    "p50>+0%",
    "p90>+0%",
    "p99>+0%",
    "p99.9>+0%",
    "mean>+0%",
    "max>+0%",
    "errors>+0%",
    "rate<-0%",
    "uncorrected.p50>+0%",
    "uncorrected.p90>+0%",
    "uncorrected.p99>+0%",
    "uncorrected.p99.9>+0%",
};
#define N_SHOWN (sizeof shown / sizeof shown[0])

/* --- rows ------------------------------------------------------------------------------------- */

static void add_row(struct comparison *c, const struct criterion *criterion, bool judged)
{
    struct comparison_row *r = &c->rows[c->n_rows++];
    *r = (struct comparison_row){.criterion = *criterion,
                                 .gate = {.judged = judged,
                                          .kind = criterion->kind,
                                          .limit = criterion->limit,
                                          .less_is_worse = criterion_less_is_worse(criterion)}};
    c->n_judged += judged;
}

static bool is_one_clock(const struct comparison *c)
{
    return result_one_clock(c->baseline->runs[0].r) || result_one_clock(c->candidate->runs[0].r);
}

static bool is_judged(const struct comparison_question *q, const struct criterion *c)
{
    for (size_t i = 0; i < q->n_criteria; i++)
        if (criterion_same_figure(&q->criteria[i], c))
            return true;
    return false;
}

/* What is judged first, then whatever else there is to see. */
static void list_rows(const struct comparison_question *q, struct comparison *c)
{
    struct criterion one;
    c->rows = mem_calloc(q->n_criteria + N_SHOWN, sizeof *c->rows);
    for (size_t i = 0; i < q->n_criteria; i++)
        add_row(c, &q->criteria[i], true);
    for (size_t i = 0; i < N_SHOWN; i++)
        if (criterion_parse(shown[i], &one, NULL) == ERR_OK && !is_judged(q, &one) &&
            !(one.uncorrected && is_one_clock(c)))
            add_row(c, &one, false);
}

/* --- sets of runs ----------------------------------------------------------------------------- */

/* false = a run has no such figure. */
static bool measure(const struct compared_side *s, const struct criterion *c, double *figures)
{
    for (size_t i = 0; i < s->n; i++) {
        figures[i] = sample_figure(s->runs[i].r, c);
        if (isnan(figures[i]))
            return false;
    }
    return true;
}

static void compare_sets(const struct comparison *c, struct comparison_row *r)
{
    double baseline[RANK_TEST_MAX], candidate[RANK_TEST_MAX];
    size_t k = c->candidate->n, l = c->baseline->n;
    r->gate.effect = effect_unknown(r->gate.kind);
    r->gate.p = 1;
    r->baseline = r->candidate = r->a12 = NAN;
    if (!measure(c->baseline, &r->criterion, baseline) ||
        !measure(c->candidate, &r->criterion, candidate))
        return;
    struct rank_test test = rank_test(candidate, k, baseline, l);
    r->baseline = rank_test_median(baseline, l);
    r->candidate = rank_test_median(candidate, k);
    r->a12 = test.a12;
    r->least_p = rank_test_least_p(k, l);
    r->gate.p = test.p;
    r->gate.effect = rank_test_effect(candidate, k, baseline, l, r->gate.kind, GATE_ALPHA);
}

/* --- two runs --------------------------------------------------------------------------------- */

static struct bootstrap *blocks_of(const struct comparison_question *q, bool candidate,
                                   const struct criterion *c)
{
    const struct result *r = (candidate ? q->candidate : q->baseline)->runs[0].r;
    bool part = c->stage > 0 || c->name[0] != '\0';
    const struct blocks *blocks = r->blocks;
    if (part)
        blocks = q->part != NULL ? q->part(q->arg, candidate, c) : NULL;
    return sample_blocks(r, blocks, c);
}

/* No errors among so few requests say little: of n without one, three in n may be. */
static void widen_no_errors(const struct comparison_question *q, struct comparison_row *r)
{
    if (r->criterion.metric != CRITERION_ERRORS || r->baseline != 0 || r->candidate != 0)
        return;
    double a = (double)snapshot_counters(q->baseline->runs[0].r->total).completed;
    double b = (double)snapshot_counters(q->candidate->runs[0].r->total).completed;
    if (a > 0 && b > 0 && isfinite(r->gate.effect.low)) {
        r->gate.effect.low = -3 / a;
        r->gate.effect.high = 3 / b;
        r->gate.unseen = q->by_default && r->gate.effect.high > r->gate.limit;
    }
}

static void compare_pair(const struct comparison_question *q, struct comparison_row *r)
{
    const struct criterion *c = &r->criterion;
    r->baseline = sample_figure(q->baseline->runs[0].r, c);
    r->candidate = sample_figure(q->candidate->runs[0].r, c);
    r->gate.effect = effect_unknown(r->gate.kind);
    r->gate.effect.estimate = effect_of(r->gate.kind, r->candidate, r->baseline);
    r->gate.p = 1;
    struct bootstrap *baseline = blocks_of(q, false, c), *candidate = blocks_of(q, true, c);
    if (baseline != NULL && candidate != NULL && !isnan(r->gate.effect.estimate)) {
        struct bootstrap_question question = {.figure = sample_bootstrap_figure(c),
                                              .percentile = c->percentile,
                                              .kind = r->gate.kind,
                                              .alpha = GATE_ALPHA,
                                              .limit = r->gate.limit,
                                              .seed = SEED};
        struct bootstrap_answer a = bootstrap_ask(candidate, baseline, &question);
        double p = 2 * (r->gate.less_is_worse ? a.below : a.above);
        r->gate.effect.low = a.effect.low;
        r->gate.effect.high = a.effect.high;
        r->gate.p = p < 1 ? p : 1;
    }
    widen_no_errors(q, r);
    bootstrap_free(baseline);
    bootstrap_free(candidate);
}

/* --- descriptions ----------------------------------------------------------------------------- */

static struct hist *main_hist(const struct compared_side *s, bool uncorrected)
{
    struct hist *all = hist_new_default();
    for (size_t i = 0; i < s->n; i++) {
        struct hist *one = sample_hist(s->runs[i].r, uncorrected);
        enum err e = hist_add(all, one);
        (void)e; /* beyond 2^63 samples */
        hist_free(one);
    }
    return all;
}

static void find_gap(struct comparison *c)
{
    bool uncorrected = is_one_clock(c);
    struct hist *a = main_hist(c->baseline, uncorrected), *b = main_hist(c->candidate, uncorrected);
    double n_a = (double)hist_count(a), n_b = (double)hist_count(b), in_a = 0, in_b = 0;
    uint32_t top = hist_top_index(a) > hist_top_index(b) ? hist_top_index(a) : hist_top_index(b);
    for (uint32_t i = 0; i <= top && n_a > 0 && n_b > 0; i++) {
        in_a += (double)hist_count_at(a, i);
        in_b += (double)hist_count_at(b, i);
        double distance = fabs(in_a / n_a - in_b / n_b);
        if (distance > c->gap.distance)
            c->gap = (struct comparison_gap){distance, hist_high(hist_geometry_of(a), i),
                                             in_a / n_a, in_b / n_b};
    }
    hist_free(a);
    hist_free(b);
}

static void find_stalls(struct comparison *c)
{
    const struct compared_side *sides[] = {c->baseline, c->candidate};
    double count[RANK_TEST_MAX], longest[RANK_TEST_MAX];
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; i < sides[s]->n; i++) {
            const struct result *r = sides[s]->runs[i].r;
            count[i] = (double)r->n_stalls;
            longest[i] = 0;
            for (size_t j = 0; j < r->n_stalls; j++)
                if ((double)r->stalls[j].length_ns > longest[i])
                    longest[i] = (double)r->stalls[j].length_ns;
        }
        c->stalls[s] = rank_test_median(count, sides[s]->n);
        c->longest_stall_ns[s] = rank_test_median(longest, sides[s]->n);
    }
}

/* Each run against the baseline's first. */
static void find_differences(struct comparison *c)
{
    const struct compared_side *sides[] = {c->baseline, c->candidate};
    const struct compared_run *first = &c->baseline->runs[0];
    char name[NAME], first_name[NAME];
    comparison_run_name(first, first_name, sizeof first_name);
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < sides[s]->n; i++) {
            const struct compared_run *run = &sides[s]->runs[i];
            comparison_run_name(run, name, sizeof name);
            likeness_of_validity(run->r, name, &c->differences);
            if (run != first)
                likeness_of_load(first->r, run->r, first_name, name, &c->differences);
        }
}

static void judge(struct comparison *c)
{
    struct gate_row *rows = mem_calloc(c->n_rows + 1, sizeof *rows);
    for (size_t i = 0; i < c->n_rows; i++)
        rows[i] = c->rows[i].gate;
    gate_judge(rows, c->n_rows);
    c->verdict = gate_worst(rows, c->n_rows);
    for (size_t i = 0; i < c->n_rows; i++)
        c->rows[i].gate = rows[i];
    mem_free(rows);
    if (c->differences.n > 0)
        c->verdict = GATE_INCONCLUSIVE;
    c->exit_code = gate_exit_code(c->verdict);
}

void comparison_make(const struct comparison_question *q, struct comparison *out)
{
    *out = (struct comparison){.baseline = q->baseline,
                               .candidate = q->candidate,
                               .sets = q->baseline->n > 1 || q->candidate->n > 1};
    find_differences(out);
    list_rows(q, out);
    for (size_t i = 0; i < out->n_rows; i++) {
        if (out->sets)
            compare_sets(out, &out->rows[i]);
        else
            compare_pair(q, &out->rows[i]);
    }
    find_gap(out);
    find_stalls(out);
    judge(out);
}

void comparison_clear(struct comparison *c)
{
    mem_free(c->rows);
    option_list_clear(&c->differences);
    *c = (struct comparison){0};
}
