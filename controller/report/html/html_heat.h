/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_HTML_HEAT_H
#define HAMMER_CONTROLLER_HTML_HEAT_H

#include <stddef.h>
#include <stdint.h>

#include "controller/run/blocks.h"
#include "controller/run/result.h"

/* PURE: how many requests of each block of the run took how long: a column a block, rows of equal
 * ratio. */

#define HEAT_ROWS   48
#define HEAT_CLOCKS 2 /* by enum blocks_clock */

struct heat {
    size_t columns, rows;
    uint64_t from_ns[BLOCKS_MAX], to_ns[BLOCKS_MAX];
    double edge_ns[HEAT_ROWS + 1]; /* of the rows, upwards */
    uint64_t count[HEAT_CLOCKS][BLOCKS_MAX][HEAT_ROWS];
    uint64_t most[HEAT_CLOCKS]; /* the largest count */
};

/* A new one (mem_free); NULL = the run has no blocks, or nothing was recorded in them. */
struct heat *heat_of(const struct result *r);

#endif
