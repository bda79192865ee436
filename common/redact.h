/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_REDACT_H
#define HAMMER_COMMON_REDACT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What may be shown of a request. Every writer of URLs and headers (reports, JSON, logs, audit,
 * errors) goes through here; nothing else decides what a secret is. Pure.
 */

#define REDACTED "REDACTED"

/* Authorization, Proxy-Authorization, Cookie, Set-Cookie, X-Api-Key, ... and the `extra` names
 * (comma-separated, NULL = none). Case does not matter. */
bool redact_is_secret_header(const char *name, size_t len, const char *extra);
/* "Name: value" with the value replaced when the name is a secret one's. Cut to cap. */
void redact_header(const char *line, const char *extra, char *buf, size_t cap);
/* The URL without userinfo, the values of token-like query keys (token, key, secret, password,
 * signature, ...) replaced. Works on any text, also on what is no URL. Cut to cap. */
void redact_url(const char *url, char *buf, size_t cap);

#endif
