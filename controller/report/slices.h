/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_SLICES_H
#define HAMMER_CONTROLLER_SLICES_H

#include <stddef.h>
#include <stdint.h>

#include "controller/run/result.h"

/*
 * PURE: the figures of a run by stage, by request name, or by both. Every response is in one slice,
 * so the slices add up to the whole; the histograms are added, as everywhere.
 */

enum slice_by {
    SLICE_STAGE,
    SLICE_NAME,
    SLICE_BOTH
};

struct slice {
    uint32_t stage;   /* 0 without stages, and by name */
    const char *name; /* borrowed from the snapshot; "" = none, and by stage */
    size_t place;     /* of the name in the plan: number of its first request, SIZE_MAX = unknown */
    uint64_t ns;      /* what it took, the warm-up left out; 0 = it never came */
    double target;    /* requests per second that were due; 0 = none (closed loop) */
    double achieved;  /* complete responses per second */
    struct counters c;
    struct hist *corrected, *uncorrected; /* owned; either may be empty, never NULL */
};

struct slices {
    size_t n;
    struct slice *items;
};

/* Stages in their order, names in that of the plan. `s` is the run's total or an agent's, whose
 * share of the target is not known: 0. */
struct slices slices_of(const struct result *r, const struct snapshot *s, enum slice_by by);
void slices_clear(struct slices *s);

/* Has the run more than one of them, or one with a name? */
bool slices_any(const struct result *r, enum slice_by by);
/* The bounds of a stage, ns after the start; the whole run without stages. */
void slices_stage_bounds(const struct result *r, uint32_t stage, uint64_t *from_ns,
                         uint64_t *to_ns);
/* Requests that ended badly: HTTP errors, failed and timed out ones. */
uint64_t slices_errors(const struct counters *c);

#endif
