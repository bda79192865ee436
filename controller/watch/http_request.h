/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_HTTP_REQUEST_H
#define HAMMER_CONTROLLER_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

/*
 * PURE: what a client wants of a server that has one page, /metrics, for this machine alone. The
 * bytes are foreign; whatever is not plainly a GET or HEAD of HTTP/1 is refused. A Host header that
 * names no loopback address is refused too: a browser was led here by a name that somebody else
 * gave this address (DNS rebinding).
 */

#define HTTP_REQUEST_MAX 8192

struct http_request {
    int status; /* of the answer: 200, 400, 403, 404, 405, 431, 505 */
    bool head;  /* no body is wanted */
    bool plain; /* the client takes text/plain and does not speak of OpenMetrics */
};

/* false = the request is not whole yet. */
bool http_request_parse(const char *bytes, size_t len, struct http_request *r);
/* "localhost", 127.0.0.0/8, [::1], each with a port or without. */
bool http_request_is_loopback(const char *host, size_t len);

#endif
