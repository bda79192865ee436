/* SPDX-License-Identifier: MIT */
#include "agent/client/h1_slot.h"

#include <stdlib.h>

#define BIT(state) (1u << SLOT_##state)

static const struct {
    unsigned next; /* allowed moves */
    bool connected, connecting, in_flight;
} states[SLOT_STATES] = {
    [SLOT_CLOSED] = {.next = BIT(QUEUED) | BIT(CLOSED)},
    [SLOT_QUEUED] = {.next = BIT(CONNECTING) | BIT(BACKOFF) | BIT(CLOSED)},
    [SLOT_CONNECTING] = {.next = BIT(IDLE) | BIT(BACKOFF) | BIT(CLOSED), .connecting = true},
    [SLOT_BACKOFF] = {.next = BIT(QUEUED) | BIT(CLOSED)},
    [SLOT_IDLE] = {.next = BIT(BUSY) | BIT(CONNECTING) | BIT(BACKOFF) | BIT(CLOSED),
                   .connected = true},
    [SLOT_BUSY] = {.next = BIT(SETTLING) | BIT(RETRYING), .connected = true, .in_flight = true},
    [SLOT_RETRYING] = {.next = BIT(BUSY) | BIT(SETTLING), .in_flight = true},
    [SLOT_SETTLING] = {.next = BIT(IDLE) | BIT(CONNECTING) | BIT(BACKOFF) | BIT(CLOSED)},
};

bool slot_in_flight(const struct slot *s)
{
    return states[s->state].in_flight;
}

void slot_move(struct slot *s, enum slot_state to)
{
    struct client_h1 *c = s->client;
    enum slot_state from = s->state;
    if ((states[from].next & (1u << to)) == 0)
        abort(); /* a bug of ours, never the effect of foreign bytes */
    if (from == SLOT_IDLE) {
        TAILQ_REMOVE(&c->idle, s, link);
        c->n_idle--;
    } else if (from == SLOT_QUEUED) {
        TAILQ_REMOVE(&c->queued, s, link);
    }
    c->n_connected += states[to].connected - states[from].connected;
    c->n_connecting += states[to].connecting - states[from].connecting;
    c->n_in_flight += states[to].in_flight - states[from].in_flight;
    s->state = to;
    if (to == SLOT_IDLE) {
        TAILQ_INSERT_TAIL(&c->idle, s, link);
        c->n_idle++;
    } else if (to == SLOT_QUEUED) {
        TAILQ_INSERT_TAIL(&c->queued, s, link);
    }
}

void slot_report(struct slot *s, struct client_result *r)
{
    deadline_cancel(&s->deadline);
    r->tag = s->tag;
    r->due_ns = s->due_ns;
    r->sent_ns = s->sent_ns;
    r->attempts = s->attempts;
    slot_move(s, SLOT_SETTLING);
    s->client->env.done(s->client->env.arg, r);
}
