/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_LOOP_H
#define HAMMER_COMMON_LOOP_H

#include <event2/event.h>
#include <stdint.h>

#include "common/err.h"

/*
 * The one place that configures libevent. Every base is opened with PRECISE_TIMER (without it
 * timers are 2 ms late: measured) and, because each loop belongs to one thread, NOLOCK. loop_new
 * verifies that the precise timer took effect and fails otherwise; loop_new_exact does without
 * libevent's timers.
 */

struct loop;
struct loop_timer;
struct loop_post;

enum err loop_new(struct loop **out, struct errmsg *msg) MUST_CHECK;
/* For a thread that waits tens of thousands of times a second: its one and only timer is exact to
 * the nanosecond, not to 2 us, and costs a system call only when it is set to an earlier instant
 * than before, where libevent makes one each turn. */
enum err loop_new_exact(struct loop **out, struct errmsg *msg) MUST_CHECK;
void loop_free(struct loop *l); /* NULL is fine; timers and signals must be freed before */

/* libevent's own handle, for modules that register sockets. */
struct event_base *loop_base(struct loop *l);

/* Where common/mailbox keeps what the mailboxes of this loop share; NULL without any. */
struct loop_post **loop_post(struct loop *l);

/* Runs until loop_stop. Owner thread only. */
void loop_run(struct loop *l);
/* One turn: waits for events (at most until the next timer) when `block`, else only polls. */
void loop_turn(struct loop *l, int block);
/* CLOCK_MONOTONIC when the first callback of the current turn asked, right after its wait ended:
 * one reading for all that had come by then. In callbacks only. */
uint64_t loop_woke_ns(struct loop *l);
/* Ends loop_run after the current callback. Owner thread only (others: post to a mailbox). */
void loop_stop(struct loop *l);

/* An object that needs turns of the loop after its owner let go of it (a link that flushes) holds
 * the loop until it is done; it must have a deadline of its own. loop_finish turns until nobody
 * holds the loop: the last call before loop_free. Owner thread only. */
void loop_hold(struct loop *l);
void loop_release(struct loop *l);
void loop_finish(struct loop *l);

/* One-shot timer, re-armed as often as wanted; the callback runs on the loop's thread and may
 * re-arm or free its own timer. Freeing disarms. */
typedef void (*loop_timer_fn)(void *arg);
struct loop_timer *loop_timer_new(struct loop *l, loop_timer_fn fn, void *arg);
/* Fires at the CLOCK_MONOTONIC instant (at once when past). NS_NEVER disarms. */
void loop_timer_at(struct loop_timer *t, uint64_t mono_ns);
void loop_timer_free(struct loop_timer *t); /* NULL is fine */

/* Calls fn on the loop's thread whenever the process gets signal `signo`. One loop per process may
 * own signals. Freed with loop_free. */
typedef void (*loop_signal_fn)(int signo, void *arg);
enum err loop_signal(struct loop *l, int signo, loop_signal_fn fn, void *arg) MUST_CHECK;
/* Takes back what was asked for with this `arg`: its owner goes before the loop does. */
void loop_signal_forget(struct loop *l, const void *arg);

#endif
