/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_PREFLIGHT_H
#define HAMMER_AGENT_PREFLIGHT_H

#include <stdint.h>

#include "common/err.h"

/*
 * PURE: what stands in the way of so many connections on this host, found before anything is sent.
 * ERR_REFUSED names what is needed, what there is and how to get more.
 */

enum err preflight_descriptors(uint32_t connections, uint64_t limit, struct errmsg *msg) MUST_CHECK;
/* Connections are spread over the addresses of the target, and each to the same one needs a local
 * port of its own. ports = 0: unknown, anything goes. */
enum err preflight_ports(uint32_t connections, uint64_t addresses, uint32_t ports,
                         struct errmsg *msg) MUST_CHECK;

#endif
