/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_BENCH_SESSION_FAKE_RUN_H
#define HAMMER_BENCH_SESSION_FAKE_RUN_H

#include "agent/service/run.h"
#include "tests/bench/session/board.h"

/*
 * Runs without a target: every request that the agent's share of the plan has due in an interval is
 * answered, with latencies drawn from a fixed distribution. Snapshots come at the instants at which
 * a real agent makes them. One thread.
 */

#define FAKE_RUN_DISTINCT_MAX 8192

/* The only user of fake_run_ops in this process: they carry no argument of their own. `sum` gets
 * every run's total added when it ends. Both outlive the runs. With `distinct`
 * only so many latencies exist, so that histograms are soon as large as they get; 0 = any. */
void fake_run_init(struct board *board, struct snapshot *sum, uint64_t seed, uint32_t distinct);
const struct run_ops *fake_run_ops(void);

#endif
