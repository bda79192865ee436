/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TARGET_ARRIVAL_H
#define HAMMER_TARGET_ARRIVAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * When bytes came in at the kernel (SO_TIMESTAMPNS), which is not when they are read: a server that
 * stands still leaves its clients' requests in the socket.
 */

/* On the listener: accepted sockets inherit it. Best effort. */
void httpd_arrival_watch(int listen_fd);

/* recv(2); *arrived_ns is the arrival of the last byte on CLOCK_MONOTONIC, never in the future; now
 * when the kernel does not say. */
ssize_t httpd_arrival_recv(int fd, void *buf, size_t cap, uint64_t *arrived_ns);

#endif
