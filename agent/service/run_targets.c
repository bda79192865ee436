/* SPDX-License-Identifier: MIT */
#include "agent/service/run_targets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/client/client.h"
#include "agent/client/tls_context.h"
#include "agent/client/tls_error.h"
#include "common/mem.h"
#include "proto/plan_route.h"

struct run_target {
    struct route route;
    int family;
    struct policy policy; /* with the name bound: the guard asks it */
    struct tls_context *tls;
    struct target target;
    struct run_target *behind; /* whom a proxy is asked for: the policy must allow that as well */
    char tunnel[280];          /* "HOST:PORT" for CONNECT; empty = none */
    struct sighting *seen;     /* other sets of addresses that the name has had */
};

/* Sets of one name, as different ones as there may be: a worker may use each of them for as long as
 * the run lasts. */
#define SIGHTINGS_MAX 1000

struct sighting {
    struct sighting *next;
    struct target target;
};

struct run_targets {
    _Atomic bool given_up;
    size_t n;
    struct run_target *each;
    const struct target **items;
    struct targets list;
    struct target_addr *sources;
    size_t n_sources;
};

/* --- from the plan ---------------------------------------------------------------------------- */

/* A rule for a name speaks of the addresses that its owner gives it: those that the plan chooses
 * must be allowed as addresses. */
static void bind_policy(struct run_target *t, const struct policy *policy)
{
    bool named = !t->route.fixed && t->route.unix_path == NULL;
    t->policy = *policy;
    policy_bind(&t->policy, named ? t->route.host : "");
}

static void look_behind(struct run_target *t, const struct url_parts *u,
                        const struct policy *policy)
{
    struct run_target *b = mem_calloc(1, sizeof *b);
    snprintf(b->route.host, sizeof b->route.host, "%s", u->host);
    snprintf(b->route.port, sizeof b->route.port, "%s", u->port);
    b->family = AF_UNSPEC;
    bind_policy(b, policy);
    t->behind = b;
}

/* Where load may go anywhere, a name that the proxy alone knows need not be known here; but what is
 * denied, and addresses that are never a target, are so behind a proxy as well. */
static bool must_look_behind(const struct url_parts *u, const struct policy *policy)
{
    struct in_addr ignored; /* 0x7f000001 is an address too */
    return !policy->any || policy->n_deny > 0 || u->ipv6_literal ||
           inet_aton(u->host, &ignored) != 0;
}

static enum err take(struct run_target *t, const struct plan *plan, const struct url_parts *u,
                     const struct policy *policy, struct errmsg *msg)
{
    plan_route(plan, u->host, u->port, &t->route);
    t->family = plan->ipv4 ? AF_INET : plan->ipv6 ? AF_INET6 : AF_UNSPEC;
    bind_policy(t, policy);
    if (t->route.proxy && must_look_behind(u, policy))
        look_behind(t, u, policy);
    if (t->route.proxy && u->tls)
        snprintf(t->tunnel, sizeof t->tunnel, u->ipv6_literal ? "[%s]:%s" : "%s:%s", u->host,
                 u->port);
    return u->tls ? tls_context_new(plan, u, &t->tls, msg) : ERR_OK;
}

/* The plan was checked: all of them are addresses. */
static void take_sources(struct run_targets *t, const struct plan *plan)
{
    if (plan->source_ip.n == 0)
        return;
    t->sources = mem_calloc(plan->source_ip.n * TARGET_ADDRS_MAX, sizeof *t->sources);
    for (size_t i = 0; i < plan->source_ip.n; i++)
        t->n_sources += target_parse_addresses(plan->source_ip.items[i], "0",
                                               &t->sources[t->n_sources], TARGET_ADDRS_MAX);
}

enum err run_targets_new(const struct plan *plan, const struct reqset *requests,
                         const struct policy *policy, struct run_targets **out, struct errmsg *msg)
{
    struct run_targets *t = mem_calloc(1, sizeof *t);
    t->n = requests->n_origins;
    t->each = mem_calloc(t->n, sizeof *t->each);
    t->items = mem_calloc(t->n, sizeof *t->items);
    take_sources(t, plan);
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

static void free_sightings(struct run_target *t)
{
    struct sighting *s;
    while ((s = t->seen) != NULL) {
        t->seen = s->next;
        mem_free(s);
    }
}

void run_targets_free(struct run_targets *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->n; i++) {
        tls_context_free(t->each[i].tls);
        mem_free(t->each[i].behind);
        free_sightings(&t->each[i]);
    }
    mem_free(t->sources);
    mem_free(t->items);
    mem_free(t->each);
    mem_free(t);
}

/* --- looked up -------------------------------------------------------------------------------- */

static enum err resolve(struct run_target *t, struct errmsg *msg)
{
    enum err e = target_route(&t->route, t->family, &t->target, msg);
    return e == ERR_OK && t->behind != NULL ? resolve(t->behind, msg) : e;
}

enum err run_targets_resolve(struct run_targets *t, struct errmsg *msg)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < t->n && e == ERR_OK; i++)
        e = atomic_load(&t->given_up) ? errmsg_set(msg, ERR_STATE, "the run was given up")
                                      : resolve(&t->each[i], msg);
    return e;
}

void run_targets_give_up(struct run_targets *t)
{
    atomic_store(&t->given_up, true);
}

/* --- admitted --------------------------------------------------------------------------------- */

