/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_RAW_TLS_H
#define HAMMER_TESTS_RAW_TLS_H

#include <stdbool.h>

#include "common/loop.h"
#include "tests/lib/test_pki.h"

/*
 * A peer that shows what proto/link_tls would refuse to show: OpenSSL on a bare socket. While it
 * waits, it turns the loop of the side that is under test.
 */

struct raw_tls {
    const struct test_pki *pki;
    const char *ca;     /* file that it trusts, NULL = "ca.crt" */
    const char *cert;   /* shows CERT.crt; NULL = shows none */
    const char *scheme; /* NULL = "tls+tcp" */
};

/* Dials the port of `url`, sends one frame and waits for one: did it come? */
bool raw_tls_dial(const struct raw_tls *r, struct loop *loop, const char *url);

struct raw_tls_server;
/* Accepts one connection on 127.0.0.1 and answers its first frame, if it gets as far as that. */
struct raw_tls_server *raw_tls_listen(const struct raw_tls *r);
const char *raw_tls_url(const struct raw_tls_server *s);
/* To be called again and again while the other side works. */
void raw_tls_turn(struct raw_tls_server *s);
void raw_tls_close(struct raw_tls_server *s);

#endif
