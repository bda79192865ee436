/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_NOTIFY_SOCKET_H
#define HAMMER_TESTS_NOTIFY_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A NOTIFY_SOCKET that stands in for systemd: keeps every message, in order. Failures abort the
 * check test.
 */

struct notify_socket {
    int fd;
    char path[96];
    char log[16384]; /* every message so far, each ended by "\n--\n" */
};

/* Listens in `dir` and sets NOTIFY_SOCKET for this process and what it starts. */
void notify_socket_open(struct notify_socket *s, const char *dir);
void notify_socket_close(struct notify_socket *s);
/* Takes what has come; false = nothing. */
bool notify_socket_take(struct notify_socket *s);
/* Waits until a message has `text` in it, and returns the rest of the log from there; what was
 * looked at before is not searched again when `from` is what an earlier call gave. */
const char *notify_socket_wait(struct notify_socket *s, const char *from, const char *text,
                               uint64_t timeout_ms);

#endif
