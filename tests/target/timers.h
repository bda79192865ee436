/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TARGET_TIMERS_H
#define HAMMER_TARGET_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A heap of timers that live inside their owners' structs. One thread. */

struct timer {
    uint64_t due_ns;
    void (*fire)(struct timer *t, void *arg);
    size_t slot; /* place in the heap from 1; 0 = not set */
};

struct timers {
    struct timer **heap; /* heap[0] unused */
    size_t n, capacity;
};

void timers_fini(struct timers *ts);

/* Sets the timer, which must not be set already; `t` stays where it is until it fires or is
 * cleared. */
void timers_set(struct timers *ts, struct timer *t, uint64_t due_ns);
/* Nothing happens when it is not set. */
void timers_clear(struct timers *ts, struct timer *t);
bool timer_is_set(const struct timer *t);

/* When the next one is due; NS_NEVER = none is set. */
uint64_t timers_next_ns(const struct timers *ts);
/* Fires one timer due at `now_ns` (unset before its function runs, which may set it again or free
 * it); false = none is due. */
bool timers_fire_one(struct timers *ts, uint64_t now_ns, void *arg);

#endif
