/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_BENCH_ALARMS_H
#define HAMMER_BENCH_ALARMS_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/bench/lib/stamps.h"

/* What the responder does at a time instead of on an event: responses held back, all for the same
 * time and so a FIFO, freezes, and its own end. One timerfd, set only when the earliest changes. */

struct held {
    uint64_t due_ns;
    uint64_t serial; /* of the connection, should its descriptor be used again */
    struct stamp *stamp;
    int fd;
};

struct alarms {
    int timer;
    uint64_t set_ns; /* what the timer is set to */
    uint64_t freeze_ns, freeze_for_ns, freeze_every_ns;
    uint64_t end_ns;
    struct held *ring;
    uint64_t head, n;
};

void alarms_init(struct alarms *a, uint64_t end_ns);
/* Freezes from first_ns on, every_ns apart or once (0). */
void alarms_freeze(struct alarms *a, uint64_t first_ns, uint64_t for_ns, uint64_t every_ns);
void alarms_hold(struct alarms *a, const struct held *h);
/* The next one that is due, false = none. */
bool alarms_release(struct alarms *a, uint64_t now_ns, struct held *out);
/* Stands still if it is time to. */
void alarms_stand_still(struct alarms *a, uint64_t now_ns);
/* Sets the timer for whatever comes first. */
void alarms_set(struct alarms *a);
void alarms_fini(struct alarms *a);

#endif
