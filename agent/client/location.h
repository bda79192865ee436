/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_LOCATION_H
#define HAMMER_AGENT_LOCATION_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/url.h"

/*
 * Where a redirect leads: the reference of a Location field against the URL of the request (RFC
 * 3986 section 5.2). Pure, no allocation. What browsers repair in every day's servers is repaired:
 * bytes that no URL may have are percent-encoded.
 */

#define LOCATION_PATH_MAX 8192

struct location {
    bool tls;
    char host[256];                   /* without brackets */
    char port[6];                     /* decimal, the scheme's own where there is none */
    char path[LOCATION_PATH_MAX + 1]; /* and query, at least "/" */
    size_t path_len;
};

/* base_path: path and query of the request. False: not a reference, not http or https, with
 * userinfo, or too long. */
bool location_resolve(const struct url_parts *base, const char *base_path, size_t base_len,
                      const char *ref, size_t ref_len, struct location *out);
/* Is it that origin? */
bool location_is_at(const struct location *l, const struct url_parts *origin);

#endif
