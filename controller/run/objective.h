/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_OBJECTIVE_H
#define HAMMER_CONTROLLER_OBJECTIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "controller/run/condition.h"

/*
 * PURE: what a run was to be like (--slo), and whether it was. An objective is a condition of the
 * whole run that is to hold. Latencies are judged with all that was due: a request without a
 * response is infinitely slow. What could not be measured did not hold.
 */

struct result;

struct objective {
    const struct condition *condition; /* borrowed */
    struct condition_figure figure;    /* valid when measured */
    bool measured, held;
};

/* Fills in the result's objectives, after result_settle and before verdict_eval. The list outlives
 * the result. */
void objectives_judge(struct result *r, const struct condition_list *list);
/* How many did not hold. */
size_t objectives_missed(const struct result *r);
/* "12.3ms", "2.5% (25 of 1000)", "nothing was measured". */
const char *objective_say(const struct objective *o, char buf[CONDITION_SAID]);

#endif
