/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_LINK_H
#define HAMMER_PROTO_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/loop.h"

/*
 * The only module that includes nng. Byte streams (nng_stream_*: ipc://, tcp://) with frames
 * of a 4-byte big-endian length, delivered on the loop's thread, which also does the TLS of
 * tls+tcp:// (link_shield). nng's own threads only queue completions and stamp the time. "Up" means
 * bytes can be sent, not that the peer is hammer, nor that the TLS handshake went well: only
 * WELCOME says so. A peer that is gone may never say FIN: a link that hears nothing for
 * `silence_ms` goes down by itself. docs/decisions/0001 says why nng's SP sockets are not used.
 * Call link_block_signals before the first other call of the process and never fork after it
 * without exec. A link costs one descriptor. All calls on the loop's thread, also from inside
 * callbacks; callbacks never come from inside a call. End of a program: close all, loop_finish
 * (lets flushes end), loop_free.
 */

struct link;
struct link_listener;
struct link_tls;

enum link_event {
    LINK_UP,    /* dialled; frames may be sent */
    LINK_FRAME, /* a whole frame */
    LINK_DOWN   /* last event of a link; reason says why. The callback must link_close it */
};

/* All may be zero. What it points to must outlive the call only, except tls: it must outlive the
 * listener or the link. */
struct link_options {
    const struct link_tls *tls; /* proto/link_tls.h; needed for tls+tcp:// */
    const char *server_name;    /* dial: the name that the agent's certificate must have */
    unsigned ipc_mode;          /* listen on ipc://: permissions of the socket, 0 = 0600 */
};

struct link_info {
    const uint8_t *frame; /* valid until the callback returns */
    size_t len;
    uint64_t rx_ns;     /* CLOCK_MONOTONIC when the last byte of the frame arrived */
    const char *reason; /* LINK_DOWN: "connection refused", "silent for 3.0 s", ... A refused TLS
                           handshake: link_tls_causes, up to 400 bytes */
};

typedef void (*link_fn)(void *arg, struct link *l, enum link_event ev,
                        const struct link_info *info);
/* A new connection: keep it by link_set_handler, or link_close it. */
typedef void (*link_accept_fn)(void *arg, struct link *l);

/* nng's threads block only SIGPIPE and would steal SIGTERM: blocks all signals around nng's
 * start-up and restores the mask. */
void link_block_signals(void);

/* "tcp://127.0.0.1:7400", "tcp://[::1]:0", "tls+tcp://[::]:7400", "ipc:///run/hammer/agent.sock"
 * (created 0600). o = NULL: no option. The address in use or malformed is an error with text.
 * Accepting goes on for ever, whatever peers do. */
enum err link_listen(struct loop *loop, const char *url, const struct link_options *o,
                     link_accept_fn fn, void *arg, struct link_listener **out,
                     struct errmsg *msg) MUST_CHECK;
/* URL with the real port (for :0). */
const char *link_listener_url(const struct link_listener *l);
/* Is the address that was really bound one that only this machine reaches? A name may have resolved
 * to another one than when it was looked up before. */
bool link_listener_local(const struct link_listener *l);
void link_listener_close(struct link_listener *l);

/* Starts connecting; LINK_UP or LINK_DOWN follows within timeout_ms. An unusable URL fails at once.
 */
enum err link_dial(struct loop *loop, const char *url, const struct link_options *o,
                   uint64_t timeout_ms, link_fn fn, void *arg, struct link **out,
                   struct errmsg *msg) MUST_CHECK;

void link_set_handler(struct link *l, link_fn fn, void *arg);
/* Largest frame accepted from the peer; a longer one takes the link down. Default 4096. */
void link_set_frame_max(struct link *l, size_t max);
/* 0 switches the watchdog off (default). */
void link_set_silence(struct link *l, uint64_t silence_ms);

/* Queues a copy of the frame. ERR_BUSY when LINK_QUEUE_MAX frames are unsent or LINK_QUEUE_BYTES
 * would be (nothing is queued; there is no event when there is room again: try later), ERR_CLOSED
 * when the link is down, ERR_STATE before LINK_UP, ERR_INVALID when len is 0, ERR_TOO_BIG over
 * LINK_QUEUE_BYTES. Never blocks. */
#define LINK_QUEUE_MAX   64
#define LINK_QUEUE_BYTES (32u << 20)
enum err link_send(struct link *l, const void *frame, size_t len) MUST_CHECK;
/* Frames accepted by link_send and not yet handed to the kernel. */
size_t link_queued(const struct link *l);
/* "tcp 127.0.0.1:54321", "ipc pid 4711 uid 1000" (accepted), "ipc /run/x" (dialled); for logs. */
const char *link_peer(const struct link *l);
/* User of the process at the other end of an accepted ipc:// link; false = unknown. */
bool link_peer_uid(const struct link *l, uint64_t *uid);

/* No callback after this; queued frames are dropped unless flush_ms > 0: then they get that long to
 * leave, and after the last one the peer gets up to 200 ms of it to read and close
 * first; what it still sends is discarded. The flush needs the loop to turn: see loop_finish.
 * Otherwise memory goes away now, or when the link's own callback returns. NULL is fine. */
void link_close(struct link *l, uint64_t flush_ms);

#endif
