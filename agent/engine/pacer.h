/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_PACER_H
#define HAMMER_AGENT_PACER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/schedule.h"

/*
 * PURE: which slots of a worker's schedule are due, which one is next, and when to look again. Two
 * cursors, due and sent; the backlog is their difference, so a million slots that become due at
 * once cost the same as one. All instants are monotonic ns; time comes in as an argument.
 *
 * Every slot is put in one of two classes at the moment it becomes due:
 *   prompt   a connection was idle for it: any delay of its send is the generator's own
 *   waiting  no connection was idle for it: its delay is the server's (or of too few connections)
 * Within one look at the clock the first slots take the idle connections, the rest is waiting;
 * but slots that were overlooked for more than PACER_LATE_NS while a connection was idle are
 * prompt, however many they are: it was us who slept.
 *
 * Where a slot that finds no connection is to be dropped (`drop`), one that is not prompt is given
 * up at once (pacer_shed); one that was overlooked is not the server's fault and is sent late. No
 * slot becomes prompt while prompt ones in front of given up ones are still to be sent and a
 * connection is idle for one more: that is a matter of one turn.
 *
 * With a quantum the clock is looked at only from the next multiple of it (after t0) on once a slot
 * is due, so that several slots leave in one wake-up. Their due times stay what they are; the class
 * is that of the instant of the look. What the quantum delays is not overlooked.
 */

#define PACER_LATE_NS UINT64_C(1000000)

/* Embedded by value, owned by the engine; `drop` is set after pacer_init. Slots are the shard's own
 * count, 0, 1, 2, ... */
struct pacer {
    struct schedule schedule;
    uint64_t t0_ns;
    uint64_t due;        /* slots below have become due */
    uint64_t sent;       /* slots below have been sent (or given up); sent <= open */
    uint64_t open;       /* slots from here to `due` were dropped; without drop it is `due` */
    uint64_t shed;       /* slots below were dropped or will be sent */
    uint64_t prompt;     /* slots below are prompt, those from here to `due` are waiting */
    uint64_t next_ns;    /* when to look for slot `due`; NS_NEVER = no more, or not started */
    uint64_t end_ns;     /* pacer_end, worked out once */
    uint64_t quantum_ns; /* 0 = every slot is looked for at its due time */
    bool drop;           /* see above */
    bool closed;         /* closed loop: a slot becomes due when a connection is idle for it */
};

/* Slots that are given up: from .. from + n - 1. */
struct pacer_range {
    uint64_t from, n;
};

struct pacer_slot {
    uint64_t tag; /* global index of the request */
    uint64_t due_ns;
    bool waiting;
};

void pacer_init(struct pacer *p, const struct schedule *s, uint64_t quantum_ns);
void pacer_start(struct pacer *p, uint64_t t0_ns);

/* Closed loop: `idle` slots become due at `now_ns`, while the run lasts.
 * Open loop: moves the due cursor to `now_ns`; `idle` = connections that were idle until now.
 * Returns how many slots became due. An earlier instant than the last one does nothing. */
uint64_t pacer_advance(struct pacer *p, uint64_t now_ns, uint64_t idle);
uint64_t pacer_backlog(const struct pacer *p);
/* The shard owns another part of the schedule from that global index on: schedule_reshare. What has
 * become due stays as it is: ERR_STATE when the index would be due by now_ns. Not after
 * pacer_close. */
enum err pacer_reshare(struct pacer *p, uint64_t from, const struct share *share, uint64_t now_ns,
                       struct errmsg *msg) MUST_CHECK;
/* The oldest due slot that was not sent. Needs a backlog. Closed loop: due_ns is NS_NEVER, the send
 * itself is the due instant. */
struct pacer_slot pacer_oldest(const struct pacer *p);
/* That slot is sent. */
void pacer_sent(struct pacer *p);
/* Every slot of the schedule has been sent. A closed loop bounded by time alone never is: its end
 * is pacer_end. */
bool pacer_exhausted(const struct pacer *p);

/* With drop, after pacer_advance: gives up what has become due since the last time and is not
 * prompt. */
struct pacer_range pacer_shed(struct pacer *p);

/* When to look again if no connection becomes free: the next due instant (rounded up to the
 * quantum), the past when idle connections and a backlog stand side by side, NS_NEVER when no
 * connection is idle. */
uint64_t pacer_wake(const struct pacer *p, uint64_t idle);

/* End of the sending period: t0 + duration, or when the request after the last one would be due. */
uint64_t pacer_end(const struct pacer *p);
/* No quantum from here on: the next look finds everything that is due by then. */
void pacer_exact(struct pacer *p);
/* Nothing more becomes due and the backlog is given up. */
struct pacer_range pacer_close(struct pacer *p);
/* Of any slot: its request, and when that is due. Not in a closed loop. */
uint64_t pacer_due(const struct pacer *p, uint64_t slot, uint64_t *tag);
/* Slots below are due before `ns` after t0. */
uint64_t pacer_slots_before(const struct pacer *p, uint64_t ns);

#endif
