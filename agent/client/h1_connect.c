/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "agent/client/h1_slot.h"
#include "agent/client/h1_watch.h"
#include "agent/client/tls_error.h"
#include "common/clock.h"

/*
 * How slots get their connections. First attempts, and those that follow a failed one, wait in a
 * queue with room for CONNECTS_MAX at a time: ten thousand at once would overrun the server's
 * backlog, and it is not their connecting that is to be measured. A connection that replaces one
 * does not wait: with `Connection: close` it is part of the load.
 */
#define CONNECTS_MAX 128

static enum client_fault fault_of(int error)
{
    static const struct {
        int error;
        enum client_fault fault;
    } own[] = {
        {EMFILE, FAULT_FD_LIMIT}, {ENFILE, FAULT_FD_LIMIT}, {EADDRNOTAVAIL, FAULT_PORTS},
        {ENOBUFS, FAULT_MEMORY},  {ENOMEM, FAULT_MEMORY},   {CONN_FORBIDDEN, FAULT_POLICY},
    };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (own[i].error == error)
            return own[i].fault;
    return tls_error_is(error) ? FAULT_TLS : FAULT_CONNECT;
}

/* Another address may do better. */
static bool is_the_addresses(enum client_fault f)
{
    return f == FAULT_CONNECT || f == FAULT_TLS;
}

void slot_attempted(struct slot *s)
{
    s->client->n_attempted += s->attempted ? 0 : 1;
    s->attempted = true;
}

/* Nobody answers there: the others to that target need not all find that out one after the other.
 */
static void give_up_queued(struct client_h1 *c, const struct slot *failed)
{
    struct slot *next;
    for (struct slot *s = TAILQ_FIRST(&c->lists[SLOT_QUEUED]); s != NULL; s = next) {
        next = TAILQ_NEXT(s, link);
        if (s->aim != failed->aim)
            continue;
        slot_attempted(s);
        s->failures = failed->failures;
        slot_move(s, SLOT_BACKOFF);
        timer_heap_start(&c->pauses, &s->pause, failed->pause.at_ns);
    }
}

/* Of the request that the connection was for. */
static void report_failed(struct slot *s, int error, uint64_t now_ns)
{
    struct client_result r = {.outcome = OUTCOME_READ,
                              .error = s->lost_error,
                              .done_ns = now_ns,
                              .receive_ns = UINT64_MAX};
    if (s->state != SLOT_RETRYING) {
        r.outcome = tls_error_is(error) ? OUTCOME_TLS : OUTCOME_CONNECT;
        r.error = error == CONN_FORBIDDEN ? EACCES : error;
    }
    slot_report(s, &r);
}

/* What a request's own connection met is that request's failure; if it is the generator's or the
 * policy's doing, that is told all the same. */
static void report_fault(struct slot *s, int error)
{
    const struct client_env *env = &s->client->env;
    enum client_fault f = fault_of(error);
    bool own = s->state == SLOT_OPENING || s->state == SLOT_UNOPENED;
    if (env->fault != NULL && !(own && is_the_addresses(f)))
        env->fault(env->arg, f, error);
}

/* An attempt has failed on every address (or for a reason of our own): wait a little. */
static void slot_connect_failed(struct slot *s, int error, uint64_t now_ns)
{
    struct client_h1 *c = s->client;
    s->walked = 0;
    s->failures++;
    deadline_cancel(&s->connecting);
    slot_attempted(s);
    report_fault(s, error);
    if (slot_in_flight(s)) {
        report_failed(s, error, now_ns);
        if (c->stopped)
            return;
        if (c->env.rules.think_max_ns != 0)
            slot_think(s, now_ns);
    }
    slot_back_off(s, now_ns);
    if (!c->reached[s->aim] && is_the_addresses(fault_of(error)))
        give_up_queued(c, s);
    h1_connect_queued(c, now_ns);
}

bool slot_next_address(struct slot *s, int error)
{
    uint32_t n = (uint32_t)target_now(s->target)->n;
    if (!is_the_addresses(fault_of(error)))
        return false;
    s->addr++;
    return ++s->walked < n && error != ETIMEDOUT;
}

