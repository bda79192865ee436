/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_LINK_KEYS_H
#define HAMMER_PROTO_LINK_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * Private to proto/link*.c: certificates, key and rules of one end as OpenSSL has them (an
 * SSL_CTX), shared by all connections that are made with them, and how OpenSSL reaches the bytes
 * below it. Making it costs tens of kilobytes and a fraction of a millisecond, so a controller has
 * one for all its agents. One thread.
 */

struct ssl_st;
struct link_keys;

/* Without certificates yet; one hold. NULL = out of memory. */
struct link_keys *link_keys_new(bool server);
struct link_keys *link_keys_hold(struct link_keys *k);
void link_keys_drop(struct link_keys *k); /* NULL is fine */

/* PEM texts. With a list, whoever is on it is refused, and everybody once it has run out; an issuer
 * that has no list in it has revoked nobody. ERR_INVALID with OpenSSL's reason. */
enum err link_keys_trust(struct link_keys *k, const char *ca, const char *crl,
                         struct errmsg *msg) MUST_CHECK;
enum err link_keys_own(struct link_keys *k, const char *cert, const char *key,
                       struct errmsg *msg) MUST_CHECK;

/* The bytes below a connection: OpenSSL takes from `in` and appends to `out`, at most
 * LINK_PIPE_MAX: more is an error that ends it. */
#define LINK_PIPE_MAX (128u << 10)
struct link_pipe {
    const uint8_t *in;
    size_t in_len;
    uint8_t *out; /* mem_free */
    size_t out_len, out_cap;
};

/* A connection that has not begun; it will want a good certificate of the peer. `p` outlives it.
 * NULL = out of memory. */
struct ssl_st *link_keys_connect(const struct link_keys *k, struct link_pipe *p);

#endif
