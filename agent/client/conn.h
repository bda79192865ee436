/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_CONN_H
#define HAMMER_AGENT_CONN_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/client/conn_tls.h"
#include "agent/client/conn_tunnel.h"
#include "agent/client/target.h"

/*
 * One non-blocking socket (TCP, or UNIX) on the worker's base, reopened as often as wanted;
 * embedded by value, nothing allocates after conn_init. The read event is registered once per
 * socket; the write event only while a connect or a short send is pending. Errors are errno values.
 * Worker's thread only.
 *
 * Through a proxy's tunnel opening includes CONNECT and the proxy's answer, whose errors are those
 * of conn_tunnel.h. With conn_use_tls the same in TLS: opening includes the handshake, bytes are
 * those in the clear, errors may also be those of tls_error.h, there are no stamps, and nothing is
 * dropped unread.
 */

enum conn_event {
    CONN_READABLE, /* conn_recv has something: bytes, end of file or an error */
    CONN_WRITABLE, /* opening has ended (conn_opened), or more can be sent */
};

typedef void (*conn_fn)(void *arg, enum conn_event ev);

struct conn {
    int fd; /* -1 = closed */
    struct event_base *base;
    conn_fn fn;
    void *arg;
    struct event readable, writable;
    struct conn_tls *tls; /* NULL = plain */
    const char *through;  /* what a proxy is asked for, see struct target; NULL = no proxy */
    struct conn_tunnel tunnel;
    uint32_t turn; /* which source address is next; to begin with set by the owner, so that many
                      connections begin with different ones */
};

struct conn_read {
    ssize_t n;          /* bytes; 0 = end of file; < 0 = -errno */
    uint64_t kernel_ns; /* CLOCK_REALTIME arrival of the last bytes (SO_TIMESTAMPNS); 0 = unknown */
};

void conn_init(struct conn *c, struct event_base *base, conn_fn fn, void *arg);
/* After conn_init; `tls` is initialised and outlives c. */
void conn_use_tls(struct conn *c, struct conn_tls *tls);
/* The only place that connects. Asks the target's guard about `to`, whoever found that address and
 * when, then starts to connect; CONN_WRITABLE tells the end. 0, errno (then it is closed again), or
 * CONN_FORBIDDEN: nothing was sent to that address, and nothing must be. */
#define CONN_FORBIDDEN (-1)
int conn_open(struct conn *c, const struct target *t, const struct target_addr *to);
/* On CONN_WRITABLE after conn_open: 0 = open and being read, CONN_PENDING = another CONN_WRITABLE
 * follows, else errno or a code of tls_error.h (caller closes). */
#define CONN_PENDING (-2)
int conn_opened(struct conn *c);
/* It is the handshake that opening still waits for. */
bool conn_shaking_hands(const struct conn *c);
/* Bytes taken by the kernel (maybe fewer) or -errno; never blocks, never raises SIGPIPE. */
ssize_t conn_send(struct conn *c, const void *bytes, size_t len);
/* One CONN_WRITABLE when more can be sent. */
void conn_want_write(struct conn *c);
/* One recv; `stamped`: one recvmsg, which costs more and may tell kernel_ns. */
void conn_recv(struct conn *c, void *buf, size_t cap, bool stamped, struct conn_read *out);
/* The same, but the bytes are dropped where they are: buf is only for a kernel that cannot. */
void conn_drop(struct conn *c, void *buf, size_t cap, bool stamped, struct conn_read *out);
/* Something has come that was not read: bytes, in TLS also the end. A system call. */
bool conn_has_bytes(const struct conn *c);
/* CONN_READABLE is called on the next turn of the loop, whatever the socket says. */
void conn_poke(struct conn *c);
/* No callback afterwards. Closed is fine; may be called from the callback. */
void conn_close(struct conn *c);

#endif
