/* SPDX-License-Identifier: MIT */
#include "agent/client/client_h1.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "agent/client/h1_slot.h"
#include "agent/client/h1_watch.h"
#include "common/clock.h"
#include "common/mem.h"

static bool any_tls(const struct targets *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->items[i]->tls != NULL)
            return true;
    return false;
}

/* So that `n` slots are spread over the targets as the requests are. */
static uint32_t first_target(const struct client_h1 *c, uint32_t slot)
{
    return c->env.requests->requests[reqset_pick(c->env.requests, slot)].origin;
}

static enum err check(const struct client_env *env, struct errmsg *msg)
{
    bool good = env->loop != NULL && env->connections > 0 && env->targets->n > 0;
    for (size_t i = 0; good && i < env->targets->n; i++)
        good = env->targets->items[i]->n > 0;
    if (good)
        return ERR_OK;
    return errmsg_set(msg, ERR_INVALID,
                      "HTTP/1.1 client: a loop, targets with an address and at least one "
                      "connection are needed");
}

static uint32_t serve_max(const struct client_rules *r)
{
    if (r->no_keepalive)
        return 1;
    return r->requests_per_connection > 0 ? r->requests_per_connection : UINT32_MAX;
}

static void init_rules(struct client_h1 *c)
{
    const struct client_rules *r = &c->env.rules;
    uint64_t connect_ns = r->connect_timeout_ns;
    c->n_slots = r->max_connections > c->env.connections ? r->max_connections : c->env.connections;
    c->serve_max = serve_max(r);
    c->impatient = connect_ns != 0 && connect_ns < c->env.timeout_ns;
    deadlines_init(&c->timeouts, c->env.timeout_ns);
    deadlines_init(&c->connects, connect_ns != 0 ? connect_ns : c->env.timeout_ns);
}

static void init_slots(struct client_h1 *c)
{
    size_t targets = c->env.targets->n;
    c->slots = mem_calloc(c->n_slots, sizeof *c->slots);
    c->sessions = mem_calloc(targets, sizeof *c->sessions);
    c->idle = mem_calloc(targets, sizeof *c->idle);
    c->turns = mem_calloc(targets, sizeof *c->turns);
    c->reached = mem_calloc(targets, sizeof *c->reached);
    if (any_tls(c->env.targets))
        c->tls = mem_calloc(c->n_slots, sizeof *c->tls);
    timer_heap_init(&c->pauses, c->n_slots);
    for (size_t i = 0; i < targets; i++)
        TAILQ_INIT(&c->idle[i]);
    for (size_t i = 0; i < SLOT_STATES; i++)
        TAILQ_INIT(&c->lists[i]);
    for (uint32_t i = 0; i < c->n_slots; i++) {
        struct slot *s = &c->slots[i];
        s->client = c;
        s->attempted = i >= c->env.connections; /* nobody waits for those */
        conn_init(&s->conn, loop_base(c->env.loop), slot_event, s);
        slot_aim(s, first_target(c, i));
    }
}

static enum err h1_init(void *self, const struct client_env *env, struct errmsg *msg)
{
    struct client_h1 *c = self;
    enum err e = check(env, msg);
    if (e != ERR_OK)
        return e;
    c->env = *env;
    c->buffer = mem_calloc(H1_READ_BUFFER, 1);
    c->scratch = mem_calloc(reqset_longest(env->requests), 1);
    sampling_init(&c->sampling);
    init_rules(c);
    init_slots(c);
    return h1_watch_init(c, msg);
}

static void h1_open(void *self, uint64_t now_ns)
{
    struct client_h1 *c = self;
    for (uint32_t i = 0; i < c->n_slots; i++) {
        struct slot *s = &c->slots[i];
        if (slot_is_cold(s))
            slot_attempted(s);
        slot_move(s, slot_is_cold(s) ? SLOT_COLD : SLOT_QUEUED);
    }
    h1_connect_queued(c, now_ns);
    if (c->slots_now[SLOTS_IDLE] > 0)
        c->env.ready(c->env.arg, now_ns);
}

static uint32_t h1_idle(const void *self)
{
    return ((const struct client_h1 *)self)->slots_now[SLOTS_IDLE];
}

static uint32_t h1_connected(const void *self)
{
    return ((const struct client_h1 *)self)->slots_now[SLOTS_CONNECTED];
}

static uint32_t h1_attempted(const void *self)
{
    return ((const struct client_h1 *)self)->n_attempted;
}

static uint32_t h1_in_flight(const void *self)
{
    return ((const struct client_h1 *)self)->slots_now[SLOTS_IN_FLIGHT];
}

static void slot_take(struct slot *s, const struct request *r, uint64_t tag, uint64_t due_ns)
{
    s->request = r;
    s->tag = tag;
    s->due_ns = due_ns;
    s->attempts = 0;
    s->lost_error = 0;
}

/* No connection to the request's target is idle. */
static void submit_cold(struct client_h1 *c, const struct request *r, uint64_t tag, uint64_t due_ns,
                        uint64_t now_ns)
{
    struct slot *s = h1_pick_other(c);
    slot_take(s, r, tag, due_ns);
    slot_begin(s, now_ns);
    conn_close(&s->conn);
    slot_move(s, SLOT_OPENING);
    slot_aim(s, r->origin);
    slot_connect(s, now_ns);
}

