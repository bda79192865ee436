/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_LINK_OPENSSL_H
#define HAMMER_PROTO_LINK_OPENSSL_H

#include <nng/nng.h>
#include <nng/supplemental/tls/tls.h>
#include <stdbool.h>

#include "common/err.h"
#include "proto/link_keys.h"

/*
 * Private to proto/link*.c: OpenSSL as nng's TLS engine, in the place of the one that nng was built
 * with. docs/decisions/0004 says why. nng calls it on its own threads, one at a time for each
 * connection; nothing here blocks.
 */

/* How the end of a connection came about, as far as OpenSSL knows. All 0 = it does not. */
struct link_story {
    bool finished; /* our end of the handshake went well: the peer's certificate is good */
    long verify;   /* X509_V_ERR_ of the peer's certificate */
    int alert;     /* that the peer sent */
    int reason;    /* SSL_R_ */
};

/* Makes it the engine of all configurations from now on; again is fine. ERR_SYSTEM: this libnng
 * takes none, or one of another version. */
enum err link_openssl_start(struct errmsg *msg) MUST_CHECK;

/* A configuration with these keys, which it holds; a peer without a good certificate is refused.
 * `told`: where link_openssl_ask leaves its answer; must live as long as anybody asks. 0 or an nng
 * error. */
int link_openssl_config(nng_tls_mode mode, struct link_keys *keys, struct link_story *told,
                        nng_tls_config **out);

/* Writes the stream's story to the `told` of its configuration. One thread may ask, always the
 * same. */
void link_openssl_ask(nng_stream *s);

#endif
