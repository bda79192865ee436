/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_BENCH_RESPONSE_H
#define HAMMER_BENCH_RESPONSE_H

#include <stddef.h>
#include <stdint.h>

/* The one response, repeated so often that a batch of small ones leaves in one write. */
struct response {
    char *bytes;
    size_t len;   /* of one response */
    size_t total; /* of all copies */
};

#define RESPONSE_BODY 13 /* makes 152 bytes in all */

void response_init(struct response *r, uint64_t body_size);
void response_fini(struct response *r);

/* Sends what of `pending` bytes fits now; whole responses end where pending does. Returns the bytes
 * still pending, UINT64_MAX = the peer is gone. */
uint64_t response_send(const struct response *r, int fd, uint64_t pending);

#endif
