/* SPDX-License-Identifier: MIT */
#include "agent/service/run_targets.h"

#include <stdio.h>

#include "agent/client/tls_context.h"
#include "common/mem.h"

struct run_target {
    char *host, *port;
    struct policy policy; /* with the host bound: the guard asks it */
    struct tls_context *tls;
    struct target target;
};

struct run_targets {
    size_t n;
    struct run_target *each;
    const struct target **items;
    struct targets list;
};

static enum err take(struct run_target *t, const struct plan *plan, const struct url_parts *u,
                     const struct policy *policy, struct errmsg *msg)
{
    t->host = mem_strdup(u->host);
    t->port = mem_strdup(u->port);
    t->policy = *policy;
    policy_bind(&t->policy, u->host);
    return u->tls ? tls_context_new(plan, u, &t->tls, msg) : ERR_OK;
}

enum err run_targets_new(const struct plan *plan, const struct reqset *requests,
                         const struct policy *policy, struct run_targets **out, struct errmsg *msg)
{
    struct run_targets *t = mem_calloc(1, sizeof *t);
    t->n = requests->n_origins;
    t->each = mem_calloc(t->n, sizeof *t->each);
    t->items = mem_calloc(t->n, sizeof *t->items);
    enum err e = ERR_OK;
    for (size_t i = 0; i < t->n && e == ERR_OK; i++)
        e = take(&t->each[i], plan, &requests->origins[i], policy, msg);
    if (e != ERR_OK) {
        run_targets_free(t);
        return e;
    }
    *out = t;
    return ERR_OK;
}

void run_targets_free(struct run_targets *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->n; i++) {
        tls_context_free(t->each[i].tls);
        mem_free(t->each[i].host);
        mem_free(t->each[i].port);
    }
    mem_free(t->items);
    mem_free(t->each);
    mem_free(t);
}

enum err run_targets_resolve(struct run_targets *t, struct errmsg *msg)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < t->n && e == ERR_OK; i++)
        e = target_resolve(t->each[i].host, t->each[i].port, &t->each[i].target, msg);
    return e;
}

enum err run_targets_admit(struct run_targets *t, struct errmsg *msg)
{
    for (size_t i = 0; i < t->n; i++) {
        struct run_target *one = &t->each[i];
        enum err e = policy_check(&one->policy, &one->target, msg);
        if (e != ERR_OK)
            return e;
        one->target.guard = policy_guard(&one->policy);
        one->target.tls = one->tls;
        t->items[i] = &one->target;
    }
    t->list = (struct targets){t->n, t->items};
    return ERR_OK;
}

const struct targets *run_targets_list(const struct run_targets *t)
{
    return &t->list;
}

uint64_t run_targets_addresses(const struct run_targets *t)
{
    size_t least = t->each[0].target.n;
    for (size_t i = 1; i < t->n; i++)
        if (t->each[i].target.n < least)
            least = t->each[i].target.n;
    return least;
}

bool run_targets_here(const struct run_targets *t)
{
    struct policy loopback;
    policy_loopback_only(&loopback);
    for (size_t i = 0; i < t->n; i++)
        if (policy_check(&loopback, &t->each[i].target, NULL) != ERR_OK)
            return false;
    return true;
}

void run_targets_text(const struct run_targets *t, char *buf, size_t cap)
{
    if (t->n == 1)
        snprintf(buf, cap, "%s", t->each[0].target.text);
    else
        snprintf(buf, cap, "%s and %zu more", t->each[0].target.text, t->n - 1);
}

const char *run_targets_tls_name(const struct run_targets *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->each[i].tls != NULL)
            return tls_context_name(t->each[i].tls);
    return "";
}
