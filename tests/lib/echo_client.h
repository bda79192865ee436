/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_ECHO_CLIENT_H
#define HAMMER_TESTS_ECHO_CLIENT_H

#include "agent/client/client.h"

/*
 * client_null whose server answers each request with 200, ECHO_DELAY_NS after it was sent, by the
 * client's own deadline: a whole worker runs on it, on the real clock and without sockets. (The
 * client that never answers is client_null itself.)
 */

#define ECHO_DELAY_NS UINT64_C(100000)

const struct client_ops *echo_client_ops(void);

#endif
