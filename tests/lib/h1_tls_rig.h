/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_H1_TLS_RIG_H
#define HAMMER_TESTS_H1_TLS_RIG_H

#include "agent/client/tls_context.h"
#include "tests/lib/h1_rig.h"
#include "tests/lib/hostile_server.h"
#include "tests/lib/tls_front.h"

/*
 * client_h1 against a hostile server behind TLS, with a PKI of its own: server (server.test),
 * address (127.0.0.1), wild (*.wild.test), expired and early (server.test), self (self-signed),
 * client (clientAuth), and rogue-ca.crt.
 */

struct h1_tls_config {
    const struct hostile_step *script;
    const char *url;    /* NULL = https://server.test/ */
    const char *ca;     /* --cacert, NULL = ca.crt */
    bool no_ca;         /* the system's */
    const char *client; /* --cert CLIENT.crt --key CLIENT.key, NULL = none */
    const char *sni;
    const char *method; /* NULL = GET */
    uint32_t tls_min, connections;
    uint64_t timeout_ms;
    size_t body; /* of the request */
    struct client_rules rules;
    const struct target *other; /* NULL = one target; else every second request goes there */
    bool insecure, no_resume;
    struct tls_front_options front; /* pki and port are filled in */
};

struct h1_tls {
    struct test_pki *pki, *rogue;
    const struct hostile_step *scripts[1];
    struct hostile_server *server;
    struct tls_front *front;
    struct tls_context *context;
    struct h1_rig rig;
    bool closed; /* the rig, by the test */
};

void h1_tls_open(struct h1_tls *t, const struct h1_tls_config *cfg);
void h1_tls_close(struct h1_tls *t);
/* The client alone, of a server on that port that need not speak TLS. */
void h1_tls_open_port(struct h1_tls *t, const struct h1_tls_config *cfg, uint16_t port);

#endif
