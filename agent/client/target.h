/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_TARGET_H
#define HAMMER_AGENT_TARGET_H

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

struct target {
    struct target_addr addrs[TARGET_ADDRS_MAX];
    size_t n;
    char text[96]; /* first address, "127.0.0.1:8080", "[::1]:8080" */
};

/* ERR_NOT_FOUND: "cannot resolve HOST: reason". Blocks as long as the resolver does. */
enum err target_resolve(const char *host, const char *port, struct target *out,
                        struct errmsg *msg) MUST_CHECK;
/* Link-local and metadata addresses (169.254/16, fe80::/10) are never a target: ERR_REFUSED. */
enum err target_check(const struct target *t, struct errmsg *msg) MUST_CHECK;

#endif
