/* SPDX-License-Identifier: MIT */
#include "controller/watch/progress.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/run/result.h"

struct progress *progress_new(size_t n_agents, const struct plan *plan, uint64_t window_ns)
{
    struct progress *p = mem_calloc(1, sizeof *p);
    p->plan = plan;
    p->window_ns = window_ns;
    p->planned_ns = result_planned_ns(plan);
    p->one_clock = plan->rate.num == 0 || plan->closed_loop;
    p->n_agents = n_agents;
    p->agents = mem_calloc(n_agents + 1, sizeof *p->agents);
    p->corrected = hist_new_default();
    p->uncorrected = hist_new_default();
    p->open_corrected = hist_new_default();
    p->open_uncorrected = hist_new_default();
    return p;
}

void progress_free(struct progress *p)
{
    if (p == NULL)
        return;
    hist_free(p->corrected);
    hist_free(p->uncorrected);
    hist_free(p->open_corrected);
    hist_free(p->open_uncorrected);
    mem_free(p->agents);
    mem_free(p);
}

/* --- figures -------------------------------------------------------------------------------- */

uint64_t progress_errors(const struct counters *c)
{
    return c->http_errors + counters_failed(c) + c->timeouts;
}

struct result_latency progress_latency(const struct hist *h)
{
    struct result_latency l = {0};
    if (h == NULL || hist_count(h) == 0)
        return l;
    l.count = hist_count(h);
    l.max = hist_max(h);
    l.p50 = hist_value_at_percentile(h, 50);
    l.p99 = hist_value_at_percentile(h, 99);
    /* A bucket's upper edge may lie above the exact maximum. */
    if (l.p50 > l.max)
        l.p50 = l.max;
    if (l.p99 > l.max)
        l.p99 = l.max;
    return l;
}

double progress_rate(const struct progress_window *w)
{
    if (w->to_ns <= w->from_ns)
        return 0;
    return (double)w->completed * (double)NS_PER_SEC / (double)(w->to_ns - w->from_ns);
}

static double per_second(const struct rate *r)
{
    return r->den > 0 ? (double)r->num / (double)r->den : 0;
}

double progress_target(const struct progress *p, uint64_t at_ns)
{
    const struct plan *plan = p->plan;
    if (at_ns >= p->planned_ns)
        return 0;
    if (plan->n_stages == 0)
        return per_second(&plan->rate);
    for (size_t i = 0; i < plan->n_stages; i++) {
        const struct stage *s = &plan->stages[i];
        if (at_ns < s->duration_ns) {
            double from = per_second(&s->from), to = per_second(&s->to);
            return from + (to - from) * (double)at_ns / (double)s->duration_ns;
        }
        at_ns -= s->duration_ns;
    }
    return 0;
}

uint64_t progress_elapsed_ns(const struct progress *p)
{
    return p->t0_ns == 0 ? 0 : clock_elapsed(p->t0_ns, p->now_ns);
}

uint64_t progress_history(const struct progress *p, size_t i)
{
    return p->history[(p->next_history + PROGRESS_HISTORY - p->n_history + i) % PROGRESS_HISTORY];
}

/* --- what comes in -------------------------------------------------------------------------- */

/* Sums that leave 64 bits are of no run: what does not fit is left out, the report says why. */
static void add_hist(struct hist *into, const struct hist *from)
{
    if (from != NULL && hist_add(into, from) != ERR_OK)
        return;
}

void progress_snapshot(struct progress *p, size_t agent, const struct snapshot *s)
{
    struct progress_agent *a = agent < p->n_agents ? &p->agents[agent] : NULL;
    p->snapshots++;
    for (size_t i = 0; i < s->n_series; i++) {
        const struct series *series = &s->series[i];
        const struct counters *c = &series->counters;
        bool warmup = series->stage == SERIES_STAGE_WARMUP;
        counters_add(warmup ? &p->warmup : &p->total, c);
        if (!warmup) {
            add_hist(p->corrected, series->hists[HIST_CORRECTED]);
            add_hist(p->uncorrected, series->hists[HIST_UNCORRECTED]);
        }
        if (a != NULL) {
            a->sent += c->sent;
            a->completed += c->completed;
            a->errors += progress_errors(c);
        }
    }
    if (a != NULL) {
        a->backlog = s->backlog;
        a->in_flight = s->in_flight;
    }
}

static void remember(struct progress *p)
{
    const struct result_latency *l = p->one_clock ? &p->last.uncorrected : &p->last.corrected;
    p->history[p->next_history] = l->count > 0 ? l->p99 : UINT64_MAX;
    p->next_history = (p->next_history + 1) % PROGRESS_HISTORY;
    if (p->n_history < PROGRESS_HISTORY)
        p->n_history++;
}

static void close_window(struct progress *p)
{
    p->open.corrected = progress_latency(p->open_corrected);
    p->open.uncorrected = progress_latency(p->open_uncorrected);
    p->last = p->open;
    remember(p);
    p->open = (struct progress_window){0};
    hist_reset(p->open_corrected);
    hist_reset(p->open_uncorrected);
}

