/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_RESULT_AGENTS_H
#define HAMMER_CONTROLLER_RESULT_AGENTS_H

#include "controller/run/coordinator.h"
#include "controller/run/result.h"

/* PURE: what became of the agents, from the coordinator into the result: who was left out, who was
 * late, how their clocks moved, and what is missing because of those that were lost. After
 * merge_finish and with the agents' states and totals in place; before result_settle. */
void result_agents_fill(struct result *r, const struct coordinator *c);

#endif
