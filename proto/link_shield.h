/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_LINK_SHIELD_H
#define HAMMER_PROTO_LINK_SHIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "common/err.h"
#include "proto/link_frame.h"
#include "proto/link_keys.h"

/*
 * Private to proto/link*.c: one end of a TLS connection between a byte stream and a link's frames.
 * Pure bytes, no socket: what came from the stream is put in and read in the clear; frames go in
 * and what is to be sent comes out. The handshake runs by itself with both. An idle one costs
 * OpenSSL's own state and LINK_SHIELD_ROOM bytes, of which the kernel counts what has been used,
 * and its link's read buffer is given back; one in the middle of a record no more than the record.
 * Where a shield may be NULL, the bytes are frames as they are. Not thread safe.
 * docs/decisions/0004 says why it is not nng's TLS.
 */

struct link_shield;

/* How the end of a connection came about, as far as OpenSSL knows. All 0 = it does not. */
struct link_story {
    bool finished; /* our end of the handshake went well: the peer's certificate is good */
    long verify;   /* X509_V_ERR_ of the peer's certificate */
    int alert;     /* that the peer sent */
    int reason;    /* SSL_R_ */
};

/* Of the first read: a ping and most snapshots. The rest of a longer record is read once its length
 * is known. Twice as much makes a snapshot 5 % cheaper and a thousand links 4 MB larger. */
#define LINK_SHIELD_ROOM (FRAME_BUFFER / 2 + 32)

/* server_name: that a dialler's peer must have; NULL for a listener. Holds the keys. NULL = out of
 * memory. */
struct link_shield *link_shield_new(struct link_keys *keys, const char *server_name);
void link_shield_free(struct link_shield *s); /* NULL is fine */

/* Where the next bytes from the stream go, once link_shield_open has said ERR_TRUNCATED. s may be
 * NULL. */
uint8_t *link_shield_room(struct link_shield *s, struct frame_rx *rx, size_t *len);
/* n bytes have come. s may be NULL. */
void link_shield_filled(struct link_shield *s, struct frame_rx *rx, size_t n);

/* Puts the next bytes in the clear into rx, when no whole frame is in it. ERR_TRUNCATED = more is
 * needed; ERR_CLOSED = the peer has said goodbye; ERR_CORRUPT = it failed, link_shield_story knows
 * why. The last two are for ever. After each call there may be something to send. s may be NULL. */
enum err link_shield_open(struct link_shield *s, struct frame_rx *rx) MUST_CHECK;

/* What is to be sent next: number of vectors. Frames of `t` are sealed as far as the handshake is
 * over, a bounded piece at a time. Stays valid until link_shield_sent. s may be NULL. */
size_t link_shield_vectors(struct link_shield *s, const struct frame_tx *t, struct iovec *iov,
                           size_t max);
/* n bytes of it are out; frames that went with them are removed from `t`. s may be NULL. */
void link_shield_sent(struct link_shield *s, struct frame_tx *t, size_t n);

/* No frame will follow; says so to the peer, if the handshake is over. */
void link_shield_bye(struct link_shield *s);

/* ERR_OK until link_shield_open would say that it is over. s may be NULL. */
enum err link_shield_end(const struct link_shield *s);
/* Valid until the next call. */
const struct link_story *link_shield_story(struct link_shield *s);

#endif
