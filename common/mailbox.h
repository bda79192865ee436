/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_MAILBOX_H
#define HAMMER_COMMON_MAILBOX_H

#include <sys/queue.h>

#include "common/err.h"
#include "common/loop.h"

/*
 * Cross-thread queue into a loop. All mailboxes of a loop share a mutex and an eventfd: many that
 * get letters at once wake the loop once. The only mutable structure that threads share, but for
 * the ring of agent/engine/dump_ring.h. A posted letter changes owner: the sender forgets it.
 * Letters are embedded in the sender's own objects: posting never allocates.
 */

struct letter {
    STAILQ_ENTRY(letter) link;
    int kind; /* meaning belongs to the two ends */
};

struct mailbox;
typedef void (*mailbox_fn)(void *arg, struct letter *l);

/* Receiver: fn runs on the loop's thread, once per letter, in posting order (per sender). */
enum err mailbox_new(struct loop *l, mailbox_fn fn, void *arg, struct mailbox **out,
                     struct errmsg *msg) MUST_CHECK;

/* Any thread. Never blocks longer than the queue's mutex; never fails. */
void mailbox_post(struct mailbox *m, struct letter *l);

/* Receiver's thread, when no sender is left; before loop_free. Letters still queued are handed to
 * fn first. */
void mailbox_free(struct mailbox *m);

#endif
