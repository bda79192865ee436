/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "common/mem.h"
#include "controller/run/coordinator_impl.h"
#include "controller/run/fleet_check.h"

/* All agents that are to take part are there: who gets what, and can it be done? Nothing has been
 * asked of the target yet. */

enum err coord_encode_plan(const struct plan *p, uint8_t **bytes, size_t *len, struct errmsg *msg)
{
    enum err e = plan_encode(p, bytes, len);
    if (e == ERR_OK && *len > MSG_BLOB_MAX) {
        mem_free(*bytes);
        e = ERR_TOO_BIG;
    }
    if (e != ERR_OK)
        errmsg_set(msg, e, "the plan cannot be sent to an agent: %s", err_str(e));
    return e;
}

/* --rate-per-agent is of those that are there. */
static enum err settle_rate(struct coordinator *c, const uint32_t *weights, size_t n,
                            struct errmsg *msg)
{
    uint64_t sum = 0;
    uint8_t *bytes;
    size_t len;
    for (size_t i = 0; i < n; i++)
        sum += weights[i];
    if (c->plan.rate_per_agent.num == 0)
        return ERR_OK;
    enum err e = plan_settle_rate(&c->plan, sum, msg);
    if (e == ERR_OK)
        e = coord_encode_plan(&c->plan, &bytes, &len, msg);
    if (e != ERR_OK)
        return e;
    mem_free(c->plan_bytes);
    c->plan_bytes = bytes;
    c->plan_len = len;
    return ERR_OK;
}

static enum err split(struct coordinator *c, struct errmsg *msg)
{
    uint32_t *weights = mem_calloc(c->n, sizeof *weights);
    uint32_t *cores = mem_calloc(c->n, sizeof *cores);
    struct plan_part *parts = mem_calloc(c->n, sizeof *parts);
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (coord_terminal(&c->agents[i]))
            continue;
        weights[n] = c->cfg.inventory->agents[i].weight;
        cores[n++] = c->agents[i].info.cores;
    }
    enum err e = settle_rate(c, weights, n, msg);
    if (e == ERR_OK)
        e = plan_split(c->cfg.plan, weights, cores, n, parts, msg);
    n = 0;
    for (size_t i = 0; i < c->n && e == ERR_OK; i++)
        if (!coord_terminal(&c->agents[i]))
            c->agents[i].info.part = parts[n++];
    mem_free(weights);
    mem_free(cores);
    mem_free(parts);
    return e;
}

/* The first reason for a refusal ends the run; what else there is to say is said before it. */
static void on_problem(void *arg, const struct fleet_problem *p)
{
    struct coordinator *c = arg;
    if (p->refused && c->reason[0] == '\0')
        snprintf(c->reason, sizeof c->reason, "%s", p->text);
    else
        coord_note(c, "%s", p->text);
}

static bool preflight(struct coordinator *c)
{
    struct fleet_fact *facts = mem_calloc(c->n, sizeof *facts);
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct coord_agent_info *info = &c->agents[i].info;
        if (coord_terminal(&c->agents[i]))
            continue;
        facts[n++] = (struct fleet_fact){.address = coord_address(c, i),
                                         .build = info->build,
                                         .fd_limit = info->fd_limit,
                                         .tested_rate = info->tested_rate,
                                         .ports = info->ports,
                                         .part = info->part};
    }
    size_t refused = fleet_check(c->cfg.plan, facts, n, on_problem, c);
    mem_free(facts);
    return refused == 0;
}

enum err coord_cut_parts(struct coordinator *c, struct errmsg *msg)
{
    enum err e = split(c, msg);
    if (e == ERR_OK && !preflight(c))
        e = errmsg_set(msg, ERR_REFUSED, "the preflight refuses the run");
    return e;
}