static int try_source(const struct target_addr *a)
{
    int fd = socket(a->sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    int error = bind(fd, (const struct sockaddr *)&a->sa, a->len) == 0 ? 0 : errno;
    close(fd);
    return error;
}

/* Is each of them an address of this host, and one at least of the target's family? */
static enum err check_sources(const struct run_targets *t, const struct target *target,
                              struct errmsg *msg)
{
    bool fits = t->n_sources == 0;
    for (size_t i = 0; i < t->n_sources; i++) {
        char text[TARGET_TEXT];
        int error = try_source(&t->sources[i]);
        target_addr_text(&t->sources[i], text, sizeof text);
        if (error != 0)
            return errmsg_set(msg, ERR_REFUSED, "--source-ip %.*s: %s",
                              (int)(strrchr(text, ':') - text), text, strerror(error));
        fits = fits || t->sources[i].sa.ss_family == target->addrs[0].sa.ss_family;
    }
    if (fits)
        return ERR_OK;
    return errmsg_set(msg, ERR_REFUSED, "--source-ip has no address of the family of %s",
                      target->text);
}

static enum err admit(const struct run_targets *t, struct run_target *one, bool *policy,
                      struct errmsg *msg)
{
    enum err e = policy_check(&one->policy, &one->target, msg);
    if (e == ERR_OK && one->behind != NULL)
        e = policy_check(&one->behind->policy, &one->behind->target, msg);
    *policy = e != ERR_OK;
    return e == ERR_OK ? check_sources(t, &one->target, msg) : e;
}

enum err run_targets_admit(struct run_targets *t, bool *policy, struct errmsg *msg)
{
    for (size_t i = 0; i < t->n; i++) {
        struct run_target *one = &t->each[i];
        enum err e = admit(t, one, policy, msg);
        if (e != ERR_OK)
            return e;
        one->target.guard = policy_guard(&one->policy);
        one->target.tls = one->tls;
        one->target.tunnel = one->tunnel[0] != '\0' ? one->tunnel : NULL;
        one->target.sources = t->sources;
        one->target.n_sources = t->n_sources;
        t->items[i] = &one->target;
    }
    t->list = (struct targets){t->n, t->items};
    return ERR_OK;
}

/* --- looked up again -------------------------------------------------------------------------- */

static bool has_name(const struct run_target *t)
{
    return !t->route.fixed && t->route.unix_path == NULL;
}

size_t run_targets_names(const struct run_targets *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        n += has_name(&t->each[i]);
    return n;
}

void run_targets_name(const struct run_targets *t, size_t i, struct run_target_name *out)
{
    size_t k = 0;
    while (!has_name(&t->each[k]) || i-- > 0)
        k++;
    *out = (struct run_target_name){
        .target = k, .route = t->each[k].route, .family = t->each[k].family};
}

/* NULL = too many. */
static const struct target *sight(struct run_target *t, const struct target *found)
{
    size_t n = 0;
    struct sighting *s;
    for (s = t->seen; s != NULL; s = s->next, n++)
        if (target_same_addresses(&s->target, found))
            return &s->target;
    if (n == SIGHTINGS_MAX)
        return NULL;
    s = mem_calloc(1, sizeof *s);
    s->target = t->target; /* but for the addresses the same */
    s->target.n = found->n;
    memcpy(s->target.addrs, found->addrs, sizeof found->addrs);
    memcpy(s->target.text, found->text, sizeof found->text);
    s->next = t->seen;
    t->seen = s;
    return &s->target;
}

enum err run_targets_adopt(struct run_targets *t, size_t target, const struct target *found,
                           struct errmsg *msg)
{
    struct run_target *one = &t->each[target];
    if (target_same_addresses(target_now(&one->target), found))
        return ERR_OK;
    enum err e = policy_check(&one->policy, found, msg);
    if (e != ERR_OK)
        return e;
    const struct target *now = NULL;
    if (!target_same_addresses(&one->target, found)) {
        now = sight(one, found);
        if (now == NULL)
            return errmsg_set(msg, ERR_TOO_BIG,
                              "%s has had %d sets of addresses in this run, and has another one",
                              one->route.host, SIGHTINGS_MAX);
    }
    atomic_store_explicit(&one->target.newer, now, memory_order_release);
    return ERR_OK;
}

/* --- what others want to know ----------------------------------------------------------------- */

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
    return least * (t->n_sources > 0 ? t->n_sources : 1);
}

bool run_targets_use_ports(const struct run_targets *t)
{
    return t->each[0].route.unix_path == NULL;
}

bool run_targets_here(const struct run_targets *t)
{
    struct policy loopback;
    policy_loopback_only(&loopback);
    for (size_t i = 0; i < t->n && run_targets_use_ports(t); i++)
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

/* Of the first one that speaks TLS. */
static const char *tls_name(const struct run_targets *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->each[i].tls != NULL)
            return tls_context_name(t->each[i].tls);
    return "";
}

void run_targets_fault(const struct run_targets *t, int fault, int code, char *buf, size_t cap)
{
    fault_text((enum client_fault)fault, code, buf, cap);
    size_t len = strlen(buf);
    if (fault == FAULT_TLS && tls_error_is_verify(code))
        snprintf(buf + len, cap - len,
                 "; accepted: a certificate for %.40s of a CA this agent trusts, or --cacert FILE, "
                 "or -k",
                 tls_name(t));
}
