/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_BENCH_NET_H
#define HAMMER_BENCH_NET_H

#include <netinet/in.h>
#include <stdbool.h>

#include "common/err.h"

/* TCP over 127.0.0.0/8 and nowhere else. */

/* "127.0.0.1:8080"; NULL is refused too. */
enum err net_parse(const char *text, struct sockaddr_in *out, struct errmsg *msg) MUST_CHECK;

/* A non-blocking listening socket; *address gets the port that the kernel chose. `shared`: others
 * may listen there too, and the kernel spreads connections over them. Exits on failure. */
int net_listen(struct sockaddr_in *address, bool shared);

/* Connects, within 5 s; no Nagle. The socket blocks: use MSG_DONTWAIT. Exits on failure. */
int net_connect(const struct sockaddr_in *address);

/* Writes "ADDRESS:PORT\n" to the file, whole or not at all. Exits on failure. */
void net_write_address(const char *file, const struct sockaddr_in *address);

#endif
