/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_PREFLIGHT_H
#define HAMMER_PROTO_PREFLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/plan.h"

/*
 * PURE: what stands in the way of a load on one host, found before anything is sent. The controller
 * asks with what agents tell of themselves, the agent once more with the addresses it has resolved.
 * ERR_REFUSED names what is needed, what there is and how to get more.
 */

/* What does not depend on the target: descriptors, and memory for the figures of all threads. */
enum err preflight_part(const struct plan *p, const struct plan_part *part, uint64_t fd_limit,
                        struct errmsg *msg) MUST_CHECK;
enum err preflight_descriptors(uint32_t connections, uint64_t limit, struct errmsg *msg) MUST_CHECK;
/* Connections are spread over the addresses of the target, and each to the same one needs a local
 * port of its own. ports = 0: unknown, anything goes. */
enum err preflight_ports(uint32_t connections, uint64_t addresses, uint32_t ports,
                         struct errmsg *msg) MUST_CHECK;
/* A plan that closes connections after so many requests: each needs a port that no other one to the
 * address had for the 60 s of TIME_WAIT. On loopback Linux takes them back after 1 s
 * (net.ipv4.tcp_tw_reuse = 2, its default). Without a rate nothing can be said: ERR_OK. */
enum err preflight_fresh_ports(const struct plan *p, const struct plan_part *part,
                               uint64_t addresses, bool loopback, uint32_t ports,
                               struct errmsg *msg) MUST_CHECK;
/* Requests that a connection carries at most, 0 = no limit: by the plan's options, or 1 because a
 * Connection header of it, or of one of its requests, says "close" (RFC 9110 section 7.6.1). */
uint32_t preflight_per_connection(const struct plan *p);
/* Is the line such a header? */
bool preflight_line_closes(const char *line);

#endif
