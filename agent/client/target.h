/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_TARGET_H
#define HAMMER_AGENT_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/err.h"

/*
 * The resolved addresses of the target. Resolved once at prepare (getaddrinfo: blocking, so the
 * caller runs it off the control loop), then read-only and shared by all workers.
 */

#define TARGET_ADDRS_MAX 32

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
    char text[96]; /* first address, "127.0.0.1:8080", "[::1]:8080" */
};

/* All targets of a run, by number (request.origin). Borrowed. */
struct targets {
    size_t n; /* >= 1 */
    const struct target *const *items;
};

/* ERR_NOT_FOUND: "cannot resolve HOST: reason". Blocks as long as the resolver does. */
enum err target_resolve(const char *host, const char *port, struct target *out,
                        struct errmsg *msg) MUST_CHECK;
/* Asks the guard. Without one no link-local or metadata address is allowed (netaddr_reserved). */
bool target_allows(const struct target *t, const struct sockaddr *sa);
/* "192.0.2.7:80", "[2001:db8::1]:80" */
void target_addr_text(const struct target_addr *a, char *buf, size_t cap);

#endif
