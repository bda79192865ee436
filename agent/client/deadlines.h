/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_DEADLINES_H
#define HAMMER_AGENT_DEADLINES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/clock.h"

/*
 * Deadlines that all have the same delay, so that they expire in the order they were started: a
 * FIFO list, O(1) for every call, no allocation (entries are embedded in their owners). Takes time
 * as an argument; one thread.
 */

struct deadlines;

struct deadline {
    TAILQ_ENTRY(deadline) link;
    struct deadlines *list; /* NULL = not running */
    uint64_t at_ns;
};

struct deadlines {
    TAILQ_HEAD(deadline_list, deadline) list;
    uint64_t delay_ns;
};

void deadlines_init(struct deadlines *l, uint64_t delay_ns);
/* Starts d (again, if it was running, also in another list): it expires at from_ns + delay. A
 * from_ns before that of the last start counts as that one, so the order always holds. */
void deadlines_start(struct deadlines *l, struct deadline *d, uint64_t from_ns);
/* A zeroed or stopped deadline is fine. */
void deadline_cancel(struct deadline *d);
/* Earliest instant, NS_NEVER = none. */
static inline uint64_t deadlines_next(const struct deadlines *l)
{
    const struct deadline *first = TAILQ_FIRST(&l->list);
    return first == NULL ? NS_NEVER : first->at_ns;
}
/* Takes the first one that has expired (at <= now) out of the list; NULL = none. */
struct deadline *deadlines_pop(struct deadlines *l, uint64_t now_ns);

#endif
