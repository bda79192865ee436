/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_REDACT_H
#define HAMMER_COMMON_REDACT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What may be shown of a request. Every writer of URLs and headers (reports, JSON, logs, audit,
 * errors) goes through here; nothing else decides what a secret is. When in doubt, too much is
 * hidden. Redacting what is redacted changes nothing. Any thread; not on the hot path.
 */

#define REDACTED "REDACTED"

/* Authorization, Proxy-Authorization, Cookie, Set-Cookie, X-Api-Key, ... and the `extra` names
 * (comma-separated, NULL = none). Case does not matter. */
bool redact_is_secret_header(const char *name, size_t len, const char *extra);
/* "Name: value" with the value replaced when the name is a secret one's or the value "Bearer ...";
 * other values as redact_url shows them. All of it is replaced when there is no name and colon. Cut
 * to cap.
 */
void redact_header(const char *line, const char *extra, char *buf, size_t cap);
/* The URL with its userinfo and the values of token-like query keys (token, key, secret, password,
 * signature, ...) replaced. Works on any text, also on what is no URL. Cut to cap. */
void redact_url(const char *url, char *buf, size_t cap);

#endif
