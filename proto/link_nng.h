/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_LINK_NNG_H
#define HAMMER_PROTO_LINK_NNG_H

#include <nng/nng.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/mailbox.h"
#include "proto/link.h"

/*
 * Private to proto/link*.c: one nng operation at a time whose completion arrives as a letter on the
 * loop's thread. The nng callback stamps the time and posts, nothing else. Order of the end, always
 * on the loop's thread and never in an nng callback: close the stream (dialer, listener), stop the
 * operations, free the mailbox (it hands out what is queued), free the operations, free the stream.
 * Stopping before closing can hang.
 */

struct link_op {
    struct letter letter; /* first: the letter is the operation */
    nng_aio *aio;
    struct mailbox *box;
    uint64_t done_ns; /* CLOCK_MONOTONIC in the callback */
    bool busy;        /* started, letter not yet seen; loop's thread only */
};

/* `kind` goes into the letter. */
enum err link_op_init(struct link_op *op, int kind, struct mailbox *box) MUST_CHECK;
/* Cancels and waits for the callback; accepts the zeroed object. */
void link_op_stop(struct link_op *op);
void link_op_free(struct link_op *op);
/* The operation of a letter, no longer busy. */
struct link_op *link_op_take(struct letter *l);

/* "connection refused", "closed by the peer", ... for an nng error. */
const char *link_nng_reason(int nng_error);
/* Does the result of a dial say nothing about the peer: nng's race between connect and poll, or a
 * full backlog of an ipc socket? */
bool link_nng_transient(int nng_error);

#define LINK_LABEL_MAX 192
/* "tcp 127.0.0.1:54321", "ipc pid 4711 uid 1000". */
void link_nng_peer(nng_stream *s, char *buf, size_t cap);
/* Is it really connected? nng now and then reports a dial as done that never was. */
bool link_nng_connected(nng_stream *s);
/* Port of a tcp address, host order; 0 for others. */
unsigned link_nng_port(const nng_sockaddr *sa);

/* An accepted stream becomes an up link without a handler. On failure the stream is freed. tls: the
 * listener's, NULL = none. */
enum err link_adopt(struct loop *loop, nng_stream *s, const struct link_tls *tls, struct link **out,
                    struct errmsg *msg) MUST_CHECK;
/* Shows it to its taker, then starts reading, or closes it when nobody kept it. */
void link_offer(struct link *l, link_accept_fn fn, void *arg);

/* --- link_tls.c ------------------------------------------------------------------------------- */

/* The end of a connection with today's files. */
struct link_shield;
enum err link_tls_dial(const struct link_tls *t, const char *server_name, struct link_shield **out,
                       struct errmsg *msg) MUST_CHECK;
enum err link_tls_accept(const struct link_tls *t, struct link_shield **out,
                         struct errmsg *msg) MUST_CHECK;
/* Are they a listener's? */
enum err link_tls_listen(const struct link_tls *t, struct errmsg *msg) MUST_CHECK;

#endif
