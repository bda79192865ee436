/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_PEERS_H
#define HAMMER_CONTROLLER_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "controller/run/result.h"

/*
 * PURE: the figures that users of ab, wrk and siege look for. All count from the send, as those
 * tools do, so a server that stalls looks better here than in the corrected latencies.
 */

/* wrk's Thread Stats, of all threads together. */
struct peers_stats {
    uint64_t count;
    double mean, stddev, max;
    double within; /* share of the samples that are within one stddev of the mean, 0..1 */
};

struct peers {
    bool any;                   /* something completed */
    double time_per_request;    /* ab: mean of one request, ns */
    double time_across;         /* ab: mean across all concurrent requests, ns: time / completed */
    double availability;        /* siege: complete responses / requests sent, 0..1 */
    double concurrency;         /* siege: requests in flight on average (sum of latencies / time) */
    uint64_t longest, shortest; /* ns */
    struct peers_stats latency; /* ns */
    struct peers_stats rate;    /* complete responses per second, by interval */
};

struct peers peers_of(const struct result *r);

/* ab's lines: of connections and of requests. */
struct peers_line {
    const char *name; /* "Connect" "Processing" "Waiting" "Total" */
    bool any;
    bool only_mean; /* the rest cannot be told from sums */
    double mean, stddev;
    uint64_t min, median, max;
};
#define PEERS_LINES 4
void peers_lines(const struct result *r, struct peers_line lines[PEERS_LINES]);

#endif
