/* SPDX-License-Identifier: MIT */
#include "controller/run/result_agents.h"

#include "common/clock.h"
#include "common/mem.h"

/* Lost, or it gave up by itself: its part of the load is missing from then on. One that was stopped
 * as all others were owes nothing. */
static bool is_loss(const struct coord_agent_info *info)
{
    if (info->part.weight == 0 || info->lost_at_ns == 0)
        return false;
    return info->state == COORD_LOST ||
           (info->end_reason != END_FINISHED && info->end_reason != END_STOPPED);
}

static uint64_t scheduled(const struct result_agent *a)
{
    return result_agent_counters(a).scheduled;
}

/* Sent or waiting when it was last heard of: how that ended nobody knows. */
static uint64_t without_end(const struct result_agent *a)
{
    struct counters c = result_agent_counters(a);
    uint64_t ended =
        c.completed + counters_failed(&c) + c.timeouts + c.unfinished + counters_unsent(&c);
    return c.scheduled > ended ? c.scheduled - ended : 0;
}

static void fill_loss(struct result_agent *a, const struct coord_agent_info *info)
{
    a->loss.collected = info->collected || info->state == COORD_DONE;
    a->loss.last_seq = info->last_seq;
    a->loss.last_to_ns = a->total->to_ns;
    a->loss.open = without_end(a);
}

void result_agents_fill(struct result *r, const struct coordinator *c)
{
    struct loss_agent *agents = mem_calloc(r->n_agents + 1, sizeof *agents);
    for (size_t i = 0; i < r->n_agents; i++) {
        const struct coord_agent_info *info = coordinator_agent(c, i);
        struct result_agent *a = &r->agents[i];
        a->left_out = info->state == COORD_REFUSED && info->part.weight == 0;
        a->drift = info->drift;
        drift_end(&a->drift);
        a->times_late = info->times_late;
        a->longest_late_ns = info->longest_late_ns;
        agents[i] = (struct loss_agent){
            .part = info->part,
            .lost = is_loss(info),
            .at_ns = clock_elapsed(coordinator_t0(c), info->lost_at_ns),
            .taken_over_from = info->taken_over_from,
            .scheduled = scheduled(a),
        };
    }
    uint64_t horizon = loss_horizon(r->plan, agents, r->n_agents);
    for (size_t i = 0; i < r->n_agents; i++) {
        if (!agents[i].lost)
            continue;
        fill_loss(&r->agents[i], coordinator_agent(c, i));
        loss_assess(r->plan, agents, r->n_agents, i, horizon, &r->agents[i].loss);
    }
    mem_free(agents);
}
