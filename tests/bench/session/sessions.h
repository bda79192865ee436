/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_BENCH_SESSION_SESSIONS_H
#define HAMMER_BENCH_SESSION_SESSIONS_H

#include <stddef.h>

#include "tests/bench/session/board.h"

/*
 * One process of a simulated fleet: many agents, each with an address of its own, its own control
 * and outbox; everything but the load is hammer-agent's own.
 */

struct sessions_config {
    size_t first, n;       /* agents first .. first + n - 1 of the fleet */
    const char *tls;       /* folder of ca.crt, agent.crt and agent.key; NULL = plain tcp */
    const char *addresses; /* file, written at once when all listen: HOST:PORT lines */
    const char *sum;       /* file, written at the end: snapshot_encode of what all have sent */
    struct board *board;
    uint64_t seed;
    uint32_t distinct; /* latencies that exist; 0 = any */
};

/* Serves until SIGTERM, then ends the process. Call it in a fresh process. */
_Noreturn void sessions_run(const struct sessions_config *cfg);

#endif
