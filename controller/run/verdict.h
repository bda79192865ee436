/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_VERDICT_H
#define HAMMER_CONTROLLER_VERDICT_H

#include "controller/run/result.h"

/*
 * PURE: what the run is worth, and the exit code (README). Bounds of the generator's own
 * delay, per interval: send lag or receive delay p99 > max(1 ms, 25 % of corrected p50)
 * (after Lancet, USENIX ATC 2019). The send lag may be longer by
 * the dispatch quantum: that was asked for.
 */
void verdict_eval(struct result *r);

#endif
