/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_TIMER_HEAP_H
#define HAMMER_AGENT_TIMER_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"

/*
 * Deadlines of any length: a binary heap, O(log n), beside the FIFO lists of deadlines.h for those
 * that all have the same. Entries are embedded in their owners; the room for `cap` of them is
 * allocated once. Takes time as an argument; one thread.
 */

struct heap_timer {
    uint64_t at_ns;
    uint32_t place; /* 1 = the first; 0 = not running */
};

struct timer_heap {
    struct heap_timer **timers; /* timers[0] is place 1 */
    uint32_t n, cap;
};

void timer_heap_init(struct timer_heap *h, uint32_t cap);
void timer_heap_clear(struct timer_heap *h);
/* Starts t, again if it was running. Never more than cap of them. */
void timer_heap_start(struct timer_heap *h, struct heap_timer *t, uint64_t at_ns);
/* One that is not running is fine. */
void timer_heap_cancel(struct timer_heap *h, struct heap_timer *t);
/* Earliest instant, NS_NEVER = none. */
static inline uint64_t timer_heap_next(const struct timer_heap *h)
{
    return h->n == 0 ? NS_NEVER : h->timers[0]->at_ns;
}
/* Takes the earliest one that has expired (at <= now) out of the heap; NULL = none. */
struct heap_timer *timer_heap_pop(struct timer_heap *h, uint64_t now_ns);

#endif
