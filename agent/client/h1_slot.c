/* SPDX-License-Identifier: MIT */
#include "agent/client/h1_slot.h"
#include "agent/client/h1_watch.h"

#include <stdlib.h>

#define BIT(state) (1u << SLOT_##state)

#define IDLE       .counts[SLOTS_IDLE] = 1
#define CONNECTED  .counts[SLOTS_CONNECTED] = 1
#define CONNECTING .counts[SLOTS_CONNECTING] = 1
#define IN_FLIGHT  .counts[SLOTS_IN_FLIGHT] = 1

static const struct {
    uint32_t counts[SLOT_COUNTS]; /* what a slot in it counts as */
    unsigned next;                /* allowed moves */
    bool listed;
} states[SLOT_STATES] = {
    [SLOT_CLOSED] = {.next = BIT(QUEUED) | BIT(COLD) | BIT(CLOSED)},
    [SLOT_COLD] = {.next = BIT(OPENING) | BIT(CLOSED), .listed = true, IDLE},
    [SLOT_QUEUED] = {.next = BIT(CONNECTING) | BIT(BACKOFF) | BIT(CLOSED), .listed = true},
    [SLOT_CONNECTING] = {.next = BIT(IDLE) | BIT(THINKING) | BIT(BACKOFF) | BIT(CLOSED),
                         CONNECTING},
    [SLOT_BACKOFF] = {.next = BIT(QUEUED) | BIT(COLD) | BIT(CLOSED)},
    [SLOT_IDLE] = {.next = BIT(BUSY) | BIT(OPENING) | BIT(CONNECTING) | BIT(BACKOFF) | BIT(COLD) |
                           BIT(CLOSED),
                   .listed = true,
                   IDLE,
                   CONNECTED},
    [SLOT_OPENING] = {.next = BIT(BUSY) | BIT(UNOPENED) | BIT(SETTLING), IN_FLIGHT},
    [SLOT_UNOPENED] = {.next = BIT(SETTLING), .listed = true, IN_FLIGHT},
    [SLOT_BUSY] = {.next = BIT(SETTLING) | BIT(RETRYING) | BIT(BUSY) | BIT(OPENING),
                   CONNECTED,
                   IN_FLIGHT},
    [SLOT_RETRYING] = {.next = BIT(BUSY) | BIT(SETTLING), IN_FLIGHT},
    [SLOT_SETTLING] = {.next = BIT(IDLE) | BIT(THINKING) | BIT(CONNECTING) | BIT(BACKOFF) |
                               BIT(COLD) | BIT(CLOSED)},
    [SLOT_THINKING] = {.next = BIT(IDLE) | BIT(CONNECTING) | BIT(BACKOFF) | BIT(COLD) | BIT(CLOSED),
                       CONNECTED},
};

bool slot_in_flight(const struct slot *s)
{
    return states[s->state].counts[SLOTS_IN_FLIGHT] > 0;
}

static struct slot_list *list_of(const struct slot *s, enum slot_state state)
{
    return state == SLOT_IDLE ? &s->client->idle[s->aim] : &s->client->lists[state];
}

void slot_move(struct slot *s, enum slot_state to)
{
    struct client_h1 *c = s->client;
    enum slot_state from = s->state;
    if ((states[from].next & (1u << to)) == 0)
        abort(); /* a bug of ours, never the effect of foreign bytes */
    if (states[from].listed) {
        struct slot_list *list = list_of(s, from);
        TAILQ_REMOVE(list, s, link);
    }
    for (size_t i = 0; i < SLOT_COUNTS; i++)
        c->slots_now[i] += states[to].counts[i] - states[from].counts[i];
    s->state = to;
    if (states[to].listed) {
        struct slot_list *list = list_of(s, to);
        TAILQ_INSERT_TAIL(list, s, link);
    }
}

void slot_let_body_go(struct slot *s)
{
    timer_heap_cancel(&s->client->pauses, &s->pause);
    s->holding = false;
}

void slot_report(struct slot *s, struct client_result *r)
{
    if (s->holding)
        slot_let_body_go(s);
    deadline_cancel(&s->deadline);
    if (s->connecting.list != NULL)
        deadline_cancel(&s->connecting);
    r->tag = s->tag;
    r->due_ns = s->due_ns;
    r->sent_ns = s->sent_ns;
    r->handed_ns = s->handed_ns;
    r->attempts = s->attempts;
    if (s->handed_ns != 0)
        r->bytes = s->response.head_bytes + s->response.body_bytes;
    if (s->client->env.rules.debug)
        slot_debug(s);
    slot_move(s, SLOT_SETTLING);
    s->client->env.done(s->client->env.arg, r);
}
