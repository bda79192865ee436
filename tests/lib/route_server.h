/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_ROUTE_SERVER_H
#define HAMMER_TESTS_ROUTE_SERVER_H

#include <stddef.h>
#include <stdint.h>

/*
 * A server that remembers who came, for what and by which name, and a proxy: requests without a
 * body get 200, CONNECT is carried on to a port of 127.0.0.1. One blocking thread for each
 * connection. Failures abort the check test; all waits end at route_server_stop.
 */

#define ROUTE_SERVER_CONNECTIONS 512
#define ROUTE_SERVER_HEAD        1024
#define ROUTE_SERVER_PEERS       8

struct route_server_options {
    const char *listen;  /* an address of the loopback interface, or a path; NULL = 127.0.0.1 */
    uint16_t port;       /* 0 = any */
    uint16_t connect_to; /* where CONNECT leads */
    int refuse;          /* answer all with this status instead; 0 = do not */
};

struct route_server_seen {
    size_t connections, requests; /* CONNECT is none of the latter */
    size_t tunnels;
    size_t n_peers;
    struct {
        char address[64];
        size_t connections;
    } peers[ROUTE_SERVER_PEERS]; /* in the order in which they came first */
    char head[ROUTE_SERVER_HEAD + 1], connect[ROUTE_SERVER_HEAD + 1]; /* the last of each kind */
};

struct route_server;

/* NULL = this machine has no such address. */
struct route_server *route_server_start(const struct route_server_options *o);
void route_server_stop(struct route_server *s); /* NULL is fine */
uint16_t route_server_port(const struct route_server *s);
/* So far. */
void route_server_seen(struct route_server *s, struct route_server_seen *out);

#endif
