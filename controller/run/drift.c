/* SPDX-License-Identifier: MIT */
#include "controller/run/drift.h"

#include <stdlib.h>

#include "common/clock.h"

void drift_begin(struct drift *d, uint64_t at_ns, int64_t offset_ns, uint64_t error_ns)
{
    *d = (struct drift){.window_ns = at_ns};
    d->first = d->last = (struct drift_point){at_ns, offset_ns, error_ns};
}

static void close_window(struct drift *d)
{
    if (d->open.good == 0)
        return;
    d->last =
        (struct drift_point){d->open_at_ns, d->open.offset_ns, clock_estimate_error(&d->open)};
    d->windows++;
    int64_t moved = d->last.offset_ns - d->first.offset_ns;
    if (llabs(moved) > llabs(d->max_ns)) {
        d->max_ns = moved;
        d->max_error_ns = clock_add(d->first.error_ns, d->last.error_ns);
    }
    d->open = (struct clock_estimate){0};
}

void drift_probe(struct drift *d, uint64_t t1_ns, uint64_t t2_ns, uint64_t t3_ns, uint64_t t4_ns)
{
    if (d->first.at_ns == 0 || t1_ns < d->first.at_ns)
        return;
    if (t4_ns >= clock_add(d->window_ns, DRIFT_WINDOW_NS)) {
        close_window(d);
        d->window_ns = t4_ns;
    }
    uint64_t best_ns = d->open.rtt_ns;
    bool none = d->open.good == 0;
    if (clock_estimate_add(&d->open, t1_ns, t2_ns, t3_ns, t4_ns) &&
        (none || d->open.rtt_ns < best_ns))
        d->open_at_ns = t1_ns + (t4_ns - t1_ns) / 2;
}

void drift_end(struct drift *d)
{
    close_window(d);
}

int64_t drift_change(const struct drift *d, uint64_t *error_ns)
{
    *error_ns = d->windows > 0 ? clock_add(d->first.error_ns, d->last.error_ns) : 0;
    return d->windows > 0 ? d->last.offset_ns - d->first.offset_ns : 0;
}

double drift_ppb(const struct drift *d, double *error_ppb)
{
    uint64_t error_ns, over_ns = clock_elapsed(d->first.at_ns, d->last.at_ns);
    int64_t change = drift_change(d, &error_ns);
    *error_ppb = 0;
    if (over_ns == 0)
        return 0;
    *error_ppb = (double)error_ns * 1e9 / (double)over_ns;
    return (double)change * 1e9 / (double)over_ns;
}
