/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TARGET_CONN_H
#define HAMMER_TARGET_CONN_H

#include "tests/target/server.h"

/*
 * One client connection: requests in, responses out in the same order, several in one read if they
 * come so. A response that is held back holds back those behind it on this connection and no
 * others.
 */

/* Takes over the accepted, non-blocking descriptor. */
void conn_open(struct server *srv, int fd);
/* Logs what stays unanswered, closes and frees. */
void conn_close(struct server *srv, struct conn *c);

#endif
