/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_WORKER_RIG_H
#define HAMMER_TESTS_WORKER_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/client/request.h"
#include "agent/client/target.h"
#include "agent/engine/worker.h"
#include "proto/schedule.h"
#include "proto/snapshot.h"

/*
 * Real load threads in the test's own process, with a tap on every result: t0 is known exactly, and
 * so is when each request was due. Every request carries its index: "{i}" in the URL
 * (HAMMER_TEST_INDEX). One rig at a time; check's assertions inside.
 */

#define WORKER_RIG_MAX 4

struct worker_rig_plan {
    struct rate rate;
    uint64_t duration_ns;
    uint64_t timeout_ns;
    uint32_t workers;     /* 1; or 4: two agents of weights 1 and 2, two threads each */
    uint32_t connections; /* of each worker */
};

struct worker_rig {
    uint64_t t0;
    size_t tags; /* requests of the whole run; results by tap_result(0 .. tags - 1) */
    struct snapshot *total;
    /* How long the load threads were kept from running by others (schedstat): a thread that sleeps
     * or waits for the server adds nothing. 0 when the kernel does not say. */
    uint64_t stolen_ns;

    struct loop *loop;
    struct mailbox *reports;
    struct worker *workers[WORKER_RIG_MAX];
    uint32_t n;
    struct target target;
    const struct target *items[1];
    struct targets targets;
    struct reqset requests;
    struct request request;
    uint32_t prepared, finals;
    bool dropping;
};

/* Runs the whole plan against `url`. The workers stay (idle) until worker_rig_close. */
void worker_rig_run(struct worker_rig *r, const char *url, const struct worker_rig_plan *plan);
void worker_rig_close(struct worker_rig *r);

#endif
