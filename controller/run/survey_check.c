/* SPDX-License-Identifier: MIT */
#include "controller/run/survey_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"

struct check {
    const struct inventory *inv;
    const struct survey_agent *agents;
    size_t refused, reached, unreachable; /* the last two: the target, by agents */
    fleet_check_fn fn;
    void *arg;
};

static void tell(struct check *c, bool refused, size_t i, const char *why)
{
    char text[700];
    snprintf(text, sizeof text, "agent %s: %s", c->inv->agents[i].address, why);
    c->refused += refused;
    c->fn(c->arg, &(struct fleet_problem){refused, i, text});
}

static void check_holder(struct check *c, size_t i)
{
    const struct msg_info *info = &c->agents[i].info;
    char text[400];
    if (info->state == AGENT_IDLE)
        return;
    if (info->orphan)
        snprintf(text, sizeof text,
                 "it keeps the results of run %.8s for %s, who has been gone too long: hammer-ctl "
                 "attach %.8s there finishes its report, --force drops them",
                 info->run, info->holder, info->run);
    else
        snprintf(text, sizeof text,
                 "it is busy: held by %s for %" PRIu64 " s (free in at most %" PRIu64
                 " s when that one is gone); wait for it, or leave the agent out",
                 info->holder, info->held_ms / 1000, (info->lease_left_ms + 999) / 1000);
    tell(c, true, i, text);
}

static void check_target(struct check *c, size_t i)
{
    const struct msg_info *info = &c->agents[i].info;
    char text[400];
    c->reached += info->target == INFO_TARGET_REACHED;
    c->unreachable += info->target == INFO_TARGET_UNREACHABLE;
    if (info->target == INFO_TARGET_REFUSED || info->target == INFO_TARGET_UNRESOLVED)
        tell(c, true, i, info->problem);
    else if (info->target == INFO_TARGET_BUSY)
        tell(c, false, i, info->problem);
    if (info->target == INFO_TARGET_REACHED && info->problem[0] != '\0') {
        snprintf(text, sizeof text, "one of the target's addresses takes no connection: %s",
                 info->problem);
        tell(c, false, i, text);
    }
}

/* A run goes on as long as one agent reaches the target; without any there is nothing to send to.
 */
static void check_unreachable(struct check *c, size_t i)
{
    const struct msg_info *info = &c->agents[i].info;
    char text[400];
    if (info->target != INFO_TARGET_UNREACHABLE)
        return;
    snprintf(text, sizeof text, "it cannot connect to the target: %s", info->problem);
    tell(c, c->reached == 0, i, text);
}

/* "127.0.0.1:80 [::1]:80" */
static bool all_loopback(const char *addresses)
{
    for (const char *at = addresses; *at != '\0'; at += strspn(at, " ")) {
        if (strncmp(at, "127.", 4) != 0 && strncmp(at, "[::1]", 5) != 0)
            return false;
        at += strcspn(at, " ");
    }
    return true;
}

static void fill(const struct check *c, size_t i, struct fleet_fact *f)
{
    const struct msg_info *info = &c->agents[i].info;
    *f = (struct fleet_fact){.address = c->inv->agents[i].address,
                             .build = info->build,
                             .version_min = info->version_min,
                             .version_max = info->version_max,
                             .fd_limit = info->fd_limit,
                             .tested_rate = info->tested_rate,
                             .ports = info->ports,
                             .addresses = info->n_addresses,
                             .loopback = all_loopback(info->addresses)};
}

/* As the coordinator cuts it; only when all agents are there. */
static void split(struct check *c, const struct plan *p, struct fleet_fact *facts)
{
    size_t n = c->inv->n;
    uint32_t *weights = mem_calloc(n, sizeof *weights), *cores = mem_calloc(n, sizeof *cores);
    struct plan_part *parts = mem_calloc(n, sizeof *parts);
    struct errmsg msg = {{0}};
    for (size_t i = 0; i < n; i++) {
        weights[i] = c->inv->agents[i].weight;
        cores[i] = c->agents[i].info.cores;
    }
    if (plan_split(p, weights, cores, n, parts, &msg) != ERR_OK) {
        c->refused++;
        c->fn(c->arg, &(struct fleet_problem){true, SIZE_MAX, msg.text});
    } else {
        for (size_t i = 0; i < n; i++)
            facts[i].part = parts[i];
    }
    mem_free(weights);
    mem_free(cores);
    mem_free(parts);
}

size_t survey_check(const struct plan *p, const struct inventory *inv,
                    const struct survey_agent *agents, fleet_check_fn fn, void *arg)
{
    struct check c = {.inv = inv, .agents = agents, .fn = fn, .arg = arg};
    struct fleet_fact *facts = mem_calloc(inv->n + 1, sizeof *facts);
    bool all = inv->n > 0;
    for (size_t i = 0; i < inv->n; i++) {
        fill(&c, i, &facts[i]);
        if (agents[i].reached) {
            check_holder(&c, i);
            check_target(&c, i);
        } else {
            all = false;
            tell(&c, true, i, agents[i].problem);
        }
    }
    for (size_t i = 0; i < inv->n && c.unreachable > 0; i++)
        if (agents[i].reached)
            check_unreachable(&c, i);
    if (all)
        split(&c, p, facts);
    size_t refused = c.refused + fleet_check(p, facts, inv->n, fn, arg);
    mem_free(facts);
    return refused;
}

const char *info_target_name(uint32_t target)
{
    static const char *const names[INFO_TARGETS] = {
        [INFO_TARGET_NONE] = "none",       [INFO_TARGET_REACHED] = "reached",
        [INFO_TARGET_REFUSED] = "refused", [INFO_TARGET_UNRESOLVED] = "unresolved",
        [INFO_TARGET_BUSY] = "busy",       [INFO_TARGET_UNREACHABLE] = "unreachable",
    };
    return target < INFO_TARGETS ? names[target] : "?";
}
