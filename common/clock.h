/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_CLOCK_H
#define HAMMER_COMMON_CLOCK_H

#include <stdint.h>

/*
 * CLOCK_MONOTONIC measures, the wall clock only prints. All times are nanoseconds. Pure modules
 * (schedule, engine decisions, coordinator, merge, verdict) do not call these: they take `now_ns`.
 */

#define NS_PER_US  UINT64_C(1000)
#define NS_PER_MS  UINT64_C(1000000)
#define NS_PER_SEC UINT64_C(1000000000)
#define NS_NEVER   UINT64_MAX /* "no deadline" */

/* Nanoseconds of CLOCK_MONOTONIC. About 23 ns (vDSO); any thread. */
uint64_t clock_mono_ns(void);

/* Nanoseconds of CLOCK_REALTIME since 1970; for printing and for kernel receive stamps only. */
uint64_t clock_wall_ns(void);

/* CPU time consumed so far by the calling thread, nanoseconds. */
uint64_t clock_thread_cpu_ns(void);

/* Sleeps until the monotonic instant (TIMER_ABSTIME), restarting on signals. */
void clock_sleep_until(uint64_t mono_ns);

/* Saturating helpers: a deadline never wraps. */
static inline uint64_t clock_add(uint64_t t, uint64_t delta)
{
    return t > UINT64_MAX - delta ? UINT64_MAX : t + delta;
}

static inline uint64_t clock_elapsed(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

#endif
