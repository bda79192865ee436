/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_ADMIT_H
#define HAMMER_AGENT_ADMIT_H

#include "agent/service/audit_run.h"
#include "agent/service/policy.h"
#include "common/err.h"
#include "proto/msg.h"
#include "proto/plan.h"

/*
 * What an agent decides about a PREPARE before it opens anything: is it a plan, does the policy
 * allow as much, and is it on record? Addresses come later, when the name is resolved. Main thread.
 */

struct admit_config {
    struct audit *audit; /* NULL = none is kept */
    const struct policy *policy;
    const char *peer, *controller; /* who asks; may be NULL */
    const char *run;               /* hex */
};

struct admit_order {
    struct plan plan; /* the caller's to clear, also after an error */
    struct plan_part part;
};

/* On ERR_OK the begin line is written. Else *code and msg say what to answer, and `record` is set
 * for audit_run_end. */
enum err admit(const struct admit_config *cfg, const struct msg_prepare *p,
               struct admit_order *order, struct audit_run *record, enum refuse_code *code,
               struct errmsg *msg) MUST_CHECK;

#endif
