/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_SAMPLE_H
#define HAMMER_CONTROLLER_SAMPLE_H

#include "controller/compare/bootstrap.h"
#include "controller/compare/criterion.h"
#include "controller/run/result.h"

/*
 * PURE: one figure of one run, and the run cut into blocks for the bootstrap. Percentiles are of
 * all that was due, as --slo has it: a request without a response is later than everything.
 */

/* ns; of errors a share of what has ended; of the rate complete responses per second. INFINITY: the
 * rank falls on a request without a response. NAN: there is no such figure. Without corrected
 * latencies the uncorrected ones are meant. */
double sample_figure(const struct result *r, const struct criterion *c);

/* `blocks`: of the run, or of the part of it that c is about; `whole` has c's counters. NULL where
 * a run has no such figure or no blocks; max has none, because a part of a run says nothing of it.
 */
struct bootstrap *sample_blocks(const struct result *whole, const struct blocks *blocks,
                                const struct criterion *c);
enum bootstrap_figure sample_bootstrap_figure(const struct criterion *c);

/* The histogram that percentiles of the whole run are of. The caller's. */
struct hist *sample_hist(const struct result *r, bool uncorrected);

#endif
