/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_CONN_TUNNEL_H
#define HAMMER_AGENT_CONN_TUNNEL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The way through an HTTP proxy, for conn.c alone: CONNECT HOST:PORT (RFC 9110 section 9.3.6), and
 * then a 2xx response, after which the bytes of the connection are the server's. Embedded by value,
 * no buffer: the request is made again for each piece of it, the response is looked at byte by
 * byte. One thread.
 */

/* Errors beside errno, below those of tls_error.h. */
#define CONN_PROXY_BROKEN (1 << 22)                  /* no HTTP response, or more than one */
#define CONN_PROXY_STATUS (CONN_PROXY_BROKEN + 1000) /* + the status that is no 2xx */

struct conn_tunnel {
    uint16_t written; /* bytes of the request */
    uint16_t seen;    /* bytes of the response */
    uint16_t status;
    uint8_t newlines; /* in a row, at the end of what was seen */
    uint8_t interim;  /* responses before the one that counts */
    bool open;
};

enum conn_tunnel_step {
    CONN_TUNNEL_DONE,
    CONN_TUNNEL_READ, /* waits for bytes */
    CONN_TUNNEL_WRITE /* waits for room */
};

/* Goes on over that connected socket: an enum conn_tunnel_step, or minus an error as above. */
int conn_tunnel_step(struct conn_tunnel *t, int fd, const char *authority);
/* Is the code one of the above? Writes what it means. */
bool conn_tunnel_text(int code, char *buf, unsigned long cap);

#endif
