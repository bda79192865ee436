/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_INFO_H
#define HAMMER_AGENT_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/service/audit.h"
#include "agent/service/policy.h"
#include "common/loop.h"
#include "proto/msg.h"

/*
 * Answers who asks without taking the agent: QUERY with INFO, then a few clock probes, whoever
 * holds it. Control knows nothing of it. A connection may ask once; it may not stay: the endpoint
 * drops it INFO_STAY_NS after it was made. Main thread.
 */

#define INFO_PROBES  64
#define INFO_STAY_NS UINT64_C(10000000000)

struct info;

struct info_config {
    struct loop *loop;
    const struct policy *policy; /* outlives info */
    bool insecure;               /* whoever connects commands the load */
    struct audit *audit;         /* NULL = none is kept; outlives info */
    void *arg;
    void (*describe)(void *arg, struct msg_info *m); /* state, host, control link */
    bool (*send)(void *arg, void *conn, const struct msg *m);
    void (*close)(void *arg, void *conn); /* calls info_gone */
    uint64_t (*now)(void *arg);
    const char *(*peer)(void *arg, void *conn); /* where it comes from; NULL = nobody asks */
};

enum err info_new(const struct info_config *cfg, struct info **out, struct errmsg *msg) MUST_CHECK;
void info_free(struct info *s); /* NULL is fine */
/* For what is asked from now on; outlives info or its next policy. */
void info_set_policy(struct info *s, const struct policy *policy);

/* A message of a connection that does not hold the agent. false = not of this kind: control's. */
bool info_message(struct info *s, void *conn, const struct msg *m, uint64_t rx_ns);
/* The connection is down or dropped; one that never asked is fine. */
void info_gone(struct info *s, const void *conn);

#endif
