/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_NETADDR_H
#define HAMMER_AGENT_NETADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/err.h"

/*
 * PURE: addresses and prefixes, and what an address really reaches: an IPv6 address may carry an
 * IPv4 one (mapped, compatible, NAT64, 6to4, Teredo, ISATAP, SIIT), and 0.0.0.0 is this machine.
 * Whoever decides about an address has to look at all of them. Any thread, cheap.
 */

#define NETADDR_REACHES_MAX 8 /* itself and what two carriers and ISATAP make of it */
#define NETADDR_TEXT        64

struct netaddr {
    int family;        /* AF_INET, AF_INET6; 0 = neither, no prefix covers it */
    uint8_t bytes[16]; /* AF_INET: the first four */
};

struct prefix {
    struct netaddr addr;
    unsigned bits;
};

/* out[0] is the address (of an IPv4-mapped one the IPv4 address, which is where the kernel goes),
 * the others are what it may be translated to. At least 1. */
size_t netaddr_reaches(const struct sockaddr *sa, struct netaddr out[NETADDR_REACHES_MAX]);
uint16_t netaddr_port(const struct sockaddr *sa); /* 0 = none */
/* "192.0.2.7", "2001:db8::1" */
const char *netaddr_text(const struct netaddr *a, char buf[NETADDR_TEXT]);

/* "10.0.0.0/8", "192.0.2.7", "2001:db8::/32"; of "::ffff:10.0.0.0/104" comes 10.0.0.0/8. */
enum err prefix_parse(const char *text, struct prefix *out) MUST_CHECK;
/* Is a bit set beyond the prefix, as in 10.0.0.1/8? */
bool prefix_has_host_bits(const struct prefix *p);
bool prefix_covers(const struct prefix *p, const struct netaddr *a);
const char *prefix_text(const struct prefix *p, char buf[NETADDR_TEXT]);

/* The link-local or metadata range the address is in, NULL = in none. */
const struct prefix *netaddr_reserved(const struct netaddr *a);
/* Not an address of the public internet: loopback, private, shared, multicast, reserved. */
bool netaddr_private(const struct netaddr *a);

#endif
