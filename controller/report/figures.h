/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_FIGURES_H
#define HAMMER_CONTROLLER_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hist.h"
#include "controller/run/result.h"

/*
 * PURE: the numbers that every report format prints, worked out once. A figure that does not exist
 * (nothing recorded, or beyond what is known) says so and is never a made-up value.
 */

#define FIGURES_PERCENTILES 7

struct figures_percentile {
    double p;
    const char *key; /* "50" ... "99.99", as in the JSON report */
};
extern const struct figures_percentile figures_percentiles[FIGURES_PERCENTILES];

/* Distribution of one histogram; everything 0 when count is 0. */
struct figures {
    uint64_t count, min, max;
    double mean, stddev;
    uint64_t at[FIGURES_PERCENTILES];
    bool supported[FIGURES_PERCENTILES]; /* enough samples for it, see result_supports */
};
struct figures figures_of(const struct hist *h);
/* Nearest-rank percentile, never above the slowest sample (its bucket reaches a little beyond). */
uint64_t figures_at(const struct hist *h, double percentile);

/* All-due view: known = false where the rank falls on a request that never completed. */
struct figures_all_due {
    uint64_t count; /* scheduled */
    uint64_t incomplete;
    uint64_t limit; /* an incomplete request took at least this long, as far as is known */
    bool known[FIGURES_PERCENTILES];
    bool supported[FIGURES_PERCENTILES];
    uint64_t at[FIGURES_PERCENTILES];
};
struct figures_all_due figures_all_due(const struct snapshot *s, const struct hist *corrected);

/* A closed loop has no due times: its only clock starts at the send. */
bool figures_closed_loop(const struct result *r);
/* Histogram of the run's main clock: corrected, or uncorrected where that is the only one. Caller
 * frees. */
struct hist *figures_main_hist(const struct result *r, const struct snapshot *s);

/* What the run took: its planned load, or longer when answers came later. 0 when nothing ran. */
uint64_t figures_elapsed_ns(const struct result *r);
/* What the figures are about: that without the warm-up, and of a part of a run the part's bounds.
 */
void figures_bounds(const struct result *r, uint64_t *from_ns, uint64_t *to_ns);
/* How long that is. */
uint64_t figures_measured_ns(const struct result *r);
/* Complete responses per second of that; 0 when nothing ran. */
double figures_achieved(const struct result *r);
/* The target in requests per second, 0 = none (closed loop), or not known of that part of a run.
 * With stages or random arrivals: what was due, over what the run took (over all of the plan at
 * most). */
double figures_target(const struct result *r);
/* Requests due from one instant after the start to another, by the plan; 0 in a closed loop. */
uint64_t figures_due(const struct plan *p, uint64_t from_ns, uint64_t to_ns);
/* Average CPU share of an agent's workers, 1.0 = every one fully busy; negative = not known. */
double figures_cpu(const struct result *r, const struct result_agent *a);

/* Share of the run in which requests waited because every connection of a worker was busy, the
 * average over the workers; negative = not known. */
double figures_limit(const struct result *r, const struct result_agent *a);

/* What the agent's workers used up. `known` = it started and ran. */
struct figures_health {
    bool known;
    double cpu, cpu_peak; /* shares of a core: the average, spinning included; the busiest worker
                             in its busiest interval, less its spinning */
    double spin;          /* of a core a worker, on average; part of cpu */
    uint64_t switches;    /* context switches, all */
    uint64_t preemptions; /* those against a worker's will */
};
struct figures_health figures_health(const struct result *r, const struct result_agent *a);

#endif
