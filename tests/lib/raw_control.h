/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_RAW_CONTROL_H
#define HAMMER_TESTS_RAW_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/msg.h"

/*
 * One end of a control connection on a plain blocking socket, for tests that send what hammer's own
 * link never would. Every wait ends after RAW_WAIT_MS. Failures abort the check test.
 */

#define RAW_WAIT_MS 10000

struct raw_control {
    int fd;
    uint8_t *frame; /* of the last message read; its blobs point here */
};

/* "127.0.0.1:PORT". */
void raw_dial(struct raw_control *r, const char *address);
void raw_close(struct raw_control *r); /* twice is fine */

/* false = the peer has closed. */
bool raw_send_bytes(struct raw_control *r, const void *bytes, size_t len);
/* Length and msgpack. */
bool raw_send(struct raw_control *r, const struct msg *m);
/* HELLO of an owner whose id is 16 bytes of `id`. */
bool raw_hello(struct raw_control *r, uint8_t id, uint32_t version);
/* The next message; false when the peer closed instead. */
bool raw_read(struct raw_control *r, struct msg *m);
/* Waits until the peer closes, whatever it still sends. */
void raw_wait_closed(struct raw_control *r);

#endif
