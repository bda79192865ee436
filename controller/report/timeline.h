/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_TIMELINE_H
#define HAMMER_CONTROLLER_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/run/result.h"

/*
 * PURE: the timeline as a line of a few characters, and its worst row. Slivers, which the end of a
 * run leaves, are in neither: a rate over half a millisecond says nothing.
 */

#define TIMELINE_COLUMNS 40
#define TIMELINE_TEXT    (TIMELINE_COLUMNS * 3 + 1) /* with its NUL; a block takes three bytes */

/* Some rows of the timeline that share a column. */
struct timeline_cell {
    size_t first, n; /* rows, of result.intervals */
    uint64_t p99;    /* the worst of its rows, of the main clock; 0 = nothing came */
    double rate;     /* responses a second */
};

struct timeline {
    size_t first, rows; /* of result.intervals: without slivers, and what is half a warm-up */
    size_t n, per;      /* columns, rows of each but the last */
    uint64_t from_ns, to_ns, row_ns;
    uint64_t p99_min, p99_max; /* of the rows; 0 = nothing came */
    double rate_min, rate_max;
    size_t worst; /* the row with the largest p99, of result.intervals; valid when p99_max > 0 */
    struct timeline_cell cells[TIMELINE_COLUMNS];
};

struct timeline timeline_of(const struct result *r);
/* The main clock's. */
const struct result_latency *timeline_latency(const struct result *r,
                                              const struct result_interval *row);
/* A character a column: p99 on a log scale from its least to its largest, a blank where nothing
 * came; the rate from 0 to its largest. `unicode` false = ASCII. */
const char *timeline_p99(const struct timeline *t, bool unicode, char text[TIMELINE_TEXT]);
const char *timeline_rate(const struct timeline *t, bool unicode, char text[TIMELINE_TEXT]);
/* Numbers from 1 of the stages where they begin, as many as have room; "" = there are no stages. */
const char *timeline_stages(const struct timeline *t, const struct plan *p,
                            char text[TIMELINE_TEXT]);
/* Instants of a run are a little beside what was planned: to 10 ms, where there is as much. */
uint64_t timeline_rounded(uint64_t ns);
/* Was a stall of the target under way in the row? */
bool timeline_stalled(const struct result *r, const struct result_interval *row);

#endif
