/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_TRUTH_H
#define HAMMER_TESTS_TRUTH_H

#include <stddef.h>
#include <stdint.h>

#include "tests/lib/worker_rig.h"

/*
 * What a run should have reported, from the server's own log of it. A distribution is one uint64_t
 * per request, in the order of the requests; the percentile is the nearest rank, rounded up, as
 * everywhere in hammer.
 */

/* One request, CLOCK_MONOTONIC throughout: the server shares the machine. */
struct truth_sample {
    uint64_t due_ns;
    uint64_t arrived_ns; /* the request at the server's kernel */
    uint64_t written_ns; /* right before the server's write */
    uint64_t sent_ns;    /* the client's stamps */
    uint64_t receive_ns; /* between the response's arrival at the client's kernel and its stamp;
                          * where it was not sampled, from the server's write on */
};

/* Reads hammer-target's log: one sample per request of the rig, by index. Every request must have
 * been answered, and exactly once. The caller frees (mem_free). */
struct truth_sample *truth_load(const struct worker_rig *rig, const char *log);

/* Values of a distribution, sorted; the caller frees. */
typedef uint64_t (*truth_fn)(const struct truth_sample *s);
uint64_t *truth_sorted(const struct truth_sample *s, size_t n, truth_fn fn);
/* 100 = the maximum. */
uint64_t truth_percentile(const uint64_t *sorted, size_t n, double percentile);

/* The corrected latencies of the ideal client of this server, sorted: one queue in front of all
 * connections, no delay of its own; each request takes what it took in the log. */
uint64_t *truth_one_queue(const struct truth_sample *s, size_t n, uint32_t connections);

#endif
