/* SPDX-License-Identifier: MIT */
#include "agent/client/h1_slot.h"

#include <stdlib.h>

#define BIT(state) (1u << SLOT_##state)

static const struct {
    unsigned next; /* allowed moves */
    bool idle, listed, connected, connecting, in_flight;
} states[SLOT_STATES] = {
    [SLOT_CLOSED] = {.next = BIT(QUEUED) | BIT(COLD) | BIT(CLOSED)},
    [SLOT_COLD] = {.next = BIT(OPENING) | BIT(CLOSED), .idle = true, .listed = true},
    [SLOT_QUEUED] = {.next = BIT(CONNECTING) | BIT(BACKOFF) | BIT(CLOSED), .listed = true},
    [SLOT_CONNECTING] = {.next = BIT(IDLE) | BIT(THINKING) | BIT(BACKOFF) | BIT(CLOSED),
                         .connecting = true},
    [SLOT_BACKOFF] = {.next = BIT(QUEUED) | BIT(COLD) | BIT(CLOSED)},
    [SLOT_IDLE] = {.next = BIT(BUSY) | BIT(OPENING) | BIT(CONNECTING) | BIT(BACKOFF) | BIT(COLD) |
                           BIT(CLOSED),
                   .idle = true,
                   .listed = true,
                   .connected = true},
    [SLOT_OPENING] = {.next = BIT(BUSY) | BIT(UNOPENED) | BIT(SETTLING), .in_flight = true},
    [SLOT_UNOPENED] = {.next = BIT(SETTLING), .listed = true, .in_flight = true},
    [SLOT_BUSY] = {.next = BIT(SETTLING) | BIT(RETRYING), .connected = true, .in_flight = true},
    [SLOT_RETRYING] = {.next = BIT(BUSY) | BIT(SETTLING), .in_flight = true},
    [SLOT_SETTLING] = {.next = BIT(IDLE) | BIT(THINKING) | BIT(CONNECTING) | BIT(BACKOFF) |
                               BIT(COLD) | BIT(CLOSED)},
    [SLOT_THINKING] = {.next = BIT(IDLE) | BIT(CONNECTING) | BIT(BACKOFF) | BIT(COLD) | BIT(CLOSED),
                       .connected = true},
};

bool slot_in_flight(const struct slot *s)
{
    return states[s->state].in_flight;
}

static struct slot_list *list_of(const struct slot *s)
{
    return s->state == SLOT_IDLE ? &s->client->idle[s->aim] : &s->client->lists[s->state];
}

void slot_move(struct slot *s, enum slot_state to)
{
    struct client_h1 *c = s->client;
    enum slot_state from = s->state;
    if ((states[from].next & (1u << to)) == 0)
        abort(); /* a bug of ours, never the effect of foreign bytes */
    if (states[from].listed)
        TAILQ_REMOVE(list_of(s), s, link);
    c->n_idle += states[to].idle - states[from].idle;
    c->n_connected += states[to].connected - states[from].connected;
    c->n_connecting += states[to].connecting - states[from].connecting;
    c->n_in_flight += states[to].in_flight - states[from].in_flight;
    s->state = to;
    if (states[to].listed)
        TAILQ_INSERT_TAIL(list_of(s), s, link);
}

void slot_report(struct slot *s, struct client_result *r)
{
    deadline_cancel(&s->deadline);
    deadline_cancel(&s->connecting);
    r->tag = s->tag;
    r->due_ns = s->due_ns;
    r->sent_ns = s->sent_ns;
    r->handed_ns = s->handed_ns;
    r->attempts = s->attempts;
    slot_move(s, SLOT_SETTLING);
    s->client->env.done(s->client->env.arg, r);
}
