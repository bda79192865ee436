/* SPDX-License-Identifier: MIT */
#include "agent/service/info.h"

#include <stdio.h>
#include <string.h>
#include <sys/queue.h>

#include "agent/service/audit_run.h"
#include "agent/service/lookup.h"
#include "common/log.h"
#include "common/mem.h"

/* One connection that asked. */
struct asker {
    LIST_ENTRY(asker) entry;
    struct info *info;
    void *conn;
    struct lookup *lookup; /* NULL = none under way */
    bool answered;
    unsigned probes;
};

struct info {
    struct info_config cfg;
    struct lookups *lookups;
    LIST_HEAD(, asker) askers; /* as many as the endpoint has connections: few */
};

static struct asker *find(const struct info *s, const void *conn)
{
    struct asker *a;
    LIST_FOREACH (a, &s->askers, entry)
        if (a->conn == conn)
            return a;
    return NULL;
}

static void forget(struct asker *a)
{
    if (a->lookup != NULL)
        lookup_cancel(a->lookup);
    LIST_REMOVE(a, entry);
    mem_free(a);
}

static void answer(struct asker *a, const struct msg_info *target)
{
    struct info *s = a->info;
    struct msg m = {.type = MSG_INFO, .info = *target};
    m.info.version_min = MSG_VERSION_MIN;
    m.info.version_max = MSG_VERSION_MAX;
    snprintf(m.info.build, sizeof m.info.build, "%s", HAMMER_VERSION);
    s->cfg.describe(s->cfg.arg, &m.info);
    m.info.insecure = s->cfg.insecure;
    policy_summary(s->cfg.policy, m.info.policy, sizeof m.info.policy);
    a->answered = true;
    if (!s->cfg.send(s->cfg.arg, a->conn, &m))
        s->cfg.close(s->cfg.arg, a->conn); /* a full queue after one message: nobody reads */
}

static void on_lookup(void *arg, const struct msg_info *target)
{
    struct asker *a = arg;
    a->lookup = NULL;
    answer(a, target);
}

/* On record before anything is looked up, or connected to. */
static bool recorded(const struct info *s, void *conn, const struct msg_query *q,
                     struct msg_info *answer)
{
    struct errmsg msg = {{0}};
    const char *peer = s->cfg.peer != NULL ? s->cfg.peer(s->cfg.arg, conn) : NULL;
    if (audit_lookup(s->cfg.audit, peer, q->controller, q->scheme, q->target, &msg) == ERR_OK)
        return true;
    answer->target = INFO_TARGET_REFUSED;
    snprintf(answer->problem, sizeof answer->problem, "%.255s", msg.text);
    return false;
}

static void on_query(struct info *s, void *conn, const struct msg_query *q)
{
    struct msg_info target = {.target = INFO_TARGET_NONE};
    struct asker *a = mem_calloc(1, sizeof *a);
    a->info = s;
    a->conn = conn;
    LIST_INSERT_HEAD(&s->askers, a, entry);
    log_debug("info", "%s asks", q->controller);
    if (q->target[0] == '\0' || !recorded(s, conn, q, &target) ||
        lookup_start(s->lookups, q->scheme, q->target, on_lookup, a, &a->lookup, &target) != ERR_OK)
        answer(a, &target);
}

static void on_probe(struct asker *a, const struct msg_probe *p, uint64_t rx_ns)
{
    struct info *s = a->info;
    struct msg reply = {.type = MSG_PROBE_REPLY};
    a->probes++;
    reply.probe_reply.t1_ns = p->t1_ns;
    reply.probe_reply.probe = p->probe;
    reply.probe_reply.t2_ns = rx_ns;
    reply.probe_reply.t3_ns = s->cfg.now(s->cfg.arg);
    (void)s->cfg.send(s->cfg.arg, a->conn, &reply); /* a lost probe is one probe less */
}

bool info_message(struct info *s, void *conn, const struct msg *m, uint64_t rx_ns)
{
    struct asker *a = find(s, conn);
    if (m->type == MSG_HALT)
        return false; /* who looked may well say so */
    if (a == NULL && m->type == MSG_QUERY)
        on_query(s, conn, &m->query);
    else if (a != NULL && m->type == MSG_PROBE && a->answered && a->probes < INFO_PROBES)
        on_probe(a, &m->probe, rx_ns);
    else if (a != NULL)
        s->cfg.close(s->cfg.arg, conn); /* it has asked; nothing else is due to it */
    return a != NULL || m->type == MSG_QUERY;
}

void info_gone(struct info *s, const void *conn)
{
    struct asker *a = s != NULL ? find(s, conn) : NULL;
    if (a != NULL)
        forget(a);
}

enum err info_new(const struct info_config *cfg, struct info **out, struct errmsg *msg)
{
    struct info *s = mem_calloc(1, sizeof *s);
    s->cfg = *cfg;
    LIST_INIT(&s->askers);
    enum err e = lookups_new(cfg->loop, cfg->policy, &s->lookups, msg);
    if (e != ERR_OK) {
        info_free(s);
        return e;
    }
    *out = s;
    return ERR_OK;
}

void info_set_policy(struct info *s, const struct policy *policy)
{
    s->cfg.policy = policy;
    lookups_set_policy(s->lookups, policy);
}

void info_free(struct info *s)
{
    if (s == NULL)
        return;
    struct asker *a;
    while ((a = LIST_FIRST(&s->askers)) != NULL)
        forget(a);
    lookups_free(s->lookups);
    mem_free(s);
}
