/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_CLIENT_TAP_H
#define HAMMER_TESTS_CLIENT_TAP_H

#include "agent/client/client.h"

/*
 * client_null with a tap on its results: the test sees each one as it goes to the engine. The
 * state is client_null's own, so client_null_complete and client_null_set_hooks work on it.
 */

/* By value: the caller keeps it as long as the engine. */
struct client_ops client_tap_ops(void);
/* After init. `fn` is called before the engine's own callback. */
typedef void (*client_tap_fn)(void *arg, const struct client_result *r);
void client_tap_watch(void *self, client_tap_fn fn, void *arg);

#endif
