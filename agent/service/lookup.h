/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_LOOKUP_H
#define HAMMER_AGENT_LOOKUP_H

#include "agent/service/policy.h"
#include "common/err.h"
#include "common/loop.h"
#include "proto/msg.h"

/*
 * What this agent would reach: a host is resolved (on a thread of its own: the resolver blocks as
 * long as it likes), its addresses are put before the policy, and only when all of them pass is a
 * connection to each opened and closed again, one after the other. Every lookup is answered within
 * LOOKUP_NS; at most LOOKUPS_MAX are under way, those included whose resolver has not come back.
 * Nothing is sent over the connections. Main thread.
 */

#define LOOKUPS_MAX       4
#define LOOKUP_NS         UINT64_C(3000000000)
#define LOOKUP_CONNECT_NS UINT64_C(1000000000) /* for one address */

struct lookups;
struct lookup;

/* Fills the members of INFO that speak of the target. The lookup is over: forget it. */
typedef void (*lookup_fn)(void *arg, const struct msg_info *target);

enum err lookups_new(struct loop *loop, const struct policy *policy, struct lookups **out,
                     struct errmsg *msg) MUST_CHECK;
/* For targets that are resolved from now on; outlives the lookups or their next policy. */
void lookups_set_policy(struct lookups *s, const struct policy *policy);
/* Unanswered lookups are cancelled. A resolver that is still out holds the loop for at most 200 ms
 * (loop_finish). NULL is fine. */
void lookups_free(struct lookups *s);

/* scheme and target as in QUERY. ERR_BUSY, ERR_INVALID: `answer` says so and fn is never called;
 * otherwise fn is called once, later. */
enum err lookup_start(struct lookups *s, const char *scheme, const char *target, lookup_fn fn,
                      void *arg, struct lookup **out, struct msg_info *answer) MUST_CHECK;
/* No answer any more. */
void lookup_cancel(struct lookup *l);

#endif
