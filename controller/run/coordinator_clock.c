/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "controller/run/coordinator_impl.h"

/* Of one machine, by its boot id, and the measurements say nothing else: those of virtual machines
 * that were cloned while they ran do. */
static bool one_clock(const struct coord_agent *a, const struct coord_agent *b)
{
    uint64_t apart = (uint64_t)llabs(a->info.offset_ns - b->info.offset_ns);
    return a == b || (a->boot_id[0] != '\0' && strcmp(a->boot_id, b->boot_id) == 0 &&
                      apart <= clock_add(a->info.error_ns, b->info.error_ns));
}

static bool wants_clock(const struct coord_agent *a)
{
    return !coord_terminal(a) && !a->info.same_clock && a->info.clock == 0;
}

void coord_share_clocks(struct coordinator *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct coord_agent *best = &c->agents[i], *a;
        if (!wants_clock(best))
            continue;
        for (a = &c->agents[i]; a < &c->agents[c->n]; a++)
            if (wants_clock(a) && one_clock(a, &c->agents[i]) &&
                a->info.error_ns < best->info.error_ns)
                best = a;
        const struct coord_agent model = *best;
        for (a = &c->agents[i]; a < &c->agents[c->n]; a++) {
            if (!wants_clock(a) || !(a == best || one_clock(a, &model)))
                continue;
            a->info.clock = (uint32_t)i + 1;
            a->info.offset_ns = model.info.offset_ns;
            a->info.error_ns = model.info.error_ns;
        }
    }
}
