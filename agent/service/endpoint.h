/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_ENDPOINT_H
#define HAMMER_AGENT_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/engine/placement.h"
#include "agent/service/audit.h"
#include "agent/service/policy.h"
#include "agent/service/run.h"
#include "common/err.h"
#include "common/loop.h"
#include "proto/link.h"

/*
 * Joins links and control: accepts connections, decodes frames, drops whoever does not say HELLO in
 * time, keeps control's timer. Main thread.
 */

#define ENDPOINT_UNOWNED_MAX 32

struct endpoint;

struct endpoint_config {
    struct loop *loop;
    const struct policy *policy;
    struct audit *audit;               /* outlives the endpoint; NULL = none is kept */
    const struct placement *placement; /* NULL = as it comes; outlives the endpoint */
    const char *url;                   /* where to listen */
    const char *name;                  /* agent's name, told to controllers */
    struct link_tls *tls;              /* for tls+tcp://; outlives the endpoint */
    uint64_t tested_rate;              /* of the self-test, told to controllers; 0 = unknown */
    bool insecure;                     /* whoever connects commands the load: told to controllers */
    const struct run_ops *run;         /* NULL = the real one */
    bool once; /* spawned by a controller: stop the loop when its first owner is gone, or when
                  none came within 10 s */
    /* What the agent is doing, for people, whenever it changes; NULL = nobody asks. */
    void (*status)(void *arg, const char *text);
    void *arg;
};

enum err endpoint_new(const struct endpoint_config *cfg, struct endpoint **out,
                      struct errmsg *msg) MUST_CHECK;
/* URL with the real port. */
const char *endpoint_url(const struct endpoint *s);
/* For runs prepared from now on; the old one may be freed. */
void endpoint_set_policy(struct endpoint *s, const struct policy *policy);
/* Halts a run, lets its final snapshot leave, then stops the loop: within ENDPOINT_SHUTDOWN_MS,
 * what endpoint_free and loop_finish then need included, whatever target and controller do. A
 * second call stops the loop at once. */
#define ENDPOINT_SHUTDOWN_MS 1900
void endpoint_shutdown(struct endpoint *s);
/* What was sent still leaves while the loop turns: loop_finish. */
void endpoint_free(struct endpoint *s);

#endif
