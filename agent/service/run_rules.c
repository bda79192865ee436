/* SPDX-License-Identifier: MIT */
#include "agent/service/run_rules.h"

uint32_t run_rules_part(uint32_t whole, uint32_t n_workers, uint32_t i)
{
    return whole / n_workers + (i < whole % n_workers ? 1 : 0);
}

struct client_rules run_rules(const struct plan *p, const struct plan_part *part,
                              uint32_t n_workers, uint32_t i)
{
    uint64_t who = (uint64_t)part->first << 32 | i; /* each worker of all agents draws its own */
    return (struct client_rules){
        .no_keepalive = p->no_keepalive,
        .requests_per_connection = p->requests_per_connection,
        .connect_timeout_ns = p->connect_timeout_ns,
        .max_connections = run_rules_part(part->max_connections, n_workers, i),
        .think_min_ns = p->think_min_ns,
        .think_max_ns = p->think_max_ns,
        .seed = p->seed ^ who << 16,
        .expect_status = p->expect_status,
        .expect_body = p->expect_body,
        .follow = p->follow,
        .cookies = p->cookies,
        .debug = p->debug_request,
        .proxy = p->proxy != NULL,
        .phases = p->phases,
    };
}
