/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_LINK_END_H
#define HAMMER_TESTS_LINK_END_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/link.h"

/*
 * Observed ends of links for tests: what arrived, how it ended; and raw sockets that play peers
 * which are not hammer.
 */

enum close_when {
    CLOSE_NEVER, /* but always in LINK_DOWN */
    CLOSE_IN_UP,
    CLOSE_IN_FRAME
};

struct link_end {
    struct link *link; /* NULL once closed */
    int ups, frames, downs;
    size_t bytes;
    uint64_t rx_ns;
    bool last_was_down;
    char reason[512];
    enum close_when close_when;
    uint64_t flush_ms;
    /* Optional: sees each frame before it is counted. */
    void (*on_frame)(struct link_end *e, const struct link_info *info);
    void *arg;
};

/* link_fn; arg is the end. Closes the link in LINK_DOWN. */
void link_end_event(void *arg, struct link *l, enum link_event ev, const struct link_info *info);

#define LINK_ENDS 64

/* A listener that keeps what it accepts, in order; more than LINK_ENDS are closed at once. */
struct link_server {
    struct link_listener *listener;
    struct link_end ends[LINK_ENDS];
    int count;
    int accepted;
    struct link_end model;            /* copied into each new end */
    struct link_options listen, dial; /* dial: for link_end_dial */
};

void link_server_open(struct link_server *s, struct loop *loop, const char *url);
void link_server_close(struct link_server *s);
/* Dials the server's real address into *e. */
void link_end_dial(struct link_end *e, struct loop *loop, const struct link_server *s);

/* Raw blocking client socket on the port of a tcp URL on 127.0.0.1. */
int raw_connect(const char *url);
/* Like close, but with an RST. */
void raw_reset(int fd);
void raw_write(int fd, const void *data, size_t len);

/* Open descriptors of this process. */
int count_fds(void);

#endif
