/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_LINK_FRAME_H
#define HAMMER_PROTO_LINK_FRAME_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/uio.h>

#include "common/err.h"

/*
 * Frames on a byte stream: 4 bytes of big-endian length, then that many bytes (at least 1). Pure
 * buffers for both directions, no sockets. Part of proto/link; not thread safe.
 */

#define FRAME_HEADER 4
#define FRAME_BUFFER (8u << 10) /* read buffer of an idle link; a snapshot fits as a rule */

/* --- cutting frames out of what was read --------------------------------------------------------
 */

struct frame_rx {
    uint8_t *buf;
    size_t cap, start, end; /* bytes read and not yet handed out: buf[start..end) */
    size_t max;             /* longest frame accepted; may be changed at any time */
};

void frame_rx_init(struct frame_rx *r, size_t max);
void frame_rx_fini(struct frame_rx *r);
/* Where the next read goes and how much fits (never 0). Grows to the frame under way, which
 * frame_rx_next has checked against `max`. Moves the buffer: frames handed out are gone. */
uint8_t *frame_rx_room(struct frame_rx *r, size_t *len);
/* n bytes were read into the room. */
void frame_rx_filled(struct frame_rx *r, size_t n);
/* Gives the buffer back until the next read, unless part of a frame is in it. */
void frame_rx_rest(struct frame_rx *r);
/* Forgets everything read. */
void frame_rx_discard(struct frame_rx *r);
/* Next whole frame, valid until frame_rx_room. ERR_TRUNCATED = read more. ERR_CORRUPT (length 0)
 * and ERR_TOO_BIG (over max) say why in msg; the stream is then out of step for good. */
enum err frame_rx_next(struct frame_rx *r, const uint8_t **frame, size_t *len,
                       struct errmsg *msg) MUST_CHECK;

/* --- frames waiting to be written ------------------------------------------------------------ */

struct frame_tx_item;

struct frame_tx {
    STAILQ_HEAD(, frame_tx_item) items;
    size_t count;  /* frames, a partly sent one included */
    size_t bytes;  /* unsent, headers included */
    size_t offset; /* bytes of the first frame that are already sent */
};

void frame_tx_init(struct frame_tx *t);
void frame_tx_fini(struct frame_tx *t);
/* Appends a copy with its header. len is at most UINT32_MAX. */
void frame_tx_push(struct frame_tx *t, const void *frame, size_t len);
/* Fills up to max vectors with the unsent bytes, in order; returns how many. They stay valid until
 * frame_tx_sent. */
size_t frame_tx_vectors(const struct frame_tx *t, struct iovec *iov, size_t max);
/* The first n unsent bytes are out. */
void frame_tx_sent(struct frame_tx *t, size_t n);

#endif
