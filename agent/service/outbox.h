/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_OUTBOX_H
#define HAMMER_AGENT_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/msg.h"
#include "proto/snapshot.h"

/*
 * What an agent owes its controller: encoded snapshots in sequence, kept until acknowledged, then
 * the final one. When OUTBOX_MAX are unacknowledged, or OUTBOX_BYTES of them (a slow controller),
 * further snapshots are added together into one that waits: resolution is lost, counts never.
 * Control's thread only.
 */

#define OUTBOX_MAX   600
#define OUTBOX_BYTES (16u << 20)

struct outbox;

struct outbox *outbox_new(void);
void outbox_free(struct outbox *o); /* NULL is fine */

/* Takes the snapshot over, gives it the next sequence number. */
enum err outbox_add(struct outbox *o, struct snapshot *s) MUST_CHECK;
/* Nothing follows; `head` gets last_seq and data. Sent once after all snapshots. */
enum err outbox_final(struct outbox *o, const struct msg_final *head,
                      const struct snapshot *total) MUST_CHECK;

/* Next message to send, if any; blobs stay valid until the next call that changes the box. */
bool outbox_peek(const struct outbox *o, struct msg *m);
/* The peeked message was handed to the link. */
void outbox_sent(struct outbox *o);
/* Everything up to ack_seq was merged: forget it. Numbers out of range are ignored. */
void outbox_ack(struct outbox *o, uint64_t ack_seq);
/* Send everything after ack_seq (and the final one) again. */
void outbox_rewind(struct outbox *o, uint64_t ack_seq);
/* Send the final one again. */
void outbox_repeat_final(struct outbox *o);
uint64_t outbox_last_seq(const struct outbox *o);
/* Nothing left to send. */
bool outbox_empty(const struct outbox *o);

#endif
