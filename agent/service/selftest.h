/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_SELFTEST_H
#define HAMMER_AGENT_SELFTEST_H

#include <stdint.h>

#include "agent/service/selftest_state.h"
#include "common/err.h"
#include "common/option.h"

/*
 * Finds the highest rate at which this host keeps its send-lag p99 below 1 ms: real runs (run.h)
 * against a responder thread on loopback, one rate after the other. One core is left to the
 * responder: a host with two cores is tested with one load thread. Main thread, a loop of its own.
 */

/* After each step; may be NULL. */
typedef void (*selftest_step_fn)(void *arg, const struct selftest_step *step);

/* Fills what *r says of the host and of how it will be tested. */
void selftest_describe(struct selftest_result *r);
/* Takes at most total_ns and a little; fills the rest of a described *r. A host that holds no rate
 * is no error; one on which no step can begin is. */
enum err selftest_run(uint64_t total_ns, selftest_step_fn fn, void *arg, struct selftest_result *r,
                      struct errmsg *msg) MUST_CHECK;

/* `hammer-agent selftest [flags]`: argv[0] is "selftest". Returns the exit code. */
int selftest_main(int argc, char **argv);
/* Its flags. */
const struct option_row *selftest_options(size_t *n);

#endif
