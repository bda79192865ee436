/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_PLAN_ROUTE_H
#define HAMMER_PROTO_PLAN_ROUTE_H

#include <stdbool.h>

#include "common/err.h"
#include "proto/plan.h"

/*
 * PURE: where the connections to an origin go, when --unix-socket, --proxy, --connect-to or
 * --resolve say so. What the server is called in the request and in TLS does not change. The forms
 * are those of curl.
 */

#define PLAN_ROUTES_MAX  64
#define PLAN_ROUTE_TEXT  1024
#define PLAN_SOURCES_MAX 64
#define PLAN_UNIX_MAX    107 /* sun_path without its NUL */

struct route {
    const char *unix_path; /* NULL = over the network */
    bool proxy;            /* host and port are the proxy's */
    bool renamed;          /* host is not the origin's own */
    bool fixed;            /* `addresses` says where, nobody is asked */
    char host[256];        /* without brackets */
    char port[6];
    char addresses[PLAN_ROUTE_TEXT]; /* numeric, comma-separated, without brackets */
};

/* A part of plan_validate. */
enum err plan_check_routes(const struct plan *p, struct errmsg *msg) MUST_CHECK;

/* Of a checked plan. */
void plan_route(const struct plan *p, const char *host, const char *port, struct route *out);

#endif
