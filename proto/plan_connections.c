/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "proto/plan.h"

/* How long connections are kept. */

enum err plan_check_connections(const struct plan *p, struct errmsg *msg)
{
    if (!p->no_keepalive || p->requests_per_connection <= 1)
        return ERR_OK;
    return errmsg_set(msg, ERR_INVALID,
                      "--requests-per-connection %" PRIu32
                      " with --no-keepalive, which is 1: accepted is one of the two",
                      p->requests_per_connection);
}

uint32_t plan_per_connection(const struct plan *p)
{
    return p->no_keepalive ? 1 : p->requests_per_connection;
}
