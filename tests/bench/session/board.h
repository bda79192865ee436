/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_BENCH_SESSION_BOARD_H
#define HAMMER_BENCH_SESSION_BOARD_H

#include <stdatomic.h>
#include <stdint.h>

/* Where the processes of a simulated fleet say how far they are: shared memory, zeroed, one writer
 * each. Instants are CLOCK_MONOTONIC, 0 = not yet. */
struct board {
    _Atomic uint64_t prepared_ns; /* first PREPARE: the controller holds every agent */
    _Atomic uint64_t started;     /* agents that sent, ever */
    _Atomic uint64_t ended;
    _Atomic uint64_t snapshots; /* handed to control */
};

#endif
