/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_TARGET_H
#define HAMMER_AGENT_TARGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/err.h"
#include "proto/plan_route.h"

/*
 * The resolved addresses of the target. Resolved once at prepare (getaddrinfo: blocking, so the
 * caller runs it off the control loop), then read-only and shared by all workers.
 */

#define TARGET_ADDRS_MAX 32
#define TARGET_TEXT      128 /* an address with its port, or a socket's path */

struct target_addr {
    struct sockaddr_storage sa;
    socklen_t len;
};

/* Who decides, at every connect, whether an address may be connected to. Pure and cheap: it is
 * called on all workers' threads. */
struct target_guard {
    bool (*allows)(const void *arg, const struct sockaddr *sa);
    const void *arg;
};

struct tls_context;

struct target {
    const struct tls_context *tls; /* NULL = in the clear; set after resolving, outlives it */
    struct target_guard guard;     /* set after resolving; empty = all but reserved addresses */
    struct target_addr addrs[TARGET_ADDRS_MAX];
    size_t n;
    const struct target_addr *sources; /* connections come from these in turn; borrowed */
    size_t n_sources;                  /* 0 = the kernel chooses */
    const char *tunnel; /* "HOST:PORT" that a proxy is asked for by CONNECT first; NULL = none.
                           Borrowed */
    /* Where connections that are opened from now on go, when the name was looked up again; NULL =
     * here. Changed by the main thread; what was here once stays as long as the target. */
    _Atomic(const struct target *) newer;
    char text[TARGET_TEXT]; /* first address, "127.0.0.1:8080", "[::1]:8080" */
};

/* All targets of a run, by number (request.origin). Borrowed. */
struct targets {
    size_t n; /* >= 1 */
    const struct target *const *items;
};

/* ERR_NOT_FOUND: "cannot resolve HOST: reason". Blocks as long as the resolver does. */
enum err target_resolve(const char *host, const char *port, struct target *out,
                        struct errmsg *msg) MUST_CHECK;
/* The same by a route: a name, fixed addresses or a UNIX socket; `family` AF_INET, AF_INET6 or
 * AF_UNSPEC. ERR_NOT_FOUND also when no address is of the family. */
enum err target_route(const struct route *r, int family, struct target *out,
                      struct errmsg *msg) MUST_CHECK;
/* "192.0.2.7,2001:db8::1" as addresses without a port, at most TARGET_ADDRS_MAX; how many. */
size_t target_parse_addresses(const char *list, const char *port, struct target_addr *out,
                              size_t max);
/* The target itself, or what has taken its place. Any thread. */
static inline const struct target *target_now(const struct target *t)
{
    const struct target *newer = atomic_load_explicit(&t->newer, memory_order_acquire);
    return newer != NULL ? newer : t;
}
/* Have they the same addresses, in whatever order? */
bool target_same_addresses(const struct target *a, const struct target *b);
/* Asks the guard. Without one no link-local or metadata address is allowed (netaddr_reserved). */
bool target_allows(const struct target *t, const struct sockaddr *sa);
/* "192.0.2.7:80", "[2001:db8::1]:80" */
void target_addr_text(const struct target_addr *a, char *buf, size_t cap);

#endif
