/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_SURVEY_CHECK_H
#define HAMMER_CONTROLLER_SURVEY_CHECK_H

#include "controller/run/fleet_check.h"
#include "controller/run/survey.h"

/* PURE: what `run` would find out about these agents before it sends anything: who holds them,
 * their policy, the target, and the preflight of fleet_check. Agents that were not reached count as
 * refusals. Returns the number of refusals. */
size_t survey_check(const struct plan *p, const struct inventory *inv,
                    const struct survey_agent *agents, fleet_check_fn fn, void *arg);

/* "reached"; "?" for unknown ones. */
const char *info_target_name(uint32_t target);

#endif
