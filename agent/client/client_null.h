/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_CLIENT_NULL_H
#define HAMMER_AGENT_CLIENT_NULL_H

#include "agent/client/client.h"

/*
 * Test double without sockets: slots, FIFO and timeouts are real, the server is whoever drives it.
 * A test sets `submitted`; the request stays in flight until client_null_complete or its timeout.
 * On a virtual clock the driver asks deadline() and calls expire().
 */

struct client_null_hooks {
    void *arg;
    void (*submitted)(void *arg, uint64_t tag, uint64_t due_ns, uint64_t sent_ns);
    uint64_t reconnect_ns; /* a timed-out slot is free again after this; 0 = at once */
};

const struct client_ops *client_null_ops(void);
/* After init, before open. */
void client_null_set_hooks(void *self, const struct client_null_hooks *hooks);
/* The response of `tag` arrived: done(OK, status), then ready. false = no such request in flight
 * (it timed out before). */
bool client_null_complete(void *self, uint64_t tag, int status, uint64_t now_ns);
/* The server closes the connection that has been idle longest; it is back after reconnect_ns.
 * false = none is idle. */
bool client_null_lose(void *self, uint64_t now_ns);

#endif
