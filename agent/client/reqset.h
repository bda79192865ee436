/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_REQSET_H
#define HAMMER_AGENT_REQSET_H

#include <stddef.h>
#include <stdint.h>

#include "agent/client/request.h"
#include "common/err.h"
#include "proto/pick.h"
#include "proto/plan.h"
#include "proto/url.h"

/*
 * The requests of a run, compiled once from the plan, and which of them is sent for which index: a
 * pure function, so that any number of agents sends the same. Read-only afterwards: shared by all
 * workers. Requests go to origins (scheme, host, port), each of them listed once.
 */

#define REQSET_ORIGINS_MAX 64

struct reqset {
    size_t n; /* >= 1 */
    struct request *requests;
    struct pick pick;           /* by the plan's order and weights */
    struct template_book *book; /* owned; what the requests' templates look into */
    size_t n_origins;
    struct url_parts *origins; /* by request.origin */
    size_t n_names;            /* different names, >= 1 */
    char **names;              /* by request.name; "" = the only one without a name */
};

/* Borrows the bytes of the plan's files, which must outlive it. ERR_INVALID names the request and
 * what is wrong with it; more than REQSET_ORIGINS_MAX origins. */
enum err reqset_new(const struct plan *p, struct reqset **out, struct errmsg *msg) MUST_CHECK;
/* NULL is fine. */
void reqset_free(struct reqset *s);

/* What a buffer for request_render of any of them holds. */
size_t reqset_longest(const struct reqset *s);
/* Number of the request that global index `index` sends. Hot path. */
static inline uint32_t reqset_pick(const struct reqset *s, uint64_t index)
{
    return s->n == 1 ? 0 : pick_at(&s->pick, index);
}

#endif
