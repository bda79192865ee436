/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_RUN_DUMP_H
#define HAMMER_AGENT_RUN_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/engine/dump_ring.h"
#include "agent/engine/series_map.h"
#include "proto/msg.h"

/*
 * What the workers of a run tell of single requests, packed into REQUESTS messages one at a time.
 * Memory is bounded: DUMP_RING_RECORDS for each worker and one message. Main thread.
 */

struct run_dump;

/* `records`: of each worker's ring. The map is borrowed. */
struct run_dump *run_dump_new(uint32_t workers, uint32_t records, const struct series_map *series);
/* No worker has its ring any more; NULL is fine. */
void run_dump_free(struct run_dump *d);
struct dump_ring *run_dump_ring(struct run_dump *d, uint32_t worker);
/* Before any worker records: due times count from there. */
void run_dump_start(struct run_dump *d, uint64_t t0_ns);

/* The next message, with what there is now; the same one until run_dump_sent. false = there is
 * nothing. The data is valid until then. */
bool run_dump_next(struct run_dump *d, struct msg_requests *m);
void run_dump_sent(struct run_dump *d);
/* Was the message that was sent last full? Then more is waiting, probably. */
bool run_dump_busy(const struct run_dump *d);
/* What has not been sent never will be: it counts as dropped. */
void run_dump_give_up(struct run_dump *d);
void run_dump_totals(const struct run_dump *d, uint64_t *rows, uint64_t *dropped);

#endif
