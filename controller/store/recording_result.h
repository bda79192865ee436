/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_RECORDING_RESULT_H
#define HAMMER_CONTROLLER_RECORDING_RESULT_H

#include "controller/run/result.h"
#include "controller/store/recording.h"

/* What the history keeps of a result, apart from what is made anew from its snapshots: PURE. */

/* Fills in all that is known at the end but ended_wall_ns and lost_rows; frees what it replaces. */
void recording_take_result(struct recording *r, const struct result *result);

#endif
