/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_REQUEST_TRAP_H
#define HAMMER_TESTS_REQUEST_TRAP_H

#include <stddef.h>
#include <stdint.h>

/*
 * A server on a loopback port that keeps every request as it came, byte by byte, and answers each
 * with 200: what a client really sends. One thread, kept-alive connections, bodies by
 * Content-Length or in chunks; "100 Continue" to who asks for it. Aborts on failure.
 */

#define REQUEST_TRAP_CONNS 64
#define REQUEST_TRAP_MAX   4096
#define REQUEST_TRAP_BYTES (1u << 20) /* of one request */

struct request_trap;

struct request_trap *request_trap_start(void);
void request_trap_stop(struct request_trap *t);
uint16_t request_trap_port(const struct request_trap *t);

/* After the clients are gone: what was kept, in the order of arrival; NUL-terminated. */
size_t request_trap_count(struct request_trap *t);
const char *request_trap_get(const struct request_trap *t, size_t i);
/* In the order of strcmp instead, for comparisons. */
void request_trap_sort(struct request_trap *t);
/* How often a client that asked with Expect sent nothing of its body before it was answered. */
uint64_t request_trap_held_back(const struct request_trap *t);
/* Forgets what it kept. */
void request_trap_forget(struct request_trap *t);

#endif
