/* SPDX-License-Identifier: MIT */
#include "controller/run/verdict_incomplete.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define AGENTS_NAMED_MAX 4 /* the agents table has them all */

void verdict_reason(struct result *r, const char *fmt, ...)
{
    struct verdict *v = &r->verdict;
    if (v->n_reasons == VERDICT_REASONS_MAX)
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(v->reasons[v->n_reasons], sizeof v->reasons[0], fmt, ap);
    va_end(ap);
    v->n_reasons++;
}

/* The address tells agents apart; several may run on one host and share its name. */
const char *verdict_agent_label(const struct result_agent *a)
{
    return a->address[0] != '\0' ? a->address : a->name;
}

static bool agent_missing(const struct result_agent *a)
{
    return !a->left_out && (a->state == RESULT_LOST || a->state == RESULT_REFUSED);
}

size_t verdict_agents_missing(const struct result *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_agents; i++)
        n += agent_missing(&r->agents[i]);
    return n;
}

static void say_missing(struct result *r)
{
    size_t missing = verdict_agents_missing(r), named = 0;
    for (size_t i = 0; i < r->n_agents && named < AGENTS_NAMED_MAX; i++) {
        const struct result_agent *a = &r->agents[i];
        if (!agent_missing(a))
            continue;
        verdict_reason(r, "agent %.64s was %s%s%.120s", verdict_agent_label(a),
                       result_agent_state_name(a->state), a->problem[0] != '\0' ? ": " : "",
                       a->problem);
        named++;
    }
    if (missing > named)
        verdict_reason(r, "%zu more of %zu agents were lost or refused", missing - named,
                       r->n_agents);
}

/* One reason for all of them: who lacks what stands in the report. */
static void say_gap(struct result *r)
{
    uint64_t gap = 0;
    size_t lost = 0;
    for (size_t i = 0; i < r->n_agents; i++) {
        const struct loss *l = &r->agents[i].loss;
        lost += l->any;
        if (l->any && l->count != UINT64_MAX)
            gap += l->count;
    }
    if (gap > 0)
        verdict_reason(r, "%" PRIu64 " requests due at %s are not known to have been sent", gap,
                       lost == 1 ? "that agent" : "those agents");
}

/* Stopped on our word because another one was lost: that is the reason. Stopped although nobody was
 * lost and nobody asked: the agent gave up by itself, and part of the load is missing. The others
 * were then stopped because of that one. */
static void say_stopped(struct result *r)
{
    size_t named = 0;
    bool one_says_why = false;
    for (size_t i = 0; i < r->n_agents; i++)
        one_says_why = one_says_why ||
                       (r->agents[i].state == RESULT_STOPPED && r->agents[i].problem[0] != '\0');
    if (verdict_agents_missing(r) > 0 || r->interrupted || r->aborted[0] != '\0' || r->no_target)
        return;
    for (size_t i = 0; i < r->n_agents && named < AGENTS_NAMED_MAX; i++) {
        const struct result_agent *a = &r->agents[i];
        if (a->state != RESULT_STOPPED || (one_says_why && a->problem[0] == '\0'))
            continue;
        verdict_reason(r, "agent %.64s was stopped before its end%s%.120s", verdict_agent_label(a),
                       a->problem[0] != '\0' ? ": " : "", a->problem);
        named++;
    }
}

static void say_unchecked(struct result *r)
{
    size_t unchecked = 0, named = 0;
    for (size_t i = 0; i < r->n_agents; i++) {
        const struct result_agent *a = &r->agents[i];
        if (a->checked || a->left_out || agent_missing(a) || (r->interrupted && !a->started))
            continue;
        if (++unchecked > AGENTS_NAMED_MAX)
            continue;
        verdict_reason(r, "agent %.64s: %.160s", verdict_agent_label(a),
                       a->problem[0] != '\0' ? a->problem
                                             : "its final totals never came, data is missing");
        named++;
    }
    if (unchecked > named)
        verdict_reason(r, "%zu more of %zu agents could not be checked", unchecked - named,
                       r->n_agents);
}

/* The ledger of every agent that came to its end, and the sum over agents. A lost agent's requests
 * in flight are nowhere: its ledger cannot add up and the loss is the reason. */
static void say_ledger(struct result *r)
{
    struct errmsg msg = {{0}};
    struct counters sum = {0}, total = result_counters(r);
    for (size_t i = 0; i < r->n_agents; i++) {
        struct counters c = result_agent_counters(&r->agents[i]);
        counters_add(&sum, &c);
        if (!agent_missing(&r->agents[i]) && r->agents[i].checked &&
            counters_check(&c, &msg) != ERR_OK)
            verdict_reason(r, "agent %.64s: %.160s", verdict_agent_label(&r->agents[i]), msg.text);
    }
    if (!counters_equal(&sum, &total))
        verdict_reason(r, "the merged counters are not the sum over the agents");
}

static void say_takeover(struct result *r)
{
    struct verdict *v = &r->verdict;
    if (r->takeover_late)
        verdict_reason(r, "%s: agents stopped by themselves", r->takeover);
    else if (r->takeover[0] != '\0' && v->n_warnings < VERDICT_WARNINGS_MAX)
        snprintf(v->warnings[v->n_warnings++], sizeof v->warnings[0], "%s", r->takeover);
}

/* Of a run that is made anew from what was stored of it. */
static void say_stored(struct result *r)
{
    if (r->unended[0] != '\0')
        verdict_reason(r, "%s", r->unended);
    if (r->lost_rows > 0)
        verdict_reason(r,
                       "%" PRIu64 " snapshot%s of the run could not be stored: what was in them is "
                       "missing here",
                       r->lost_rows, r->lost_rows == 1 ? "" : "s");
}

bool verdict_incomplete(struct result *r, const struct counters *c)
{
    (void)c;
    size_t before = r->verdict.n_reasons;
    say_takeover(r);
    say_stored(r);
    say_missing(r);
    say_gap(r);
    say_stopped(r);
    if (!r->no_target) {
        say_unchecked(r);
        say_ledger(r);
    }
    return r->verdict.n_reasons > before;
}
