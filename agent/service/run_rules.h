/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_RUN_RULES_H
#define HAMMER_AGENT_RUN_RULES_H

#include <stdint.h>

#include "agent/client/client.h"
#include "proto/plan.h"

/* PURE: what of an agent's part of a plan is each of its workers'. */

/* Worker i's part of `whole` things, the same for all but for one more of the first ones: so that
 * of two wholes the larger one's part is never the smaller. */
uint32_t run_rules_part(uint32_t whole, uint32_t n_workers, uint32_t i);
struct client_rules run_rules(const struct plan *p, const struct plan_part *part,
                              uint32_t n_workers, uint32_t i);

#endif
