/* SPDX-License-Identifier: MIT */
#include "controller/run/loss.h"

#include "common/clock.h"

static const struct share whole = {.total = 1, .weight = 1, .threads = 1};

/* The next index above `after` at which shares changed; UINT64_MAX = none. */
static uint64_t next_change(const struct loss_agent *agents, size_t n, uint64_t after, bool first)
{
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        uint64_t from = agents[i].taken_over_from;
        if (agents[i].part.weight > 0 && (first || from > after) && from < next)
            next = from;
    }
    return next;
}

/* Agent i's share from index `from` on: those that were left lie in the agents' order. */
static struct share share_from(const struct loss_agent *agents, size_t n, size_t i, uint64_t from)
{
    struct share s = {.weight = agents[i].part.weight, .threads = 1};
    for (size_t k = 0; k < n; k++) {
        if (agents[k].part.weight == 0 || agents[k].taken_over_from <= from)
            continue;
        if (k < i)
            s.first += agents[k].part.weight;
        s.total += agents[k].part.weight;
    }
    return s;
}

enum err loss_schedule(const struct plan *p, const struct loss_agent *agents, size_t n, size_t i,
                       struct schedule *out)
{
    const struct loss_agent *a = &agents[i];
    struct share share = {
        .total = a->part.total, .first = a->part.first, .weight = a->part.weight, .threads = 1};
    uint64_t end = a->taken_over_from < p->requests ? a->taken_over_from : p->requests;
    enum err e = plan_schedule(p, &share, end, out, NULL);
    uint64_t from = next_change(agents, n, 0, true);
    while (e == ERR_OK && from < a->taken_over_from) {
        share = share_from(agents, n, i, from);
        e = schedule_reshare(out, from, &share, NULL);
        from = next_change(agents, n, from, false);
    }
    return e;
}

uint64_t loss_horizon(const struct plan *p, const struct loss_agent *agents, size_t n)
{
    uint64_t horizon = 0;
    for (size_t i = 0; i < n; i++) {
        const struct loss_agent *a = &agents[i];
        struct schedule s;
        uint64_t reached = a->lost ? a->at_ns : 0;
        if (a->part.weight == 0 || loss_schedule(p, agents, n, i, &s) != ERR_OK)
            continue;
        if (!a->lost && a->scheduled >= s.count)
            return p->duration_ns;
        if (a->scheduled > 0 && clock_add(schedule_due(&s, a->scheduled - 1), 1) > reached)
            reached = clock_add(schedule_due(&s, a->scheduled - 1), 1);
        horizon = reached > horizon ? reached : horizon;
    }
    return horizon < p->duration_ns ? horizon : p->duration_ns;
}

/* Of the rate at the time: what it had taken over from others before counts too. */
static double share_at_loss(const struct schedule *s)
{
    const struct share *last = &s->pieces[s->n_pieces - 1].share;
    return (double)last->weight / (double)last->total;
}

void loss_assess(const struct plan *p, const struct loss_agent *agents, size_t n, size_t i,
                 uint64_t horizon_ns, struct loss *out)
{
    const struct loss_agent *a = &agents[i];
    struct schedule s;
    out->any = true;
    out->at_ns = a->at_ns;
    out->scheduled = a->scheduled;
    out->count = out->overlap = 0;
    out->first_index = out->last_index = UINT64_MAX;
    out->taken_over_from = a->taken_over_from;
    out->taken_ns = UINT64_MAX;
    if (a->part.weight == 0 || loss_schedule(p, agents, n, i, &s) != ERR_OK)
        return;
    out->share = share_at_loss(&s);
    if (a->taken_over_from != UINT64_MAX)
        out->taken_ns = plan_due_of_index(p, a->taken_over_from);
    if (a->taken_over_from != UINT64_MAX && a->scheduled > s.count)
        out->overlap = a->scheduled - s.count;
    uint64_t due = horizon_ns > 0 ? schedule_due_until(&s, horizon_ns - 1) : 0;
    if (schedule_is_closed(&s) && s.count == UINT64_MAX) {
        out->count = UINT64_MAX; /* as many as it would have got done: nobody knows */
    } else if (due > a->scheduled) {
        out->count = due - a->scheduled;
        out->first_index = schedule_index(&s, a->scheduled);
        out->last_index = schedule_index(&s, due - 1);
    }
}

bool loss_lacks(const struct loss *l, uint64_t from_ns, uint64_t to_ns)
{
    return l->any && l->count > 0 && to_ns > l->last_to_ns && from_ns < l->taken_ns;
}

uint64_t loss_missing(const struct plan *p, uint64_t scheduled)
{
    struct schedule s;
    if (plan_schedule(p, &whole, p->requests, &s, NULL) != ERR_OK || s.count == UINT64_MAX)
        return UINT64_MAX;
    return s.count > scheduled ? s.count - scheduled : 0;
}
