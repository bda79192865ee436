/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_BENCH_STATUS_H
#define HAMMER_BENCH_STATUS_H

#include <stdint.h>

/* What nginx's stub_status says under /status, asked over a connection of its own; exits on
 * failure. Embedded by value. */
struct status {
    int fd;
    uint64_t asked; /* requests that were ours */
};

/* "127.0.0.1:8080" */
void status_open(struct status *s, const char *address);
/* Requests that nginx has begun to serve, ours left out. Blocks until the answer is there. */
uint64_t status_requests(struct status *s);

#endif
