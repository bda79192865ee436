/* SPDX-License-Identifier: MIT */
#include "agent/service/owner.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"

void owner_init(struct owner *o)
{
    *o = (struct owner){.until_ns = NS_NEVER};
}

enum owner_claim owner_claim(const struct owner *o, const struct msg_hello *h)
{
    if (!o->held)
        return OWNER_NEW;
    if (memcmp(o->id, h->owner, MSG_ID_LEN) == 0)
        return OWNER_SAME;
    return o->orphan && h->force != 0 ? OWNER_FORCED : OWNER_BUSY;
}

void owner_take(struct owner *o, void *conn, const struct msg_hello *h, uint64_t default_lease_ns,
                uint64_t now_ns)
{
    *o = (struct owner){.held = true, .conn = conn, .since_ns = now_ns};
    memcpy(o->id, h->owner, MSG_ID_LEN);
    snprintf(o->name, sizeof o->name, "%s", h->controller);
    o->lease_ns = default_lease_ns;
    if (h->lease_ms > 0 && h->lease_ms <= OWNER_LEASE_MAX_NS / NS_PER_MS)
        o->lease_ns = h->lease_ms * NS_PER_MS;
    if (o->lease_ns < OWNER_LEASE_MIN_NS)
        o->lease_ns = OWNER_LEASE_MIN_NS;
    owner_renew(o, now_ns);
}

void owner_back(struct owner *o, void *conn, uint64_t now_ns)
{
    o->conn = conn;
    o->orphan = false;
    owner_renew(o, now_ns);
}

void owner_renew(struct owner *o, uint64_t now_ns)
{
    o->until_ns = clock_add(now_ns, o->lease_ns);
}

void owner_orphan(struct owner *o, uint64_t now_ns)
{
    o->conn = NULL;
    o->orphan = true;
    o->until_ns = clock_add(now_ns, OWNER_KEEP_NS);
}

void owner_free(struct owner *o)
{
    owner_init(o);
}

bool owner_expired(const struct owner *o, uint64_t now_ns)
{
    return o->held && now_ns >= o->until_ns;
}

void owner_describe(const struct owner *o, uint64_t now_ns, struct msg_refuse *r)
{
    snprintf(r->holder, sizeof r->holder, "%s", o->name);
    r->held_ms = clock_elapsed(o->since_ns, now_ns) / NS_PER_MS;
    r->orphan = o->orphan;
    r->lease_left_ms = o->orphan ? 0 : clock_elapsed(now_ns, o->until_ns) / NS_PER_MS;
}
