/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_OWNER_H
#define HAMMER_AGENT_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/msg.h"

/*
 * PURE: who holds the agent, over which connection, and until when. The ownership outlives its
 * connection: whoever shows the same owner id within the lease goes on where it was. When the lease
 * runs out over results that nobody has taken, they are kept for the owner (orphaned); another one
 * gets the agent then only by force.
 *
 *   free -take-> held -lease over-> free, or orphaned -take back-> held
 *                                            -OWNER_KEEP_NS over, or taken by force-> free
 */

#define OWNER_LEASE_MIN_NS UINT64_C(3000000000)
#define OWNER_LEASE_MAX_NS UINT64_C(60000000000)
#define OWNER_KEEP_NS      UINT64_C(600000000000)

/* Embedded by value; owner_init, then through the functions; reading is fine. */
struct owner {
    bool held;
    bool orphan; /* held, but its lease is over */
    void *conn;  /* NULL: nobody is there at the moment */
    uint8_t id[MSG_ID_LEN];
    char name[96];
    uint64_t since_ns;
    uint64_t lease_ns;
    uint64_t until_ns; /* end of the lease; of an orphan: end of its keep; NS_NEVER when free */
};

enum owner_claim {
    OWNER_NEW,   /* the agent is free */
    OWNER_SAME,  /* the owner itself, perhaps on a new connection */
    OWNER_BUSY,  /* somebody else holds it */
    OWNER_FORCED /* somebody else's orphan, and the claim is by force */
};

void owner_init(struct owner *o);
enum owner_claim owner_claim(const struct owner *o, const struct msg_hello *h);
/* OWNER_NEW: takes the agent. The lease asked for is kept within its bounds; 0 or more than the
 * longest = default_lease_ns. */
void owner_take(struct owner *o, void *conn, const struct msg_hello *h, uint64_t default_lease_ns,
                uint64_t now_ns);
/* OWNER_SAME: goes on, on this connection. */
void owner_back(struct owner *o, void *conn, uint64_t now_ns);
/* A word from the owner: the lease begins anew. */
void owner_renew(struct owner *o, uint64_t now_ns);
/* The lease is over, what there is stays for OWNER_KEEP_NS. */
void owner_orphan(struct owner *o, uint64_t now_ns);
/* Nobody's any more. */
void owner_free(struct owner *o);
/* Has the lease, or the keep of an orphan, run out? */
bool owner_expired(const struct owner *o, uint64_t now_ns);
/* What a refused claim is told: holder, age, lease left. */
void owner_describe(const struct owner *o, uint64_t now_ns, struct msg_refuse *r);

#endif
