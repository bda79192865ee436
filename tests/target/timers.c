/* SPDX-License-Identifier: MIT */
#include "tests/target/timers.h"

#include "common/clock.h"
#include "common/mem.h"

static void put(struct timers *ts, size_t slot, struct timer *t)
{
    ts->heap[slot] = t;
    t->slot = slot;
}

/* Moves `t` from the free place `slot` towards the root until its parent is not later. */
static size_t sift_up(struct timers *ts, size_t slot, const struct timer *t)
{
    while (slot > 1 && ts->heap[slot / 2]->due_ns > t->due_ns) {
        put(ts, slot, ts->heap[slot / 2]);
        slot /= 2;
    }
    return slot;
}

static size_t sift_down(struct timers *ts, size_t slot, const struct timer *t)
{
    for (;;) {
        size_t child = slot * 2;
        if (child < ts->n && ts->heap[child + 1]->due_ns < ts->heap[child]->due_ns)
            child++;
        if (child > ts->n || ts->heap[child]->due_ns >= t->due_ns)
            return slot;
        put(ts, slot, ts->heap[child]);
        slot = child;
    }
}

void timers_fini(struct timers *ts)
{
    mem_free(ts->heap);
    *ts = (struct timers){0};
}

void timers_set(struct timers *ts, struct timer *t, uint64_t due_ns)
{
    if (ts->n + 1 >= ts->capacity) {
        ts->capacity = ts->capacity == 0 ? 64 : ts->capacity * 2;
        ts->heap = mem_realloc(ts->heap, ts->capacity, sizeof ts->heap[0]);
    }
    t->due_ns = due_ns;
    ts->n++;
    put(ts, sift_up(ts, ts->n, t), t);
}

void timers_clear(struct timers *ts, struct timer *t)
{
    if (!timer_is_set(t))
        return;
    size_t slot = t->slot;
    struct timer *last = ts->heap[ts->n];
    t->slot = 0;
    ts->n--;
    if (last == t)
        return;
    slot = sift_up(ts, slot, last);
    put(ts, sift_down(ts, slot, last), last);
}

bool timer_is_set(const struct timer *t)
{
    return t->slot != 0;
}

uint64_t timers_next_ns(const struct timers *ts)
{
    return ts->n == 0 ? NS_NEVER : ts->heap[1]->due_ns;
}

bool timers_fire_one(struct timers *ts, uint64_t now_ns, void *arg)
{
    if (timers_next_ns(ts) > now_ns)
        return false;
    struct timer *t = ts->heap[1];
    timers_clear(ts, t);
    t->fire(t, arg);
    return true;
}
