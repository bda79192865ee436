/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_TAP_CLIENT_H
#define HAMMER_TESTS_TAP_CLIENT_H

#include "agent/client/client.h"

/*
 * client_h1 with a tap: every result is also kept for the test, by its tag. The results are read
 * after the workers have been joined. One recording per process at a time.
 */

void tap_begin(size_t tags);
const struct client_ops *tap_ops(void);
/* NULL when the request never completed, in any way. Aborts when it completed twice. */
const struct client_result *tap_result(uint64_t tag);
void tap_end(void);

#endif
