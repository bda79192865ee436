/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_REQUEST_EDIT_H
#define HAMMER_AGENT_REQUEST_EDIT_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/client/request.h"

/*
 * A rendered request made into another one: what redirects and cookies change. Pure, no allocation.
 */

struct request_text {
    const char *at; /* NULL = as it is */
    size_t len;
};

struct request_edit {
    bool as_get;                /* GET, without the body and what is said of it */
    struct request_text prefix; /* of a new target: "http://HOST", for a proxy */
    struct request_text target; /* path and query */
    const char *host;           /* to another host: without Authorization and Cookie */
    struct request_text cookie; /* joined to a Cookie that is there */
};

/* Where path and query of a rendered request are, whatever stands before them. */
struct request_text request_path(const struct request_bytes *from);
/* `to` has room for `from` and all of the edit, and REQUEST_EDIT_MORE. */
#define REQUEST_EDIT_MORE 64
void request_edit(const struct request_edit *e, const struct request_bytes *from, char *to,
                  struct request_bytes *out);

#endif
