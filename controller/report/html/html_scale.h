/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_HTML_SCALE_H
#define HAMMER_CONTROLLER_HTML_SCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * PURE: the axes of the HTML report's charts: from a value to its place, and the values that get a
 * line and a label. Bounds are moved out to such values, so that a curve does not end between them.
 */

#define SCALE_TICKS 24
#define SCALE_LABEL 24

struct scale_tick {
    double at;  /* value */
    bool minor; /* a line, and a label where there is room only */
    char label[SCALE_LABEL];
};

struct scale {
    bool logarithmic;
    double min, max; /* min < max; above 0 when logarithmic */
    size_t n;
    struct scale_tick ticks[SCALE_TICKS];
};

/* 0 .. 1 from min to max; what lies outside is moved to the end. */
double scale_place(const struct scale *s, double value);

/* Latencies, ns, logarithmic: "100 us", "1 ms". 0 counts as 1. */
struct scale scale_latency(uint64_t min_ns, uint64_t max_ns);
/* Time after the start, ns: "10 s", "2:30", "1:15:00". The bounds stay. */
struct scale scale_time(uint64_t from_ns, uint64_t to_ns);
/* 0 to max or more: "500", "2 k". */
struct scale scale_count(double max);
/* Percentiles up to what one sample of n is, by log10(1 / (1 - p)): "50 %", "99.9 %". */
struct scale scale_percentile(uint64_t n);

#endif