static int slot_dial(struct slot *s)
{
    if (s->client->env.rules.phases)
        s->connect_ns = clock_mono_ns();
    const struct target *t = target_now(s->target); /* its name may have been looked up again */
    s->to = &t->addrs[s->addr % t->n];
    return conn_open(&s->conn, t, s->to);
}

/* From any state without an open socket; keeps what is in flight so, else CONNECTING. */
void slot_connect(struct slot *s, uint64_t now_ns)
{
    struct client_h1 *c = s->client;
    if (c->quiet) {
        slot_move(s, SLOT_CLOSED);
        return;
    }
    if (s->state != SLOT_CONNECTING && !slot_in_flight(s))
        slot_move(s, SLOT_CONNECTING);
    if (s->connecting.list == NULL && (s->state == SLOT_CONNECTING || c->impatient))
        deadlines_start(&c->connects, &s->connecting, now_ns);
    int error;
    do
        error = slot_dial(s);
    while (error != 0 && slot_next_address(s, error));
    if (error == 0)
        return;
    if (s->state == SLOT_OPENING) {
        s->lost_error = error;
        slot_move(s, SLOT_UNOPENED);
    } else {
        slot_connect_failed(s, error, now_ns);
    }
}

void slot_unopened(struct slot *s, uint64_t now_ns)
{
    slot_connect_failed(s, s->lost_error, now_ns);
}

/* One more connection, for whatever it was opened. */
static void slot_count(struct slot *s)
{
    struct client_h1 *c = s->client;
    if (s->conn.tls != NULL && c->env.shaken != NULL)
        c->env.shaken(c->env.arg, &s->conn.tls->handshake);
    if (c->env.reached != NULL)
        c->env.reached(c->env.arg, s->to);
    c->traffic.connects++;
    c->reached[s->aim] = true;
    slot_attempted(s);
    deadline_cancel(&s->connecting);
    s->walked = 0;
    s->failures = 0;
    s->served = 0;
    s->addr++; /* the next connection takes the next address */
}

/* The time of a hop is that of the request which it is part of. */
static void slot_retry(struct slot *s, uint64_t now_ns)
{
    if (!slot_hops(s)) {
        slot_start(s, now_ns);
        return;
    }
    s->attempts++;
    slot_send(s, now_ns);
}

static void slot_use(struct slot *s, uint64_t now_ns)
{
    struct client_h1 *c = s->client;
    slot_count(s);
    if (s->state == SLOT_CONNECTING) {
        slot_rest(s, now_ns);
        h1_connect_queued(c, now_ns);
        return;
    }
    if (s->state == SLOT_RETRYING) {
        c->traffic.retries++;
        slot_retry(s, now_ns);
    } else {
        slot_send(s, now_ns);
    }
}

/* TCP's part of opening, once a connection. */
static void report_opened(struct slot *s)
{
    const struct client_env *env = &s->client->env;
    if (env->opened != NULL)
        env->opened(env->arg, clock_elapsed(s->connect_ns, clock_mono_ns()));
    s->connect_ns = 0;
}

void slot_opened(struct slot *s)
{
    int error = conn_opened(&s->conn);
    if (s->connect_ns != 0 && (error == 0 || error == CONN_PENDING))
        report_opened(s);
    if (error == CONN_PENDING)
        return;
    uint64_t now_ns = clock_mono_ns();
    if (error == 0) {
        slot_use(s, now_ns);
        return;
    }
    conn_close(&s->conn);
    if (slot_next_address(s, error))
        slot_connect(s, now_ns);
    else
        slot_connect_failed(s, error, now_ns);
}

void slot_connect_timed_out(struct slot *s, uint64_t now_ns)
{
    int error = conn_shaking_hands(&s->conn) ? tls_error_system(ETIMEDOUT) : ETIMEDOUT;
    conn_close(&s->conn);
    (void)slot_next_address(s, ETIMEDOUT);
    slot_connect_failed(s, error, now_ns);
}

void h1_connect_queued(struct client_h1 *c, uint64_t now_ns)
{
    if (c->pulling) /* a failure at once: the loop below goes on with the next */
        return;
    c->pulling = true;
    struct slot *s;
    while (c->slots_now[SLOTS_CONNECTING] < CONNECTS_MAX && !c->stopped &&
           (s = TAILQ_FIRST(&c->lists[SLOT_QUEUED])) != NULL)
        slot_connect(s, now_ns);
    c->pulling = false;
}
