/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_RUN_TARGETS_H
#define HAMMER_AGENT_RUN_TARGETS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/client/reqset.h"
#include "agent/client/target.h"
#include "agent/service/policy.h"
#include "common/err.h"
#include "proto/plan.h"

/*
 * Whom a run's requests go to: one target for each origin of its request set, with its addresses,
 * its TLS and the policy as it stands for that host. Main thread, but run_targets_resolve.
 */

struct run_targets;

/* Takes copies of plan-dependent things; the set and the policy may go afterwards, the plan's TLS
 * files are used at once. */
enum err run_targets_new(const struct plan *plan, const struct reqset *requests,
                         const struct policy *policy, struct run_targets **out,
                         struct errmsg *msg) MUST_CHECK;
/* After the last worker. NULL is fine. */
void run_targets_free(struct run_targets *t);

/* Looks all names up; blocks as long as the resolver does, so on a thread of its own, which is the
 * only one to look at t meanwhile. */
enum err run_targets_resolve(struct run_targets *t, struct errmsg *msg) MUST_CHECK;
/* Nobody waits for that any more: it looks no further name up. Any thread. */
void run_targets_give_up(struct run_targets *t);
/* May they all be reached, by this agent's policy? From then on every connect asks it again. On an
 * error *policy says whether it was that, or something else that the host lacks. */
enum err run_targets_admit(struct run_targets *t, bool *policy, struct errmsg *msg) MUST_CHECK;

/* What has to be asked for again to find a target's addresses of today. */
struct run_target_name {
    size_t target;
    struct route route;
    int family;
};
/* Names, not fixed addresses or sockets. */
size_t run_targets_names(const struct run_targets *t);
void run_targets_name(const struct run_targets *t, size_t i, struct run_target_name *out);
/* That target has these addresses now; the workers see them at their next connect. ERR_REFUSED: the
 * policy forbids one of them; ERR_TOO_BIG: it has changed too often. Then the old ones stay. */
enum err run_targets_adopt(struct run_targets *t, size_t target, const struct target *found,
                           struct errmsg *msg) MUST_CHECK;

/* For the workers; valid once admitted. */
const struct targets *run_targets_list(const struct run_targets *t);
/* Pairs of a source and a target address, of the target that has the fewest: each pair has all
 * local ports. */
uint64_t run_targets_addresses(const struct run_targets *t);
/* Not so with a UNIX socket. */
bool run_targets_use_ports(const struct run_targets *t);
/* Are they all on this host, by their addresses? */
bool run_targets_here(const struct run_targets *t);
/* "127.0.0.1:8080", of the first one; with more of them " and N more" follows. */
void run_targets_text(const struct run_targets *t, char *buf, size_t cap);
/* Why a connection failed: an enum client_fault and its code. Of a certificate that this agent does
 * not trust it also says what is accepted. */
void run_targets_fault(const struct run_targets *t, int fault, int code, char *buf, size_t cap);

#endif
