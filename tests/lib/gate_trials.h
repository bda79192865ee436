/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_GATE_TRIALS_H
#define HAMMER_TESTS_GATE_TRIALS_H

#include <stddef.h>
#include <stdint.h>

/*
 * How often the gate is wrong, and how often it sees what is there: comparisons of simulated runs
 * of 60 s at 200/s (12 000 requests) with lognormal latencies, of which it is known whether
 * anything has changed. A seed decides everything.
 */

#define GATE_TRIALS_RUNS 5 /* a side, of the sets */

struct gate_world {
    const char *name;
    double hysteresis;    /* sd of a factor that each run has of its own */
    double stall_every_s; /* on average; 0 = there are none */
    double stall_min_ms, stall_max_ms;
};

#define GATE_WORLDS 4
extern const struct gate_world gate_worlds[GATE_WORLDS];

/* Of so many trials: */
struct gate_counts {
    size_t trials;
    size_t pair_differs;    /* the interval of two runs leaves out "no change" */
    size_t pair_regression; /* > +10 % */
    size_t pair_pass;
    size_t sets_differ; /* the rank test of 5 runs against 5 at the level 5 % */
    size_t sets_regression;
    size_t sets_pass;
};

/* The candidate is slower by the factor; 1 = nothing has changed. */
struct gate_counts gate_trials(const struct gate_world *w, double percentile, double slower,
                               size_t trials, uint64_t seed);

#endif
