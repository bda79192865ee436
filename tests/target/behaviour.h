/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TARGET_BEHAVIOUR_H
#define HAMMER_TARGET_BEHAVIOUR_H

#include "tests/target/options.h"

/*
 * PURE: what is to happen to the n-th response of the server. Deterministic, so that a test knows
 * beforehand which requests are slow and which fail.
 */

struct httpd_behaviour {
    uint64_t pause_ns; /* stop the whole server before this response */
    uint64_t delay_ns; /* hold only this response back */
    uint32_t status;
};

/* `n` counts all responses of the server, from 1. */
struct httpd_behaviour httpd_behaviour_of(const struct httpd_options *o, uint64_t n);

/* Does the connection end with its n-th response (from 1)? */
bool httpd_behaviour_closes(const struct httpd_options *o, uint64_t n);

#endif
