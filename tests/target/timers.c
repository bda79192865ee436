/* SPDX-License-Identifier: MIT */
#include "tests/target/timers.h"

#include "common/clock.h"
#include "common/mem.h"

static void put(struct httpd_timers *ts, size_t slot, struct httpd_timer *t)
{
    ts->heap[slot] = t;
    t->slot = slot;
}

/* Moves `t` from the free place `slot` towards the root until its parent is not later. */
static size_t sift_up(struct httpd_timers *ts, size_t slot, const struct httpd_timer *t)
{
    while (slot > 1 && ts->heap[slot / 2]->due_ns > t->due_ns) {
        put(ts, slot, ts->heap[slot / 2]);
        slot /= 2;
    }
    return slot;
}

static size_t sift_down(struct httpd_timers *ts, size_t slot, const struct httpd_timer *t)
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

void httpd_timers_fini(struct httpd_timers *ts)
{
    mem_free(ts->heap);
    *ts = (struct httpd_timers){0};
}

void httpd_timers_set(struct httpd_timers *ts, struct httpd_timer *t, uint64_t due_ns)
{
    if (ts->n + 1 >= ts->capacity) {
        ts->capacity = ts->capacity == 0 ? 64 : ts->capacity * 2;
        ts->heap = mem_realloc(ts->heap, ts->capacity, sizeof ts->heap[0]);
    }
    t->due_ns = due_ns;
    ts->n++;
    put(ts, sift_up(ts, ts->n, t), t);
}

void httpd_timers_clear(struct httpd_timers *ts, struct httpd_timer *t)
{
    if (!httpd_timer_is_set(t))
        return;
    size_t slot = t->slot;
    struct httpd_timer *last = ts->heap[ts->n];
    t->slot = 0;
    ts->n--;
    if (last == t)
        return;
    slot = sift_up(ts, slot, last);
    put(ts, sift_down(ts, slot, last), last);
}

bool httpd_timer_is_set(const struct httpd_timer *t)
{
    return t->slot != 0;
}

uint64_t httpd_timers_next_ns(const struct httpd_timers *ts)
{
    return ts->n == 0 ? NS_NEVER : ts->heap[1]->due_ns;
}

bool httpd_timers_fire_one(struct httpd_timers *ts, uint64_t now_ns, void *arg)
{
    if (httpd_timers_next_ns(ts) > now_ns)
        return false;
    struct httpd_timer *t = ts->heap[1];
    httpd_timers_clear(ts, t);
    t->fire(t, arg);
    return true;
}
