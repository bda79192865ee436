/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_CLOCK_ESTIMATE_H
#define HAMMER_CONTROLLER_CLOCK_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

/* PURE: how far another clock is ahead, from probes: the one with the shortest round trip counts,
 * and the truth is within half of it. Starts zeroed. */
struct clock_estimate {
    uint64_t rtt_ns;
    int64_t offset_ns; /* the other clock - ours */
    uint32_t good;     /* probes that made sense */
};

/* t1, t4: sent and answered by our clock; t2, t3: received and answered by the other. false = the
 * stamps contradict each other: not counted. */
bool clock_estimate_add(struct clock_estimate *e, uint64_t t1_ns, uint64_t t2_ns, uint64_t t3_ns,
                        uint64_t t4_ns);
uint64_t clock_estimate_error(const struct clock_estimate *e);

#endif
