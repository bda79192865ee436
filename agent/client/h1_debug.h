/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_H1_DEBUG_H
#define HAMMER_AGENT_H1_DEBUG_H

#include <stddef.h>

#include "agent/client/request.h"

/*
 * What --debug-request shows of a request and its responses, as text: "> " before what was sent,
 * "< " before the response's head, "| " before the first H1_DEBUG_BODY bytes of either body.
 * Nothing is redacted here. Bounded by SNAPSHOT_DEBUG. It allocates: it is for one request.
 */

#define H1_DEBUG_BODY 4096

struct h1_debug {
    char *text; /* of all exchanges so far */
    size_t len, cap;
    char *fields, *body; /* of the response that is coming */
    size_t fields_len, fields_cap, body_len, body_cap;
    size_t body_all; /* all that came */
};

void h1_debug_sent(struct h1_debug *d, const struct request_bytes *r);
void h1_debug_field(struct h1_debug *d, const char *name, const char *value, size_t len);
void h1_debug_body(struct h1_debug *d, const char *bytes, size_t len);
/* The response is complete. */
void h1_debug_end(struct h1_debug *d, unsigned minor, int status);
void h1_debug_clear(struct h1_debug *d);

#endif
