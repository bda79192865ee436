/* SPDX-License-Identifier: MIT */
#include "agent/service/run_rules.h"

uint32_t run_rules_part(uint32_t whole, uint32_t n_workers, uint32_t i)
{
    return whole / n_workers + (i < whole % n_workers ? 1 : 0);
}

struct client_rules run_rules(const struct plan *p, const struct plan_part *part,
                              uint32_t n_workers, uint32_t i)
{
    return (struct client_rules){
        .max_connections = run_rules_part(part->max_connections, n_workers, i),
        .think_min_ns = p->think_min_ns,
        .think_max_ns = p->think_max_ns,
        .seed = p->seed,
        .phases = p->phases,
    };
}
