/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_RESPONDER_H
#define HAMMER_AGENT_RESPONDER_H

#include <stdint.h>

#include "common/err.h"

/*
 * The other end of a self-test: a thread that answers every request on a loopback port with the
 * same few bytes, as cheaply as it can. It knows of a request only that it ends in an empty line.
 * Ends by itself when its lifetime is over.
 */

struct responder;

enum err responder_start(uint64_t lifetime_ns, struct responder **out,
                         struct errmsg *msg) MUST_CHECK;
/* Of 127.0.0.1. */
uint16_t responder_port(const struct responder *r);
/* Ends the thread, closes everything, frees. NULL is fine. */
void responder_stop(struct responder *r);

#endif
