/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_PHASES_H
#define HAMMER_CONTROLLER_PHASES_H

#include <stdbool.h>

#include "common/hist.h"
#include "proto/snapshot.h"

/*
 * PURE: where the time went (--latency). Look-ups, connections and handshakes are per connection;
 * the others per request: queue (due to sent: hammer's own delay and the wait for a connection),
 * upload, first byte, download.
 */

enum phase {
    PHASE_DNS,
    PHASE_CONNECT,
    PHASE_TLS,
    PHASE_QUEUE,
    PHASE_UPLOAD,
    PHASE_FIRST_BYTE,
    PHASE_DOWNLOAD,
    PHASES
};

const char *phases_key(enum phase p);   /* "dns" ... "queue" ... "first_byte", as in JSON */
const char *phases_label(enum phase p); /* for people */
/* The caller frees it; empty when nothing was recorded. */
struct hist *phases_hist(const struct snapshot *s, enum phase p);
/* Were they recorded? Queue and handshakes alone are there without --latency too. */
bool phases_any(const struct snapshot *s);

#endif
