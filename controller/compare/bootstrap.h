/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_BOOTSTRAP_H
#define HAMMER_CONTROLLER_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

#include "common/hist.h"
#include "controller/compare/effect.h"

/*
 * PURE: the block bootstrap of one figure of two runs: blocks of each run's time are drawn with
 * replacement, added together, and the figure is taken of the sum, a thousand times. Blocks and not
 * requests, because requests that follow each other share their fate. It knows how a run varies
 * within itself and nothing of how two runs of the same thing differ.
 */

#define BOOTSTRAP_DRAWS      1000
#define BOOTSTRAP_BLOCKS_MIN 5 /* fewer say nothing */

struct bootstrap_block {
    const struct hist *latencies; /* borrowed during the call */
    uint64_t unanswered;          /* requests without a response: later than everything */
    uint64_t errors, ended, completed;
    uint64_t length_ns;
};

struct bootstrap;

struct bootstrap *bootstrap_new(const struct bootstrap_block *blocks, size_t n);
void bootstrap_free(struct bootstrap *b); /* NULL is fine */

enum bootstrap_figure {
    BOOTSTRAP_PERCENTILE, /* INFINITY where the rank falls on a request without a response */
    BOOTSTRAP_MEAN,       /* of those with one */
    BOOTSTRAP_ERRORS,     /* share of what has ended, 0 to 1 */
    BOOTSTRAP_RATE        /* complete responses per second */
};

struct bootstrap_question {
    enum bootstrap_figure figure;
    double percentile;
    enum effect_kind kind;
    double alpha; /* of the interval, two-sided */
    double limit; /* what the effect is held against, see `beyond` */
    uint64_t seed;
};

struct bootstrap_answer {
    struct effect effect; /* the estimate is of the blocks as they are */
    double above, below;  /* one-sided p that the effect is not above, or not below, the limit */
};

/* Without bounds and with p 1 where either run has fewer than BOOTSTRAP_BLOCKS_MIN blocks. */
struct bootstrap_answer bootstrap_ask(const struct bootstrap *candidate,
                                      const struct bootstrap *baseline,
                                      const struct bootstrap_question *q);

/* splitmix64. */
uint64_t bootstrap_random(uint64_t *state);

#endif
