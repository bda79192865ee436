/* SPDX-License-Identifier: MIT */
#include "agent/engine/row_walk.h"

#include "agent/engine/series_map.h"
#include "common/clock.h"

/* The first slot behind `from` that may have another row than that one, which is due at `ns`. */
static uint64_t group_end(const struct series_map *m, const struct pacer *p, uint64_t from,
                          uint64_t end, uint64_t ns)
{
    if (m->n == 1)
        return end;
    uint64_t until = from + 1;
    if (m->n_names == 1)
        until = pacer_slots_before(p, series_map_until(m, ns));
    if (until <= from)
        return from + 1;
    return until < end ? until : end;
}

void row_walk(struct recorder *r, const struct pacer *p, struct pacer_range slots, uint64_t now_ns,
              row_walk_fn fn)
{
    const struct series_map *m = recorder_series(r);
    uint64_t end = slots.from + slots.n, next;
    for (uint64_t from = slots.from; from < end; from = next) {
        uint64_t tag, due_ns = pacer_due(p, from, &tag);
        uint64_t ns = due_ns - p->t0_ns;
        next = group_end(m, p, from, end, ns);
        fn(r, series_map_row(m, tag, ns), next - from, clock_elapsed(due_ns, now_ns));
    }
}

static void became_due(struct recorder *r, uint32_t row, uint64_t n, uint64_t age_ns)
{
    (void)age_ns;
    recorder_due(r, row, n);
}

void row_walk_due(struct recorder *r, const struct pacer *p, uint64_t n)
{
    row_walk(r, p, (struct pacer_range){p->due - n, n}, 0, became_due);
}
