/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_DUMP_RING_H
#define HAMMER_AGENT_DUMP_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/client/client.h"
#include "agent/engine/pacer.h"
#include "proto/dump.h"

/*
 * Single requests on their way from a worker to the main thread, where a plan wants them: a ring of
 * records of fixed size between one writer and one reader. The writer never waits, allocates, locks
 * or formats; what finds no room is counted. What is left of the schedule at its end is one note,
 * however much it is: the reader makes the records of it, at its own pace. Beside the mailbox the
 * only thing that two threads look at.
 */

#define DUMP_RING_RECORDS 32768u /* 1.5 MiB for each worker */

struct dump_record {
    uint64_t index;
    uint64_t due_ns, sent_ns, done_ns; /* monotonic; the last two 0 of one that was not sent */
    uint64_t bytes;
    int error; /* client_result.error */
    uint16_t status;
    uint8_t outcome; /* enum dump_outcome */
};

struct dump_ring;

/* Of so many records, a power of two; all its memory is touched now. */
struct dump_ring *dump_ring_new(uint32_t records);
/* Both threads have let go of it; NULL is fine. */
void dump_ring_free(struct dump_ring *r);

/* The worker's: */
void dump_ring_result(struct dump_ring *r, const struct client_result *res);
/* Slots that were given up while others still become due. O(1) for those that find no room. */
void dump_ring_unsent(struct dump_ring *r, const struct pacer *p, struct pacer_range slots,
                      enum dump_outcome why);
/* The same at the end of the schedule, once; results may still follow. */
void dump_ring_rest(struct dump_ring *r, const struct pacer *p, struct pacer_range slots,
                    enum dump_outcome why);

/* The main thread's: */
/* The oldest record, valid until dump_ring_next; NULL = there is none now. */
const struct dump_record *dump_ring_peek(struct dump_ring *r);
void dump_ring_next(struct dump_ring *r);
/* Forgets all there is now, and counts it as dropped. */
void dump_ring_drop(struct dump_ring *r);
uint64_t dump_ring_dropped(const struct dump_ring *r);

#endif
