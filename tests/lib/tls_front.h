/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_TLS_FRONT_H
#define HAMMER_TESTS_TLS_FRONT_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/lib/test_pki.h"

/*
 * TLS in front of a plain server on another loopback port: what comes in goes there, what it
 * answers goes back. So every script of a hostile server is one in TLS, too. One blocking thread a
 * connection; all waits end when either side does, when the front is stopped, or after 20 s.
 */

#define TLS_FRONT_CONNS_MAX 1024

/* What the client sees when the server behind has closed. */
enum tls_front_end {
    TLS_FRONT_GOODBYE, /* close_notify, then the end */
    TLS_FRONT_CUT,     /* only the end */
    TLS_FRONT_GARBAGE  /* bytes that are no record, then the end */
};

struct tls_front_options {
    const struct test_pki *pki;
    const char *cert;   /* shows CERT.crt with CERT.key; NULL = "server" */
    const char *client; /* wants a certificate that this CA has signed ("ca.crt"); NULL = none */
    int version;        /* speaks this one only (TLS1_2_VERSION ...); 0 = any */
    uint16_t port;      /* of the server behind */
    enum tls_front_end end;
    bool key_updates; /* TLS 1.3: asks for new keys with every answer */
    bool no_sessions; /* resumes nothing */
};

struct tls_front;

struct tls_front *tls_front_start(const struct tls_front_options *o);
void tls_front_stop(struct tls_front *f);
uint16_t tls_front_port(const struct tls_front *f);

/* What clients have done so far. */
struct tls_front_seen {
    uint64_t accepted, handshakes, resumed;
    uint64_t alpn;     /* of the handshakes: http/1.1 was offered and nothing else */
    uint64_t goodbyes; /* connections that the client ended with close_notify */
    char sni[256];     /* of the last handshake */
};
void tls_front_seen(struct tls_front *f, struct tls_front_seen *seen);

#endif
