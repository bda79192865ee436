/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TARGET_LISTENER_H
#define HAMMER_TARGET_LISTENER_H

#include "tests/target/options.h"

/* A non-blocking listening socket. The message names the address and the reason. */
enum err httpd_listener_open(const struct httpd_address *address, int *fd,
                             struct errmsg *msg) MUST_CHECK;

/* A non-blocking connection without Nagle's delay, or -1 with errno (EAGAIN = none waits). */
int httpd_listener_accept(int listen_fd);

/* Writes "127.0.0.1:PORT\n" under another name and renames it, so that who sees the file sees all
 * of it. NULL = no file. */
enum err httpd_listener_write_port(int listen_fd, const char *file, struct errmsg *msg) MUST_CHECK;

#endif