bool progress_interval(struct progress *p, const struct merge_view *v)
{
    const struct result_interval *row = v->row;
    struct progress_window *w = &p->open;
    if (w->to_ns == 0)
        w->from_ns = row->from_ns;
    w->to_ns = row->to_ns;
    w->sent += row->sent + row->warmup.sent;
    w->completed += row->completed + row->warmup.completed;
    w->errors += row->errors + row->warmup.errors;
    add_hist(p->open_corrected, v->corrected);
    add_hist(p->open_uncorrected, v->uncorrected);
    if (w->to_ns - w->from_ns < p->window_ns)
        return false;
    close_window(p);
    return true;
}

/* --- how the agents are --------------------------------------------------------------------- */

static bool is_out(const struct progress_agent *a)
{
    return a->state == COORD_LOST || a->state == COORD_REFUSED;
}

/* The run is where the last of those agents is that take part. */
static const enum progress_phase phase_of[COORD_STATES] = {
    [COORD_DIALING] = PROGRESS_DIALLING,  [COORD_GREETING] = PROGRESS_DIALLING,
    [COORD_HELD] = PROGRESS_PREPARING,    [COORD_PREPARING] = PROGRESS_PREPARING,
    [COORD_PREPARED] = PROGRESS_CLOCKS,   [COORD_PROBING] = PROGRESS_CLOCKS,
    [COORD_PROBED] = PROGRESS_ARMED,      [COORD_ARMING] = PROGRESS_ARMED,
    [COORD_ARMED] = PROGRESS_ARMED,       [COORD_RUNNING] = PROGRESS_RUNNING,
    [COORD_STOPPING] = PROGRESS_STOPPING, [COORD_DONE] = PROGRESS_OVER,
    [COORD_REFUSED] = PROGRESS_OVER,      [COORD_LOST] = PROGRESS_OVER,
};

static enum progress_phase phase_of_agents(const struct progress *p)
{
    enum progress_phase phase = PROGRESS_OVER;
    for (size_t i = 0; i < p->n_agents; i++)
        if (phase_of[p->agents[i].state] < phase)
            phase = phase_of[p->agents[i].state];
    return phase;
}

static bool any_stopping(const struct progress *p)
{
    for (size_t i = 0; i < p->n_agents; i++)
        if (p->agents[i].state == COORD_STOPPING)
            return true;
    return false;
}

static bool all_was_due(const struct progress *p)
{
    uint64_t due = p->total.scheduled + p->warmup.scheduled;
    return progress_elapsed_ns(p) >= p->planned_ns || due >= p->plan->requests;
}

static enum progress_phase find_phase(const struct progress *p)
{
    enum progress_phase phase = phase_of_agents(p);
    if (phase < PROGRESS_ARMED || phase == PROGRESS_OVER)
        return phase;
    if (p->t0_ns == 0 || p->now_ns < p->t0_ns)
        return PROGRESS_ARMED;
    if (any_stopping(p))
        return PROGRESS_STOPPING;
    if (all_was_due(p))
        return PROGRESS_DRAINING;
    return progress_elapsed_ns(p) < p->plan->warmup_ns ? PROGRESS_WARMUP : PROGRESS_RUNNING;
}

void progress_settle(struct progress *p, uint64_t t0_ns, uint64_t now_ns)
{
    p->now_ns = now_ns;
    p->t0_ns = t0_ns;
    p->phase = find_phase(p);
    p->backlog = p->in_flight = 0;
    for (size_t i = 0; i < p->n_agents; i++) {
        const struct progress_agent *a = &p->agents[i];
        if (is_out(a) || a->state == COORD_DONE)
            continue;
        p->backlog += a->backlog;
        p->in_flight += a->in_flight;
    }
}

void progress_look(struct progress *p, const struct coordinator *c,
                   const struct inventory *inventory, uint64_t now_ns)
{
    size_t n = coordinator_agents(c) < p->n_agents ? coordinator_agents(c) : p->n_agents;
    for (size_t i = 0; i < n; i++) {
        const struct coord_agent_info *info = coordinator_agent(c, i);
        struct progress_agent *a = &p->agents[i];
        snprintf(a->name, sizeof a->name, "%s", info->name);
        if (i < inventory->n)
            snprintf(a->address, sizeof a->address, "%s", inventory->agents[i].address);
        a->state = info->state;
        a->late_since_ns = info->late_since_ns;
        snprintf(a->problem, sizeof a->problem, "%.95s", is_out(a) ? info->problem : "");
    }
    p->plan = coordinator_plan(c);
    p->planned_ns = result_planned_ns(p->plan);
    progress_settle(p, coordinator_t0(c), now_ns);
}

/* --- words ---------------------------------------------------------------------------------- */

bool progress_agent_late(const struct progress_agent *a)
{
    return a->late_since_ns != 0 && !is_out(a) && a->state != COORD_DONE;
}

const char *progress_agent_word(const struct progress_agent *a)
{
    return progress_agent_late(a) ? "late" : coord_state_name(a->state);
}

const char *progress_phase_name(enum progress_phase phase)
{
    static const char *const names[PROGRESS_PHASES] = {
        [PROGRESS_DIALLING] = "dialling", [PROGRESS_PREPARING] = "preparing",
        [PROGRESS_CLOCKS] = "clocks",     [PROGRESS_ARMED] = "armed",
        [PROGRESS_WARMUP] = "warm-up",    [PROGRESS_RUNNING] = "running",
        [PROGRESS_STOPPING] = "stopping", [PROGRESS_DRAINING] = "draining",
        [PROGRESS_OVER] = "over"};
    return names[phase];
}
