/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_POLICY_CAPS_H
#define HAMMER_AGENT_POLICY_CAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/service/policy.h"
#include "common/err.h"
#include "proto/plan.h"

/*
 * PURE: how much an agent may be told to send. What a plan asks of THIS agent is known at PREPARE
 * and refused there; what it then really sends is compared with the caps again, by the agent's own
 * clock and counters, because a cap that trusts a computation made elsewhere is none.
 */

/* Requests that an agent may be ahead of max_rate * elapsed: one second of them, and a few for
 * the smallest rates. A plan whose weights send more than that in a row is refused. */
#define POLICY_SLACK 64

/* Method, body, connections, rate and end of this agent's part. ERR_REFUSED names the rule, the
 * cap and what was asked for. */
enum err policy_check_plan(const struct policy *p, const struct plan *plan,
                           const struct plan_part *part, struct errmsg *msg) MUST_CHECK;
/* When the plan sends its last request at the latest, ns after the start; NS_NEVER = unknown. */
uint64_t policy_plan_end(const struct plan *plan);
/* Requests sent so far, `elapsed_ns` after the start. ERR_REFUSED: more than the cap allows. */
enum err policy_check_sent(const struct policy *p, uint64_t sent, uint64_t elapsed_ns,
                           struct errmsg *msg) MUST_CHECK;
/* How long after the start the load threads may send, NS_NEVER = no limit. What was due inside
 * max_duration may leave late: by the plan's timeout, at most by POLICY_TAIL_NS. */
#define POLICY_TAIL_NS UINT64_C(2000000000)
uint64_t policy_send_limit(const struct policy *p, uint64_t timeout_ns);
/* What is said of a run that was still sending when max_duration was over. */
void policy_overran(const struct policy *p, struct errmsg *msg);

#endif
