/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_REQUEST_H
#define HAMMER_AGENT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/plan.h"

/*
 * The request as bytes, compiled once from the plan: request line, Host (RFC 9112 section 3.2; IPv6
 * literals keep their brackets, RFC 3986 section 3.2.2), default headers User-Agent
 * "hammer/VERSION" and Accept, the plan's own headers (each replaces the default of that name),
 * Content-Length and body. Read-only afterwards: shared by all workers.
 */

/* Where the load goes, taken apart by the URL parser. */
struct url_parts {
    char scheme[8];
    char host[256]; /* without brackets */
    char port[6];
    bool ipv6_literal;
    char *path_query; /* at least "/"; owned */
};

/* http only for now; https says that it is not there yet. Userinfo, port 0, an empty host, spaces
 * and control characters are refused; "localhost:8080" (no scheme) is read as http://. */
enum err url_parse(const char *url, struct url_parts *out, struct errmsg *msg) MUST_CHECK;
void url_clear(struct url_parts *u);

struct request {
    char *bytes; /* head and body, as sent */
    size_t len;
    bool head_method; /* HEAD: the response has no body (RFC 9110 section 9.3.2) */
    bool idempotent;  /* RFC 9110 section 9.2.2 */
    bool close_after; /* the plan's own "Connection: close" */
    /* Test mode of the paired end-to-end test: "{i}" in the path is replaced per request by the
     * global index, 20 digits wide, zero padded, in place. SIZE_MAX = none. */
    size_t index_at;
};

enum err request_compile(const struct plan *p, const struct url_parts *u, struct request *out,
                         struct errmsg *msg) MUST_CHECK;
void request_clear(struct request *r);

#endif
