/* SPDX-License-Identifier: MIT */
/* The words of a comparison that several forms have in common. */
#include <inttypes.h>

#include "common/units.h"
#include "controller/compare/comparison.h"

const char *comparison_run_name(const struct compared_run *r, char *buf, size_t cap)
{
    if (r->name[0] != '\0')
        snprintf(buf, cap, "%.8s \"%s\"", r->id, r->name);
    else
        snprintf(buf, cap, "%.8s", r->id);
    for (char *c = buf; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    return buf;
}

const char *comparison_say(const struct criterion *c, double figure, char buf[COMPARISON_SAID])
{
    char text[UNITS_TEXT];
    if (isnan(figure))
        snprintf(buf, COMPARISON_SAID, "-");
    else if (isinf(figure))
        snprintf(buf, COMPARISON_SAID, "never");
    else if (c->metric == CRITERION_ERRORS)
        snprintf(buf, COMPARISON_SAID, "%.3g%%", 100 * figure);
    else if (c->metric == CRITERION_RATE)
        snprintf(buf, COMPARISON_SAID, "%.1f/s", figure);
    else
        snprintf(buf, COMPARISON_SAID, "%s", units_format_latency((uint64_t)figure, text));
    return buf;
}

static const char *say_amount(const struct criterion *c, enum effect_kind kind, double amount,
                              const char *sign, char buf[COMPARISON_SAID])
{
    char text[UNITS_TEXT];
    double size = fabs(amount);
    if (kind == EFFECT_RATIO)
        snprintf(buf, COMPARISON_SAID, size < 10 ? "%s%.1f%%" : "%s%.3g%%", sign, 100 * size);
    else if (c->metric == CRITERION_ERRORS)
        snprintf(buf, COMPARISON_SAID, "%s%.3gpt", sign, 100 * size);
    else
        snprintf(buf, COMPARISON_SAID, "%s%s", sign,
                 units_format_latency((uint64_t)(size + 0.5), text));
    return buf;
}

const char *comparison_say_change(const struct gate_row *g, const struct criterion *c,
                                  double effect, char buf[COMPARISON_SAID])
{
    double amount = effect - EFFECT_NONE(g->kind);
    if (isfinite(amount))
        return say_amount(c, g->kind, amount, amount < 0 ? "-" : "+", buf);
    snprintf(buf, COMPARISON_SAID, "%s", isnan(amount) ? "-" : amount > 0 ? "+inf" : "-inf");
    return buf;
}

const char *comparison_say_interval(const struct comparison_row *r, char buf[2 * COMPARISON_SAID])
{
    char low[COMPARISON_SAID], high[COMPARISON_SAID];
    const struct effect *e = &r->gate.effect;
    bool any = r->gate.kind == EFFECT_RATIO ? e->low > 0 : isfinite(e->low);
    if (!any && isinf(e->high))
        snprintf(buf, 2 * COMPARISON_SAID, "none");
    else
        snprintf(buf, 2 * COMPARISON_SAID, "%s..%s",
                 comparison_say_change(&r->gate, &r->criterion, e->low, low),
                 comparison_say_change(&r->gate, &r->criterion, e->high, high));
    return buf;
}

const char *comparison_say_smallest(const struct comparison_row *r, char buf[COMPARISON_SAID])
{
    if (isfinite(r->gate.smallest))
        return say_amount(&r->criterion, r->gate.kind, r->gate.smallest, "", buf);
    snprintf(buf, COMPARISON_SAID, "none");
    return buf;
}

const char *comparison_say_missed(const struct comparison_row *r, char buf[COMPARISON_MISSED])
{
    char most[COMPARISON_SAID];
    buf[0] = '\0';
    if (r->gate.judged && r->gate.unseen)
        snprintf(buf, COMPARISON_MISSED, "no error on either side; could have missed up to %s",
                 say_amount(&r->criterion, r->gate.kind, fmin(r->gate.effect.high, 1), "", most));
    return buf;
}

const char *comparison_method(const struct comparison *c)
{
    return c->sets
               ? "exact Mann-Whitney test over runs, Hodges-Lehmann intervals; Holm's steps over "
                 "what is judged"
               : "block bootstrap of one run each: it does not include run-to-run variation; "
                 "Holm's steps over what is judged";
}

/* Runs a side from which on all that is judged could be shown. */
static size_t runs_needed(const struct comparison *c)
{
    size_t k = 1;
    while (k < RANK_TEST_MAX && rank_test_least_p(k, k) * (double)c->n_judged >= GATE_ALPHA)
        k++;
    return k;
}

const char *comparison_advice(const struct comparison *c, char buf[COMPARISON_ADVICE])
{
    double least = rank_test_least_p(c->candidate->n, c->baseline->n) * (double)c->n_judged;
    buf[0] = '\0';
    if (c->differences.n > 0)
        snprintf(buf, COMPARISON_ADVICE,
                 "The runs differ in more than the server: what is shown proves nothing.");
    else if (c->sets && least >= GATE_ALPHA)
        snprintf(buf, COMPARISON_ADVICE,
                 "So few runs cannot show any regression: judging %zu figure%s needs %zu runs a "
                 "side or more.",
                 c->n_judged, c->n_judged == 1 ? "" : "s", runs_needed(c));
    else if (c->verdict == GATE_INCONCLUSIVE)
        snprintf(buf, COMPARISON_ADVICE,
                 "Inconclusive: these runs show neither a regression nor that there is none. "
                 "%s: hammer-ctl run --repeat 5 --interleave-with RUN makes a set for each side.",
                 c->sets ? "More runs may" : "Several runs of each may");
    return buf;
}
