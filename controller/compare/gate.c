/* SPDX-License-Identifier: MIT */
#include "controller/compare/gate.h"

/* Holm: the smallest p times the number of rows, the next one times one fewer, and none below the
 * one before. */
static double holm(const struct gate_row *rows, size_t n, size_t which)
{
    double worst = 0;
    size_t judged = 0;
    for (size_t i = 0; i < n; i++)
        judged += rows[i].judged;
    for (size_t i = 0; i < n; i++) {
        if (!rows[i].judged || rows[i].p > rows[which].p)
            continue;
        size_t smaller = 0;
        for (size_t j = 0; j < n; j++)
            smaller += rows[j].judged && rows[j].p < rows[i].p;
        double p = rows[i].p * (double)(judged - smaller);
        worst = p > worst ? p : worst;
    }
    return worst < 1 ? worst : 1;
}

static bool is_beyond(const struct gate_row *r, double effect)
{
    return r->less_is_worse ? effect < r->limit : effect > r->limit;
}

static enum gate_verdict judge(const struct gate_row *r)
{
    double worst_end = r->less_is_worse ? r->effect.low : r->effect.high;
    if (!r->judged)
        return GATE_NOT_JUDGED;
    if (r->unseen)
        return GATE_PASS;
    if (isnan(r->effect.estimate))
        return GATE_INCONCLUSIVE;
    if (r->p_holm < GATE_ALPHA && is_beyond(r, r->effect.estimate))
        return GATE_REGRESSION;
    return is_beyond(r, worst_end) ? GATE_INCONCLUSIVE : GATE_PASS;
}

void gate_judge(struct gate_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        rows[i].p_holm = holm(rows, n, i);
        rows[i].smallest = gate_smallest(&rows[i]);
    }
    for (size_t i = 0; i < n; i++)
        rows[i].verdict = judge(&rows[i]);
}

enum gate_verdict gate_worst(const struct gate_row *rows, size_t n)
{
    bool seen[GATE_INCONCLUSIVE + 1] = {false};
    for (size_t i = 0; i < n; i++)
        seen[rows[i].verdict] = true;
    if (seen[GATE_REGRESSION])
        return GATE_REGRESSION;
    return seen[GATE_INCONCLUSIVE] || !seen[GATE_PASS] ? GATE_INCONCLUSIVE : GATE_PASS;
}

double gate_smallest(const struct gate_row *r)
{
    const struct effect *e = &r->effect;
    double near = r->less_is_worse ? e->high : e->low;
    if (!isfinite(e->estimate) || !isfinite(near))
        return INFINITY;
    if (r->kind == EFFECT_DIFFERENCE)
        return fabs(e->estimate - near);
    if (near <= 0 || e->estimate <= 0)
        return INFINITY;
    return r->less_is_worse ? 1 - e->estimate / near : e->estimate / near - 1;
}

static const struct {
    const char *name;
    int exit_code;
} verdicts[] = {[GATE_NOT_JUDGED] = {"", 5},
                [GATE_PASS] = {"PASS", 0},
                [GATE_REGRESSION] = {"REGRESSION", 99},
                [GATE_INCONCLUSIVE] = {"INCONCLUSIVE", 5}};

const char *gate_verdict_name(enum gate_verdict v)
{
    return verdicts[v].name;
}

int gate_exit_code(enum gate_verdict v)
{
    return verdicts[v].exit_code;
}
