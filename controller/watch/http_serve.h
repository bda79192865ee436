/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_HTTP_SERVE_H
#define HAMMER_CONTROLLER_HTTP_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "common/err.h"
#include "common/loop.h"

/*
 * One page, http://HOST:PORT/metrics, on the loop of whoever owns the figures. Nobody can hold it
 * up or make it grow: so many connections at a time, a request of so many bytes, an answer that is
 * made once and sent as the client takes it, and an end of each connection after so long. (evhttp
 * knows no bound of connections.)
 */

#define HTTP_SERVE_CONNECTIONS 16
#define HTTP_SERVE_SECONDS     10

struct http_serve;

struct http_serve_config {
    struct loop *loop;
    struct sockaddr_storage address;
    /* The page, valid until the next call; plain = as text/plain. */
    const char *(*page)(void *arg, bool plain, const char **type, size_t *len);
    void *arg;
};

/* "[HOST:]PORT", HOST = localhost, 127.x.x.x or [::1]. ERR_INVALID says what is accepted. */
enum err http_serve_address(const char *text, struct sockaddr_storage *out,
                            struct errmsg *msg) MUST_CHECK;
enum err http_serve_new(const struct http_serve_config *cfg, struct http_serve **out,
                        struct errmsg *msg) MUST_CHECK;
/* "127.0.0.1:9464", with the port that it has. */
const char *http_serve_where(const struct http_serve *s);
void http_serve_free(struct http_serve *s); /* NULL is fine */

#endif
