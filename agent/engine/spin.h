/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_SPIN_H
#define HAMMER_AGENT_SPIN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * PURE: how a worker waits for the next due request. A thread that sleeps until the due time itself
 * is woken too late, by the timer and by the core that must come out of its idle state. So it
 * sleeps to a little before and reads the clock for the rest: it spins. All instants are monotonic
 * ns; time comes in as an argument. One worker's thread.
 *
 * auto: the length follows the lateness of the wake-ups seen (19 of 20 are covered, at most
 * SPIN_AUTO_MAX_NS), and is paid from a credit that grows by 1/SPIN_SHARE of the time that passes:
 * over any time T the worker spins at most T/SPIN_SHARE + SPIN_CREDIT_NS. The emptier the credit,
 * the shorter the spin. There is none
 *   - where the gap between the due times is shorter than the spin: that would be all of the time;
 *   - for SPIN_HOLD_NS after the clock jumped under a spin: then somebody else needs this core.
 * A fixed length is spun whatever it costs: up to a whole core.
 */

#define SPIN_AUTO        UINT64_MAX /* setting: the length is found out */
#define SPIN_SHARE       20         /* auto: at most 1/20 of a core, 5 % */
#define SPIN_AUTO_MAX_NS UINT64_C(200000)
#define SPIN_CREDIT_NS   UINT64_C(1000000)
#define SPIN_HOLD_NS     UINT64_C(20000000)
#define SPIN_JUMP_NS     UINT64_C(50000) /* between two readings of the clock: we did not run */
#define SPIN_POLL_NS     UINT64_C(10000) /* sockets are looked at so often meanwhile */
#define SPIN_POLL_MAX_NS UINT64_C(5000)  /* a turn that takes longer did work: that is no spin */

/* Embedded by value; private to spin.c but for spent_ns. */
struct spin {
    uint64_t setting_ns; /* SPIN_AUTO, 0 = never, else the length */
    uint64_t gap_ns;
    uint64_t want_ns;   /* auto: covers most wake-ups */
    uint64_t credit_ns; /* auto: what may be spun, as of paid_ns */
    uint64_t paid_ns;
    uint64_t hold_ns;   /* auto: no spin before this instant */
    uint64_t due_ns;    /* the due time that begin_ns belongs to */
    uint64_t begin_ns;  /* spin from here on */
    uint64_t polled_ns; /* when sockets were last looked at */
    uint64_t spent_ns;  /* spun so far */
};

enum spin_action {
    SPIN_SLEEP, /* wait for events, at most until `until_ns` (NS_NEVER: for events only) */
    SPIN_POLL,  /* look at the sockets, do not wait */
    SPIN_WATCH, /* read the clock until `until_ns` */
};

struct spin_step {
    enum spin_action action;
    uint64_t until_ns;
};

/* Are there cores for it? Of the `allowed` cores of this process every worker needs one; of the
 * `online` ones of the machine the server needs one too where it is on this machine. */
bool spin_has_cores(uint32_t workers, uint32_t allowed, uint32_t online, bool server_here);

/* `gap_ns`: mean time between two due requests of this worker. */
void spin_init(struct spin *s, uint64_t setting_ns, uint64_t gap_ns, uint64_t now_ns);
/* What to do until the next due request (NS_NEVER = none is known, or no connection is idle) or
 * until `wake_ns`, when there is other work; due_ns >= wake_ns is fine. */
struct spin_step spin_next(struct spin *s, uint64_t now_ns, uint64_t due_ns, uint64_t wake_ns);
/* Each step is answered with what became of it. */
void spin_slept(struct spin *s, uint64_t asked_ns, uint64_t now_ns);
void spin_polled(struct spin *s, const struct spin_step *step, uint64_t from_ns, uint64_t to_ns);
/* `jump_ns`: the longest time between two readings. */
void spin_watched(struct spin *s, uint64_t from_ns, uint64_t to_ns, uint64_t jump_ns);

#endif
