/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_CLIENT_H1_H
#define HAMMER_AGENT_CLIENT_H1_H

#include "agent/client/client.h"

/*
 * HTTP/1.1 over persistent TCP connections, one request at a time on each. Framing is RFC 9112
 * section 6: HEAD, 1xx, 204, 304, chunked (extensions, trailers), Content-Length, close-delimited;
 * HTTP/1.0 and Connection: close. A server that closes an idle connection causes a reconnect, not
 * an error; a close before any byte of a response on a REUSED connection is retried once on a fresh
 * one, keeping the due time. A connection whose request timed out is replaced.
 */

#define H1_HEADER_MAX 65536

enum h1_error {          /* client_result.error with OUTCOME_PROTOCOL */
    H1_BAD_RESPONSE = 1, /* not HTTP, bad chunk size, contradicting lengths, ... */
    H1_HEADER_TOO_LARGE, /* header block, or the sum of 1xx ones and trailers, over H1_HEADER_MAX */
    H1_BAD_STATUS,       /* status outside 100..599 */
    H1_UPGRADE,          /* 101 although nothing was asked for */
    H1_EXTRA_BYTES,      /* bytes after the end of the response */
    H1_EARLY_BYTES,      /* bytes on a new connection before the request was written */
    H1_ERRORS
};

const struct client_ops *client_h1_ops(void);

#endif
