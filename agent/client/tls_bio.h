/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_TLS_BIO_H
#define HAMMER_AGENT_TLS_BIO_H

#include <stdbool.h>

/*
 * How OpenSSL reaches a socket: as its own socket BIO does, but without SIGPIPE, and leaving behind
 * what became of the last call, which OpenSSL's error queue does not tell reliably. One thread.
 */

struct bio_method_st;
struct bio_st;

/* Embedded by value; zeroed when a connection begins. */
struct tls_socket {
    int fd;
    int error; /* errno of a call that failed for good; 0 = none did */
    bool dry;  /* the last read found nothing */
    bool eof;  /* the peer's end has come */
};

/* One serves all connections; freed by BIO_meth_free. NULL = out of memory. */
struct bio_method_st *tls_bio_method_new(void);
/* NULL = out of memory. `s` outlives it. */
struct bio_st *tls_bio_new(const struct bio_method_st *m, struct tls_socket *s);

#endif
