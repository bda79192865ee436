/* SPDX-License-Identifier: MIT */
#include "controller/run/objective.h"

#include <stdio.h>

#include "common/mem.h"
#include "controller/run/result.h"

void objectives_judge(struct result *r, const struct condition_list *list)
{
    uint64_t warmup_ns = result_warmup_ns(r);
    r->objectives = mem_calloc(list->n, sizeof *r->objectives);
    r->n_objectives = list->n;
    for (size_t i = 0; i < list->n; i++) {
        struct objective *o = &r->objectives[i];
        o->condition = &list->items[i];
        o->measured =
            condition_measure(o->condition, r->total, warmup_ns, r->duration_ns, &o->figure);
        o->held = o->measured && condition_holds(o->condition, &o->figure);
    }
}

size_t objectives_missed(const struct result *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_objectives; i++)
        n += !r->objectives[i].held;
    return n;
}

const char *objective_say(const struct objective *o, char buf[CONDITION_SAID])
{
    if (o->measured)
        return condition_say(o->condition, &o->figure, buf);
    snprintf(buf, CONDITION_SAID, "nothing was measured");
    return buf;
}
