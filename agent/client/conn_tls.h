/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_CONN_TLS_H
#define HAMMER_AGENT_CONN_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/client/tls_context.h"

/*
 * The TLS of one connection, for conn.c alone: bytes in the clear on one side, a non-blocking
 * socket on the other. What OpenSSL wants of the loop is said by `waits`. Results that are not
 * bytes are -errno, -TLS_TRUNCATED or minus a code of tls_error.h. One thread. OpenSSL allocates
 * when a connection opens and when a server sends session tickets, not per record.
 *
 *   CLOSED -> HANDSHAKE -> OPEN -> ENDED
 */

enum conn_tls_phase {
    CONN_TLS_CLOSED,
    CONN_TLS_HANDSHAKE, /* or still connecting */
    CONN_TLS_OPEN,
    CONN_TLS_ENDED /* nothing more is read: `end` says why */
};

/* What a handshake that has succeeded was like. The texts are static. */
struct conn_handshake {
    uint64_t took_ns;
    bool resumed;
    const char *version, *cipher; /* "TLSv1.3", "TLS_AES_128_GCM_SHA256" */
};

struct conn_tls {
    const struct tls_context *context;
    struct tls_session *session; /* the worker's */
    struct ssl_st *ssl;          /* NULL = closed */
    enum conn_tls_phase phase;
    struct tls_socket socket;
    int end;               /* ENDED: 0 = close_notify, else as above, positive */
    bool failed;           /* the TLS state is broken: there is no goodbye */
    bool sender_waits;     /* conn_want_write was called */
    bool send_needs_read;  /* the last send stopped because something must be read first */
    bool recv_needs_write; /* the same, the other way round */
    uint64_t began_ns;     /* the handshake; 0 = not yet */
    struct conn_handshake handshake;
};

/* Once, before everything else; both outlive it. */
void conn_tls_init(struct conn_tls *t, const struct tls_context *context,
                   struct tls_session *session);
/* The socket has begun to connect. 0 or ENOMEM. */
int conn_tls_open(struct conn_tls *t, int fd);

enum conn_tls_step {
    CONN_TLS_DONE, /* OPEN; handshake is valid */
    CONN_TLS_READ, /* waits for bytes */
    CONN_TLS_WRITE /* waits for room */
};
/* Goes on with the handshake: an enum conn_tls_step, or minus a code of tls_error.h. */
int conn_tls_handshake(struct conn_tls *t);

/* Bytes taken (maybe fewer) or an error; -EAGAIN also where bytes must be read first. */
ssize_t conn_tls_send(struct conn_tls *t, const void *bytes, size_t len);
/* As much as is there, up to cap; 0 = close_notify. *more: call again without waiting for the
 * socket, which may have no more to say. */
ssize_t conn_tls_recv(struct conn_tls *t, void *buf, size_t cap, bool *more);
/* Has OpenSSL read more than it was asked for? */
bool conn_tls_pending(const struct conn_tls *t);
/* Has the peer said something that is for the user of the connection? */
bool conn_tls_has_bytes(struct conn_tls *t);
/* Says goodbye (RFC 8446 section 6.1) if that is possible at once. The socket is still open. */
void conn_tls_close(struct conn_tls *t);

#endif
