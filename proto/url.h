/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_URL_H
#define HAMMER_PROTO_URL_H

#include <stdbool.h>

#include "common/err.h"

/*
 * The target's URL taken apart (RFC 3986), strictly: what is not legal in a URL is refused with its
 * position instead of being repaired, because a repaired URL is not the one the user measures. Used
 * once at prepare; owner: the caller.
 */

struct url_parts {
    char scheme[8];
    char host[256]; /* without brackets */
    char port[6];   /* decimal, no leading zeros; "80" or "443" when none was given */
    bool tls;       /* https */
    bool ipv6_literal;
    char *path_query; /* at least "/"; owned */
};

/* Environment variable that allows "{i}" in the path, see struct request. Anything but "1" = off:
 * braces are not legal in a URL and are refused. */
#define URL_TEST_INDEX_ENV "HAMMER_TEST_INDEX"
#define URL_TEST_INDEX     "{i}"

/* http and https. Userinfo, port 0, an empty host, spaces, control characters and IPv6 zones are
 * refused; a fragment is dropped (it is never sent, RFC 9110 section 4.1); "localhost:8080" (no
 * scheme) is read as http://. ERR_INVALID, `out` untouched. */
enum err url_parse(const char *url, struct url_parts *out, struct errmsg *msg) MUST_CHECK;
/* Is the port the one that the scheme has where none is given? */
bool url_default_port(const struct url_parts *u);
/* Is the host an IP address in numbers? */
bool url_host_is_ip(const struct url_parts *u);
void url_clear(struct url_parts *u);

#endif
