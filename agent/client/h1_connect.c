/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "agent/client/h1_slot.h"
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

static void slot_attempted(struct slot *s)
{
    s->client->n_attempted += s->attempted ? 0 : 1;
    s->attempted = true;
}

void slot_back_off(struct slot *s, uint64_t now_ns)
{
    slot_move(s, SLOT_BACKOFF);
    deadlines_start(&s->client->backoffs, &s->deadline, now_ns);
}

void slot_queue(struct slot *s)
{
    slot_move(s, SLOT_QUEUED);
}

/* Nobody answers there: the others need not all find that out one after the other. */
static void give_up_queued(struct client_h1 *c, uint64_t now_ns)
{
    struct slot *s;
    while ((s = TAILQ_FIRST(&c->queued)) != NULL) {
        slot_attempted(s);
        slot_back_off(s, now_ns);
    }
}

/* An attempt has failed on every address (or for a reason of our own): wait a little. */
static void slot_connect_failed(struct slot *s, int error, uint64_t now_ns)
{
    struct client_h1 *c = s->client;
    s->walked = 0;
    slot_attempted(s);
    if (c->env.fault != NULL)
        c->env.fault(c->env.arg, fault_of(error), error);
    if (s->state == SLOT_RETRYING) {
        struct client_result r = {.outcome = OUTCOME_READ,
                                  .error = s->lost_error,
                                  .done_ns = now_ns,
                                  .receive_ns = UINT64_MAX};
        slot_report(s, &r);
    }
    if (c->stopped)
        return;
    slot_back_off(s, now_ns);
    if (!c->reached && is_the_addresses(fault_of(error)))
        give_up_queued(c, now_ns);
    h1_connect_queued(c, now_ns);
}

/* On to the next address; false when all have been tried, or when the fault is not the address's.
 */
static bool slot_next_address(struct slot *s, int error)
{
    size_t n = s->target->n;
    if (!is_the_addresses(fault_of(error)))
        return false;
    s->addr = (uint32_t)((s->addr + 1) % n);
    return ++s->walked < n && error != ETIMEDOUT;
}

/* From any state without an open socket; keeps RETRYING, else CONNECTING. */
void slot_connect(struct slot *s, uint64_t now_ns)
{
    struct client_h1 *c = s->client;
    if (c->quiet) {
        slot_move(s, SLOT_CLOSED);
        return;
    }
    if (s->state != SLOT_RETRYING && s->state != SLOT_CONNECTING) {
        slot_move(s, SLOT_CONNECTING);
        deadlines_start(&c->timeouts, &s->deadline, now_ns);
    }
    int error;
    do
        error = conn_open(&s->conn, s->target, &s->target->addrs[s->addr]);
    while (error != 0 && slot_next_address(s, error));
    if (error != 0)
        slot_connect_failed(s, error, now_ns);
}

void slot_opened(struct slot *s)
{
    struct client_h1 *c = s->client;
    int error = conn_opened(&s->conn);
    if (error == CONN_PENDING)
        return;
    uint64_t now_ns = clock_mono_ns();
    if (error != 0) {
        conn_close(&s->conn);
        if (slot_next_address(s, error))
            slot_connect(s, now_ns);
        else
            slot_connect_failed(s, error, now_ns);
        return;
    }
    if (s->conn.tls != NULL && c->env.shaken != NULL)
        c->env.shaken(c->env.arg, &s->conn.tls->handshake);
    c->traffic.connects++;
    c->reached = true;
    slot_attempted(s);
    s->walked = 0;
    s->served = 0;
    if (s->state == SLOT_RETRYING) {
        c->traffic.retries++;
        slot_send(s, now_ns);
        return;
    }
    deadline_cancel(&s->deadline);
    slot_move(s, SLOT_IDLE);
    h1_connect_queued(c, now_ns);
    c->env.ready(c->env.arg, now_ns);
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
    while (c->n_connecting < CONNECTS_MAX && !c->stopped && (s = TAILQ_FIRST(&c->queued)) != NULL)
        slot_connect(s, now_ns);
    c->pulling = false;
}
