/* SPDX-License-Identifier: MIT */
#include "agent/client/client_h1.h"

#include <stddef.h>
#include <string.h>

#include "agent/client/h1_slot.h"
#include "common/clock.h"
#include "common/mem.h"

#define BACKOFF_NS (100 * NS_PER_MS)

/* ---- deadlines ---- */

static struct slot *slot_of(struct deadline *d)
{
    return (struct slot *)(void *)((char *)d - offsetof(struct slot, deadline));
}

static void slot_timed_out(struct slot *s, uint64_t now_ns)
{
    if (s->state == SLOT_CONNECTING)
        slot_connect_timed_out(s, now_ns);
    else
        slot_fail(s, OUTCOME_TIMEOUT, 0, now_ns);
}

/* ---- operations ---- */

static bool any_tls(const struct targets *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->items[i]->tls != NULL)
            return true;
    return false;
}

/* Connections of the slot go to that target from now on, the first one to one of its addresses. */
static void slot_aim(struct slot *s, uint32_t target, uint32_t turn)
{
    struct client_h1 *c = s->client;
    s->target = c->env.targets->items[target];
    s->addr = (uint32_t)(turn % s->target->n);
    s->conn.turn = turn;
    if (s->target->tls == NULL)
        return;
    struct conn_tls *tls = &c->tls[s - c->slots];
    conn_tls_init(tls, s->target->tls, &c->sessions[target]);
    conn_use_tls(&s->conn, tls);
}

static enum err h1_init(void *self, const struct client_env *env, struct errmsg *msg)
{
    struct client_h1 *c = self;
    if (env->loop == NULL || env->connections == 0 || env->targets->items[0]->n == 0)
        return errmsg_set(msg, ERR_INVALID,
                          "HTTP/1.1 client: a loop, a target and at least one "
                          "connection are needed");
    c->env = *env;
    c->slots = mem_calloc(env->connections, sizeof *c->slots);
    c->sessions = mem_calloc(env->targets->n, sizeof *c->sessions);
    if (any_tls(env->targets))
        c->tls = mem_calloc(env->connections, sizeof *c->tls);
    c->buffer = mem_calloc(H1_READ_BUFFER, 1);
    const struct request *first = &env->requests->requests[0];
    if (first->index_at != SIZE_MAX && env->requests->n == 1)
        c->indexed = mem_dup(first->bytes, first->len);
    TAILQ_INIT(&c->idle);
    TAILQ_INIT(&c->queued);
    sampling_init(&c->sampling);
    deadlines_init(&c->timeouts, env->timeout_ns);
    deadlines_init(&c->backoffs, BACKOFF_NS);
    for (uint32_t i = 0; i < env->connections; i++) {
        struct slot *s = &c->slots[i];
        s->client = c;
        conn_init(&s->conn, loop_base(env->loop), slot_event, s);
        slot_aim(s, 0, i);
    }
    return ERR_OK;
}

static void h1_open(void *self, uint64_t now_ns)
{
    struct client_h1 *c = self;
    for (uint32_t i = 0; i < c->env.connections; i++)
        slot_queue(&c->slots[i]);
    h1_connect_queued(c, now_ns);
}

static uint32_t h1_idle(const void *self)
{
    return ((const struct client_h1 *)self)->n_idle;
}

static uint32_t h1_connected(const void *self)
{
    return ((const struct client_h1 *)self)->n_connected;
}

static uint32_t h1_attempted(const void *self)
{
    return ((const struct client_h1 *)self)->n_attempted;
}

static uint32_t h1_in_flight(const void *self)
{
    return ((const struct client_h1 *)self)->n_in_flight;
}

static void h1_submit(void *self, uint64_t tag, uint64_t due_ns, uint64_t now_ns)
{
    struct client_h1 *c = self;
    struct slot *s = TAILQ_FIRST(&c->idle);
    s->request = &c->env.requests->requests[reqset_pick(c->env.requests, tag)];
    s->tag = tag;
    s->due_ns = due_ns;
    s->attempts = 0;
    s->lost_error = 0;
    slot_send(s, now_ns);
}

