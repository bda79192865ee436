/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_HTML_CURVES_H
#define HAMMER_CONTROLLER_HTML_CURVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/run/result.h"

/*
 * PURE: the timeline as the HTML report draws it: lines over time, and the stretches that are
 * marked. A line has as many points as a screen can show: of more intervals, the smallest and the
 * largest value of neighbours stand for all of them, in the order in which they came, so that no
 * peak is left out.
 */

enum curve {
    LINE_ACHIEVED, /* complete responses per second */
    LINE_TARGET,   /* requests per second that were due */
    LINE_ERRORS,   /* errors per second */
    LINE_CORRECTED_P50,
    LINE_CORRECTED_P99,
    LINE_CORRECTED_MAX,
    LINE_UNCORRECTED_P50,
    LINE_UNCORRECTED_P99,
    LINE_UNCORRECTED_MAX,
    CURVES_LINES
};

struct curves {
    size_t n;
    double *at_ns;              /* middle of the interval */
    double *line[CURVES_LINES]; /* NAN = not known */
    uint64_t from_ns, to_ns;    /* of the axis */
    uint64_t rows;              /* intervals a pair of points stands for; 1 = each has its own */
};

/* At most `points` points, 2 or more. Free it with curves_clear. */
struct curves curves_of(const struct result *r, size_t points);
void curves_clear(struct curves *t);
/* Smallest and largest value of a line; false = it has none. */
bool curves_range(const struct curves *t, enum curve line, double *min, double *max);

enum band_kind {
    BAND_STAGE,
    BAND_WARMUP,
    BAND_STALL,
    BAND_LOST /* load of a lost agent is missing */
};
const char *band_kind_name(enum band_kind k); /* "stage" ... */

struct band {
    enum band_kind kind;
    uint64_t from_ns, to_ns;
    char text[96];
};

#define BANDS_MAX 256

struct bands {
    size_t n;
    size_t left_out; /* the shortest stalls, where there are too many to be seen */
    struct band items[BANDS_MAX];
};

/* A new one (mem_free), within the axis. */
struct bands *bands_of(const struct result *r, const struct curves *t);

#endif
