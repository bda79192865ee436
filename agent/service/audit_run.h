/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_AUDIT_RUN_H
#define HAMMER_AGENT_AUDIT_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/service/audit.h"
#include "agent/service/policy.h"
#include "common/counters.h"
#include "common/err.h"
#include "proto/plan.h"
#include "proto/snapshot.h"

/*
 * What the audit file says of one run: who asked (peer and the name it gives itself), for what
 * (run, plan hash, target, rate, connections, duration), what was allowed, and what became of it. A
 * "begin" line is on the disk before the first connection is opened, or there is no run. Each begin
 * is followed by one "end" line; a run that is refused before it begins has one "refused" line.
 * Secrets of the URL are redacted, headers and body are not written, and whatever a peer sent is
 * bounded and escaped. docs/policy.md lists the members. Main thread.
 */

struct json_t;

/* Embedded by value, zeroed = none. */
struct audit_run {
    struct json_t *about; /* what all lines of the run say */
    bool open;            /* begun, and no end yet */
    struct counters sum;  /* counted so far */
};

/* Who asks for what. Strings may be NULL, and plan and part where they could not be decoded. */
struct audit_order {
    const char *peer, *controller;
    const char *run; /* id, hex */
    const void *plan_bytes;
    size_t plan_len;
    const struct plan *plan;
    const struct plan_part *part;
    const struct policy *policy;
};

/* Forgets what there was and takes down the order. */
void audit_run_set(struct audit_run *r, const struct audit_order *o);
void audit_run_clear(struct audit_run *r);

/* Writes the begin line. An error: the run must not begin. */
enum err audit_run_begin(struct audit *a, struct audit_run *r, struct errmsg *msg) MUST_CHECK;
/* Its controller wants another share of the schedule from that index on. Writes a line; an error:
 * the share must stay as it is. */
enum err audit_run_reshare(struct audit *a, const struct audit_run *r, uint64_t from,
                           const struct plan_part *part, struct errmsg *msg) MUST_CHECK;
/* The share is this one now, for the end line. */
void audit_run_share(struct audit_run *r, const struct plan_part *part);
/* The address that its connections go to, for the end line. */
void audit_run_address(struct audit_run *r, const char *address);
/* Adds what was counted meanwhile. */
void audit_run_count(struct audit_run *r, const struct snapshot *s);
/* Writes the end line, or the refused line of a run that did not begin; a run that has ended, or
 * none, writes nothing. outcome: "finished", "stopped", "lease", "error", "refused", "abandoned".
 * total: the final figures, NULL = those counted so far. What cannot be written is logged. */
void audit_run_end(struct audit *a, struct audit_run *r, const char *outcome, const char *reason,
                   const struct snapshot *total);

/* Somebody asks whether a target (HOST:PORT) is reached, outside of any run. An error: it must not
 * be looked up. */
enum err audit_lookup(struct audit *a, const char *peer, const char *controller, const char *scheme,
                      const char *target, struct errmsg *msg) MUST_CHECK;

#endif
