/* SPDX-License-Identifier: MIT */
#include "agent/client/deadlines.h"

#include <stddef.h>

#include "common/clock.h"

void deadlines_init(struct deadlines *l, uint64_t delay_ns)
{
    TAILQ_INIT(&l->list);
    l->delay_ns = delay_ns;
}

void deadlines_start(struct deadlines *l, struct deadline *d, uint64_t from_ns)
{
    deadline_cancel(d);
    uint64_t at = clock_add(from_ns, l->delay_ns);
    const struct deadline *last = TAILQ_LAST(&l->list, deadline_list);
    if (last != NULL && at < last->at_ns)
        at = last->at_ns;
    d->at_ns = at;
    d->list = l;
    TAILQ_INSERT_TAIL(&l->list, d, link);
}

void deadline_cancel(struct deadline *d)
{
    if (d->list == NULL)
        return;
    TAILQ_REMOVE(&d->list->list, d, link);
    d->list = NULL;
}

struct deadline *deadlines_pop(struct deadlines *l, uint64_t now_ns)
{
    struct deadline *first = TAILQ_FIRST(&l->list);
    if (first == NULL || first->at_ns > now_ns)
        return NULL;
    deadline_cancel(first);
    return first;
}
