/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_RESULT_BUILD_H
#define HAMMER_CONTROLLER_RESULT_BUILD_H

#include "controller/run/condition.h"
#include "controller/run/merge.h"
#include "controller/run/result.h"

/*
 * PURE: from what was merged and what only the controller knew to a result that is whole. The one
 * way there for live runs and for stored ones that are made anew.
 */

/* Before it: ids, plan, interrupted, no_target, aborted, takeover; after merge_finish the agents'
 * facts (state, loss, ...). Settles the bounds, judges the objectives (borrowed, outlives the
 * result) and gives the verdict. */
void result_conclude(struct result *r, const struct condition_list *slo);
/* A part of a run is not judged: the status, "valid" and so on, is that of the whole. */
void result_conclude_part(struct result *r, const char *whole_status, int whole_exit_code);

#endif