static uint64_t h1_deadline(const void *self)
{
    const struct client_h1 *c = self;
    uint64_t a = deadlines_next(&c->timeouts), b = deadlines_next(&c->backoffs);
    return a < b ? a : b;
}

static void h1_expire(void *self, uint64_t now_ns)
{
    struct client_h1 *c = self;
    struct deadline *d;
    while (!c->stopped && (d = deadlines_pop(&c->timeouts, now_ns)) != NULL)
        slot_timed_out(slot_of(d), now_ns);
    while (!c->stopped && (d = deadlines_pop(&c->backoffs, now_ns)) != NULL)
        slot_queue(slot_of(d));
    h1_connect_queued(c, now_ns);
}

static void slot_quiesce(struct slot *s, uint64_t now_ns)
{
    if (s->state == SLOT_RETRYING) {
        slot_fail(s, OUTCOME_READ, s->lost_error, now_ns);
    } else if (s->state == SLOT_CONNECTING || s->state == SLOT_BACKOFF || s->state == SLOT_QUEUED) {
        deadline_cancel(&s->deadline);
        conn_close(&s->conn);
        slot_move(s, SLOT_CLOSED);
    }
}

static void h1_quiesce(void *self, uint64_t now_ns)
{
    struct client_h1 *c = self;
    c->quiet = true;
    for (uint32_t i = 0; i < c->env.connections && !c->stopped; i++)
        slot_quiesce(&c->slots[i], now_ns);
}

static void h1_traffic(void *self, struct client_traffic *into)
{
    struct client_traffic *own = &((struct client_h1 *)self)->traffic;
    into->bytes_in += own->bytes_in;
    into->bytes_out += own->bytes_out;
    into->connects += own->connects;
    into->retries += own->retries;
    *own = (struct client_traffic){0};
}

static void h1_stop(void *self, uint64_t now_ns)
{
    struct client_h1 *c = self;
    if (c->slots == NULL || c->stopped)
        return;
    c->stopped = true;
    for (uint32_t i = 0; i < c->env.connections; i++) {
        struct slot *s = &c->slots[i];
        deadline_cancel(&s->deadline);
        conn_close(&s->conn);
        if (slot_in_flight(s)) {
            struct client_result r = {
                .outcome = OUTCOME_UNFINISHED, .done_ns = now_ns, .receive_ns = UINT64_MAX};
            slot_report(s, &r);
        }
        slot_move(s, SLOT_CLOSED);
    }
}

static void h1_fini(void *self)
{
    struct client_h1 *c = self;
    if (c->slots != NULL && !c->stopped) {
        c->stopped = true;
        for (uint32_t i = 0; i < c->env.connections; i++)
            conn_close(&c->slots[i].conn);
    }
    for (size_t i = 0; c->sessions != NULL && i < c->env.targets->n; i++)
        tls_session_clear(&c->sessions[i]);
    mem_free(c->sessions);
    mem_free(c->tls);
    mem_free(c->slots);
    mem_free(c->buffer);
    mem_free(c->indexed);
    memset(c, 0, sizeof *c);
}

static const struct client_ops ops = {
    .name = "h1",
    .state_size = sizeof(struct client_h1),
    .init = h1_init,
    .open = h1_open,
    .idle = h1_idle,
    .connected = h1_connected,
    .attempted = h1_attempted,
    .in_flight = h1_in_flight,
    .submit = h1_submit,
    .deadline = h1_deadline,
    .expire = h1_expire,
    .quiesce = h1_quiesce,
    .traffic = h1_traffic,
    .stop = h1_stop,
    .fini = h1_fini,
};

const struct client_ops *client_h1_ops(void)
{
    return &ops;
}
