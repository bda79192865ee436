/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_PLACEMENT_H
#define HAMMER_AGENT_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/* Where the workers run and with which priority, as the one who starts the agent wants it. What the
 * system refuses is a warning in the log: the load runs all the same. */

#define PLACEMENT_CPUS_MAX 1024

struct placement {
    uint32_t n;                        /* 0 = wherever the scheduler puts them */
    uint16_t cpus[PLACEMENT_CPUS_MAX]; /* worker i runs on cpus[i % n] */
    bool realtime;                     /* SCHED_FIFO, priority 1 */
};

/* "1", "2-5", "0,2,4-7". ERR_INVALID names the text. */
enum err placement_parse(struct placement *p, const char *text, struct errmsg *msg) MUST_CHECK;
/* For the calling thread, as worker `number`. */
void placement_apply(const struct placement *p, uint32_t number);
/* Of `allowed` cores, how many the workers may use. */
uint32_t placement_cores(const struct placement *p, uint32_t allowed);

#endif
