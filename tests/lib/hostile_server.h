/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_HOSTILE_SERVER_H
#define HAMMER_TESTS_HOSTILE_SERVER_H

#include <stddef.h>
#include <stdint.h>

/*
 * A server on a loopback port that does exactly what its script says, good or bad. The n-th
 * accepted connection runs the n-th script, later ones the last; one blocking thread each. All
 * waits end when the peer closes, when hostile_stop is called, or after HOSTILE_LIMIT_S.
 */

#define HOSTILE_LIMIT_S     20
#define HOSTILE_CONNS_MAX   256
#define HOSTILE_REQUEST_MAX 1024

enum hostile_op {
    HOSTILE_END = 0, /* close, if still open */
    HOSTILE_READ,    /* a request: its head, then n bytes of body */
    HOSTILE_SEND,    /* bytes */
    HOSTILE_TRICKLE, /* bytes, one packet each, n ms apart (0: as soon as they can be told apart) */
    HOSTILE_FLOOD,   /* bytes again and again: n bytes of them, or (0) until the peer is gone */
    HOSTILE_HALF_CLOSE, /* nothing more will be sent; goes on reading */
    HOSTILE_RESET,      /* close with RST */
    HOSTILE_HANG,       /* read and ignore until the peer closes */
    HOSTILE_STALL,      /* do not even read until hostile_stop */
    HOSTILE_AGAIN       /* from the first step */
};

struct hostile_step {
    enum hostile_op op;
    const char *bytes; /* NUL-terminated */
    size_t n;          /* READ: body bytes; SEND: length of bytes that contain NUL; see above */
};

struct hostile_server;

/* Scripts end with HOSTILE_END; they and their bytes must outlive the server. Aborts on failure. */
struct hostile_server *hostile_start(const struct hostile_step *const *scripts, size_t n);
void hostile_stop(struct hostile_server *h);

uint16_t hostile_port(const struct hostile_server *h);
/* So far. Any thread. */
uint64_t hostile_accepted(const struct hostile_server *h);
uint64_t hostile_requests(const struct hostile_server *h);
/* First line of the last request read, without CRLF; after hostile_stop's peers are quiet. */
void hostile_last_line(struct hostile_server *h, char *buf, size_t cap);
/* The whole head of it, the empty line included. */
void hostile_last_head(struct hostile_server *h, char *buf, size_t cap);

#endif
