/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TARGET_TIMERS_H
#define HAMMER_TARGET_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A heap of timers that live inside their owners' structs. One thread. */

struct httpd_timer {
    uint64_t due_ns;
    void (*fire)(struct httpd_timer *t, void *arg);
    size_t slot; /* place in the heap from 1; 0 = not set */
};

struct httpd_timers {
    struct httpd_timer **heap; /* heap[0] unused */
    size_t n, capacity;
};

void httpd_timers_fini(struct httpd_timers *ts);

/* Sets the timer, which must not be set already; `t` stays where it is until it fires or is
 * cleared. */
void httpd_timers_set(struct httpd_timers *ts, struct httpd_timer *t, uint64_t due_ns);
/* Nothing happens when it is not set. */
void httpd_timers_clear(struct httpd_timers *ts, struct httpd_timer *t);
bool httpd_timer_is_set(const struct httpd_timer *t);

/* When the next one is due; NS_NEVER = none is set. */
uint64_t httpd_timers_next_ns(const struct httpd_timers *ts);
/* Fires one timer due at `now_ns` (unset before its function runs, which may set it again or free
 * it); false = none is due. */
bool httpd_timers_fire_one(struct httpd_timers *ts, uint64_t now_ns, void *arg);

#endif
