/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_DRIFT_H
#define HAMMER_CONTROLLER_DRIFT_H

#include <stdbool.h>
#include <stdint.h>

#include "controller/run/clock_estimate.h"

/*
 * PURE: how another clock moves against ours while a run goes on. Every PING and PONG is a probe;
 * the one with the shortest round trip in 30 s counts. Nothing is timed anew by it: what the report
 * needs is how far the clocks went apart, and how well that is known. Starts zeroed.
 */

#define DRIFT_WINDOW_NS UINT64_C(30000000000)

struct drift_point {
    uint64_t at_ns;    /* our clock */
    int64_t offset_ns; /* the other clock - ours */
    uint64_t error_ns; /* the truth is that near */
};

struct drift {
    struct drift_point first, last; /* what the run was started with; the latest window's */
    uint32_t windows;               /* closed ones; 0 = nothing is known of any drift */
    int64_t max_ns;                 /* of offset - first offset, the one farthest from 0 */
    uint64_t max_error_ns;          /* bound of its error */
    uint64_t window_ns;             /* when the open window began */
    struct clock_estimate open;
    uint64_t open_at_ns; /* of its best probe */
};

/* The probes before the run: the offset it was started with. */
void drift_begin(struct drift *d, uint64_t at_ns, int64_t offset_ns, uint64_t error_ns);
/* One PING and its PONG: t1, t4 by our clock, t2, t3 by the other. Ignored before drift_begin and
 * when the stamps contradict each other. */
void drift_probe(struct drift *d, uint64_t t1_ns, uint64_t t2_ns, uint64_t t3_ns, uint64_t t4_ns);
/* The run is over: what the open window knows counts too. */
void drift_end(struct drift *d);

/* From the first to the last point, and the bound of its error. 0 without a window. */
int64_t drift_change(const struct drift *d, uint64_t *error_ns);
/* The same per time, parts per billion: positive = the other clock is fast. */
double drift_ppb(const struct drift *d, double *error_ppb);

#endif
