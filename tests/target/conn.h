/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TARGET_CONN_H
#define HAMMER_TARGET_CONN_H

#include "tests/target/httpd.h"

/*
 * One client connection: requests in, responses out in the same order, several in one read if they
 * come so. A response that is held back holds back those behind it on this connection and no
 * others.
 */

/* Takes over the accepted, non-blocking descriptor. */
void httpd_conn_open(struct httpd *srv, int fd);
/* Logs what stays unanswered, closes and frees. */
void httpd_conn_close(struct httpd *srv, struct httpd_conn *c);

#endif
