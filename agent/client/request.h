/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_REQUEST_H
#define HAMMER_AGENT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/plan.h"
#include "proto/url.h"

#define REQUEST_INDEX_DIGITS 20

/*
 * The request as bytes, compiled once from the plan: request line, Host (RFC 9112 section 3.2; IPv6
 * literals keep their brackets, RFC 3986 section 3.2.2), default headers User-Agent
 * "hammer/VERSION" and Accept, the plan's own headers (each replaces the default of that name),
 * Content-Length and body. Read-only afterwards: shared by all workers.
 */

struct request {
    char *bytes; /* head and body, as sent */
    size_t len;
    bool head_method; /* HEAD: the response has no body (RFC 9110 section 9.3.2) */
    bool idempotent;  /* RFC 9110 section 9.2.2 */
    bool close_after; /* the plan's own "Connection: close" */
    uint32_t origin;  /* number of its target, see reqset.h */
    uint32_t name;    /* number of its name in the report, see reqset.h */
    /* Test mode of the paired end-to-end test (URL_TEST_INDEX_ENV): "{i}" in the path is replaced
     * per request by the global index, REQUEST_INDEX_DIGITS wide, zero padded, in place.
     * SIZE_MAX = none. */
    size_t index_at;
};

/* Refuses, naming the value: a method that is no token, CONNECT; CR, LF, NUL in a header; a second
 * Host; Transfer-Encoding; a Content-Length that is not the body's. `out` untouched on error. */
enum err request_compile(const struct plan *p, const struct url_parts *u, struct request *out,
                         struct errmsg *msg) MUST_CHECK;
void request_clear(struct request *r);

/* Writes the index's digits at `at` (REQUEST_INDEX_DIGITS bytes, no NUL). Hot path. */
void request_put_index(char *at, uint64_t index);

#endif
