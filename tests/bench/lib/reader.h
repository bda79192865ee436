/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_BENCH_READER_H
#define HAMMER_BENCH_READER_H

#include <stddef.h>
#include <stdint.h>

/* The least that can be called reading HTTP/1.1: finds the end of the header and the
 * Content-Length. The floor that a real parser is compared with; trusts its server. */

#define READER_HEAD 512
#define READER_BAD  SIZE_MAX

struct reader {
    uint64_t body_left;
    size_t head_len;        /* a header that a read cut in two is kept here */
    char head[READER_HEAD]; /* zeroed = a fresh connection */
};

/* Responses that these bytes complete, READER_BAD = not understood. */
size_t reader_feed(struct reader *r, const char *buf, size_t len);

#endif
