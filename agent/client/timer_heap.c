/* SPDX-License-Identifier: MIT */
#include "agent/client/timer_heap.h"

#include <stdlib.h>

#include "common/mem.h"

void timer_heap_init(struct timer_heap *h, uint32_t cap)
{
    h->timers = mem_calloc(cap, sizeof(struct heap_timer *));
    h->n = 0;
    h->cap = cap;
}

void timer_heap_clear(struct timer_heap *h)
{
    mem_free(h->timers);
    *h = (struct timer_heap){NULL, 0, 0};
}

static void put(struct timer_heap *h, uint32_t place, struct heap_timer *t)
{
    h->timers[place - 1] = t;
    t->place = place;
}

static void rise(struct timer_heap *h, struct heap_timer *t)
{
    uint32_t place = t->place;
    for (; place > 1 && h->timers[place / 2 - 1]->at_ns > t->at_ns; place /= 2)
        put(h, place, h->timers[place / 2 - 1]);
    put(h, place, t);
}

static void sink(struct timer_heap *h, struct heap_timer *t)
{
    uint32_t place = t->place;
    for (;;) {
        uint32_t child = 2 * place;
        if (child > h->n)
            break;
        if (child < h->n && h->timers[child]->at_ns < h->timers[child - 1]->at_ns)
            child++;
        if (h->timers[child - 1]->at_ns >= t->at_ns)
            break;
        put(h, place, h->timers[child - 1]);
        place = child;
    }
    put(h, place, t);
}

void timer_heap_start(struct timer_heap *h, struct heap_timer *t, uint64_t at_ns)
{
    timer_heap_cancel(h, t);
    if (h->n == h->cap)
        abort(); /* a bug of ours: an owner has one timer */
    t->at_ns = at_ns;
    put(h, ++h->n, t);
    rise(h, t);
}

void timer_heap_cancel(struct timer_heap *h, struct heap_timer *t)
{
    if (t->place == 0)
        return;
    struct heap_timer *last = h->timers[--h->n];
    if (last != t) {
        put(h, t->place, last);
        rise(h, last);
        sink(h, last);
    }
    t->place = 0;
}

struct heap_timer *timer_heap_pop(struct timer_heap *h, uint64_t now_ns)
{
    if (h->n == 0 || h->timers[0]->at_ns > now_ns)
        return NULL;
    struct heap_timer *first = h->timers[0];
    timer_heap_cancel(h, first);
    return first;
}
