/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_VERDICT_INCOMPLETE_H
#define HAMMER_CONTROLLER_VERDICT_INCOMPLETE_H

#include <stdbool.h>
#include <stddef.h>

#include "controller/run/result.h"

/* Part of verdict, nobody else uses it: whether anything of the run is missing or contradicts
 * itself, and the pieces that both parts need. PURE. */

void verdict_reason(struct result *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The address tells agents apart; several may run on one host and share its name. */
const char *verdict_agent_label(const struct result_agent *a);
/* Agents that were lost, or refused and were not left out. */
size_t verdict_agents_missing(const struct result *r);
/* Puts its reasons into the verdict; true = there are some. `c` is not looked at. */
bool verdict_incomplete(struct result *r, const struct counters *c);

#endif