static void h1_submit(void *self, uint64_t tag, uint64_t due_ns, uint64_t now_ns)
{
    struct client_h1 *c = self;
    const struct request *r = &c->env.requests->requests[reqset_pick(c->env.requests, tag)];
    struct slot *s = TAILQ_FIRST(&c->idle[r->origin]);
    if (s == NULL) {
        submit_cold(c, r, tag, due_ns, now_ns);
        return;
    }
    slot_take(s, r, tag, due_ns);
    slot_start(s, now_ns);
}

/* ---- deadlines ---- */

#define OWNER(pointer, member)                                                                     \
    ((struct slot *)(void *)((char *)(pointer)-offsetof(struct slot, member)))

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t h1_deadline(const void *self)
{
    const struct client_h1 *c = self;
    const struct slot *unopened;
    uint64_t timeout_ns = deadlines_next(&c->timeouts);
    if ((unopened = TAILQ_FIRST(&c->lists[SLOT_UNOPENED])) != NULL)
        return unopened->sent_ns;
    return sooner(timeout_ns, sooner(deadlines_next(&c->connects), timer_heap_next(&c->pauses)));
}

static void slot_timed_out(struct slot *s, uint64_t now_ns)
{
    if (s->state == SLOT_OPENING)
        (void)slot_next_address(s, ETIMEDOUT);
    slot_fail(s, OUTCOME_TIMEOUT, 0, now_ns);
}

static void h1_expire(void *self, uint64_t now_ns)
{
    struct client_h1 *c = self;
    struct deadline *d;
    struct heap_timer *t;
    struct slot *s;
    while (!c->stopped && (d = deadlines_pop(&c->timeouts, now_ns)) != NULL)
        slot_timed_out(OWNER(d, deadline), now_ns);
    while (!c->stopped && (d = deadlines_pop(&c->connects, now_ns)) != NULL)
        slot_connect_timed_out(OWNER(d, connecting), now_ns);
    while (!c->stopped && (t = timer_heap_pop(&c->pauses, now_ns)) != NULL)
        slot_resume(OWNER(t, pause), now_ns);
    while (!c->stopped && (s = TAILQ_FIRST(&c->lists[SLOT_UNOPENED])) != NULL)
        slot_unopened(s, now_ns);
    h1_connect_queued(c, now_ns);
}

/* ---- the end ---- */

static void slot_let_go(struct slot *s)
{
    deadline_cancel(&s->deadline);
    deadline_cancel(&s->connecting);
    timer_heap_cancel(&s->client->pauses, &s->pause);
    conn_close(&s->conn);
}

static void slot_quiesce(struct slot *s, uint64_t now_ns)
{
    static const bool waiting[SLOT_STATES] = {
        [SLOT_COLD] = true,    [SLOT_QUEUED] = true,   [SLOT_CONNECTING] = true,
        [SLOT_BACKOFF] = true, [SLOT_THINKING] = true,
    };
    if (s->state == SLOT_RETRYING) {
        slot_fail(s, OUTCOME_READ, s->lost_error, now_ns);
    } else if (s->state == SLOT_OPENING || s->state == SLOT_UNOPENED) {
        slot_fail(s, OUTCOME_UNFINISHED, 0, now_ns);
    } else if (waiting[s->state]) {
        slot_let_go(s);
        slot_move(s, SLOT_CLOSED);
    }
}

static void h1_quiesce(void *self, uint64_t now_ns)
{
    struct client_h1 *c = self;
    c->quiet = true;
    for (uint32_t i = 0; i < c->n_slots && !c->stopped; i++)
        slot_quiesce(&c->slots[i], now_ns);
}

static void h1_traffic(void *self, struct client_traffic *into)
{
    struct client_traffic *own = &((struct client_h1 *)self)->traffic;
    into->bytes_in += own->bytes_in;
    into->bytes_out += own->bytes_out;
    into->connects += own->connects;
    into->retries += own->retries;
    into->reused += own->reused;
    into->head_bytes += own->head_bytes;
    into->body_bytes += own->body_bytes;
    into->redirects += own->redirects;
    *own = (struct client_traffic){0};
}

static void h1_stop(void *self, uint64_t now_ns)
{
    struct client_h1 *c = self;
    if (c->slots == NULL || c->stopped)
        return;
    c->stopped = true;
    for (uint32_t i = 0; i < c->n_slots; i++) {
        struct slot *s = &c->slots[i];
        slot_let_go(s);
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
        for (uint32_t i = 0; i < c->n_slots; i++)
            conn_close(&c->slots[i].conn);
    }
    for (size_t i = 0; c->sessions != NULL && i < c->env.targets->n; i++)
        tls_session_clear(&c->sessions[i]);
    timer_heap_clear(&c->pauses);
    h1_watch_clear(c);
    mem_free(c->sessions);
    mem_free(c->idle);
    mem_free(c->turns);
    mem_free(c->reached);
    mem_free(c->tls);
    mem_free(c->slots);
    mem_free(c->buffer);
    mem_free(c->scratch);
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
