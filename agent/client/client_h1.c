/* SPDX-License-Identifier: MIT */
#include "agent/client/client_h1.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "agent/client/conn.h"
#include "agent/client/deadlines.h"
#include "agent/client/h1_response.h"
#include "common/clock.h"
#include "common/mem.h"

#define READ_BUFFER (256u << 10)
#define BACKOFF_NS  (100 * NS_PER_MS)

/*
 * A slot is one place for a connection; it carries at most one request.
 *
 *   CLOSED -> CONNECTING <-> BACKOFF
 *                 |    ^
 *                 v    |
 *               IDLE <-> BUSY <-> RETRYING      (RETRYING: connecting with the request kept)
 *
 * SETTLING is a slot whose request's result is being reported: neither busy nor idle.
 */
enum slot_state {
    SLOT_CLOSED,
    SLOT_CONNECTING,
    SLOT_BACKOFF,
    SLOT_IDLE,
    SLOT_BUSY,
    SLOT_RETRYING,
    SLOT_SETTLING,
    SLOT_STATES
};

#define BIT(state) (1u << SLOT_##state)

static const struct {
    unsigned next; /* allowed moves */
    bool connected, in_flight;
} states[SLOT_STATES] = {
    [SLOT_CLOSED] = {BIT(CONNECTING) | BIT(CLOSED), false, false},
    [SLOT_CONNECTING] = {BIT(IDLE) | BIT(BACKOFF) | BIT(CLOSED), false, false},
    [SLOT_BACKOFF] = {BIT(CONNECTING) | BIT(CLOSED), false, false},
    [SLOT_IDLE] = {BIT(BUSY) | BIT(CONNECTING) | BIT(BACKOFF) | BIT(CLOSED), true, false},
    [SLOT_BUSY] = {BIT(SETTLING) | BIT(RETRYING), true, true},
    [SLOT_RETRYING] = {BIT(BUSY) | BIT(SETTLING), false, true},
    [SLOT_SETTLING] = {BIT(IDLE) | BIT(CONNECTING) | BIT(BACKOFF) | BIT(CLOSED), false, false},
};

struct client_h1;

struct slot {
    struct client_h1 *client;
    struct conn conn;
    enum slot_state state;
    struct deadline deadline; /* of the request, the connect attempt or the backoff */
    TAILQ_ENTRY(slot) idle_link;
    uint32_t addr;   /* index of the address in use */
    uint32_t walked; /* addresses that failed in a row */
    uint32_t served; /* responses completed on this connection, saturating is not needed */
    bool attempted;  /* the first attempt has ended */
    /* The request. */
    struct h1_response response;
    uint64_t tag, due_ns, sent_ns;
    size_t written;
    uint32_t attempts;
    bool answered;   /* a byte of the response has come */
    int write_error; /* errno of a failed send, handled on the next turn */
    int lost_error;  /* errno that caused the retry */
};

TAILQ_HEAD(slot_list, slot);

struct client_h1 {
    struct client_env env;
    struct slot *slots;
    struct slot_list idle;
    struct deadlines timeouts; /* requests and connect attempts */
    struct deadlines backoffs;
    uint32_t n_idle, n_connected, n_attempted, n_in_flight;
    struct client_traffic traffic;
    bool quiet; /* nothing more is opened or repeated */
    bool stopped;
    char *buffer;  /* READ_BUFFER bytes, shared by all slots */
    char *indexed; /* own copy of the request in test mode, else NULL */
};

static void slot_connect(struct slot *s, uint64_t now_ns);

static void slot_move(struct slot *s, enum slot_state to)
{
    struct client_h1 *c = s->client;
    if ((states[s->state].next & (1u << to)) == 0)
        abort(); /* a bug of ours, never the effect of foreign bytes */
    if (s->state == SLOT_IDLE) {
        TAILQ_REMOVE(&c->idle, s, idle_link);
        c->n_idle--;
    }
    c->n_connected += states[to].connected - states[s->state].connected;
    c->n_in_flight += states[to].in_flight - states[s->state].in_flight;
    s->state = to;
    if (to == SLOT_IDLE) {
        TAILQ_INSERT_TAIL(&c->idle, s, idle_link);
        c->n_idle++;
    }
}

static void slot_attempted(struct slot *s)
{
    s->client->n_attempted += s->attempted ? 0 : 1;
    s->attempted = true;
}

/* ---- completing a request ---- */

static void slot_report(struct slot *s, struct client_result *r)
{
    deadline_cancel(&s->deadline);
    r->tag = s->tag;
    r->due_ns = s->due_ns;
    r->sent_ns = s->sent_ns;
    r->attempts = s->attempts;
    slot_move(s, SLOT_SETTLING);
    s->client->env.done(s->client->env.arg, r);
}

/* The connection is of no further use: report, then replace it at once. */
static void slot_fail(struct slot *s, enum outcome outcome, int error, uint64_t now_ns)
{
    struct client_result r = {
        .outcome = outcome, .error = error, .done_ns = now_ns, .receive_ns = UINT64_MAX};
    conn_close(&s->conn);
    slot_report(s, &r);
    if (!s->client->stopped)
        slot_connect(s, now_ns);
}

static void slot_complete(struct slot *s, uint64_t now_ns, uint64_t receive_ns, bool reuse)
{
    struct client_h1 *c = s->client;
    struct client_result r = {.outcome = OUTCOME_OK,
                              .status = s->response.status,
                              .done_ns = now_ns,
                              .receive_ns = receive_ns};
    s->served++;
    if (!reuse)
        conn_close(&s->conn);
    slot_report(s, &r);
    if (c->stopped)
        return;
    if (!reuse) {
        slot_connect(s, now_ns);
        return;
    }
    slot_move(s, SLOT_IDLE);
    c->env.ready(c->env.arg, now_ns);
}

/* ---- sending ---- */

static const char *request_bytes(const struct slot *s)
{
    const struct client_h1 *c = s->client;
    if (c->indexed == NULL)
        return c->env.request->bytes;
    /* One copy for all slots: the index is set again before each (also partial) send. */
    request_put_index(c->indexed + c->env.request->index_at, s->tag);
    return c->indexed;
}

/* A failure is handled on the next turn of the loop: submit must not complete a request, and the
 * response may be there already (413 and close). */
static void slot_write(struct slot *s)
{
    size_t len = s->client->env.request->len;
    ssize_t n = conn_send(&s->conn, request_bytes(s) + s->written, len - s->written);
    if (n >= 0) {
        s->written += (size_t)n;
        s->client->traffic.bytes_out += (uint64_t)n;
    } else if (n != -EAGAIN) {
        s->write_error = (int)-n;
        conn_poke(&s->conn);
        return;
    }
    if (s->written < len)
        conn_want_write(&s->conn);
}

static void slot_send(struct slot *s)
{
    slot_move(s, SLOT_BUSY);
    h1_response_start(&s->response, s->client->env.request->head_method);
    s->written = 0;
    s->answered = false;
    s->write_error = 0;
    s->attempts++;
    s->sent_ns = clock_mono_ns();
    deadlines_start(&s->client->timeouts, &s->deadline, s->sent_ns);
    slot_write(s);
}

/* ---- connecting ---- */

static enum client_fault fault_of(int error)
{
    static const struct {
        int error;
        enum client_fault fault;
    } own[] = {
        {EMFILE, FAULT_FD_LIMIT}, {ENFILE, FAULT_FD_LIMIT}, {EADDRNOTAVAIL, FAULT_PORTS},
        {ENOBUFS, FAULT_MEMORY},  {ENOMEM, FAULT_MEMORY},
    };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (own[i].error == error)
            return own[i].fault;
    return FAULT_CONNECT;
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
    slot_move(s, SLOT_BACKOFF);
    deadlines_start(&c->backoffs, &s->deadline, now_ns);
}

/* On to the next address; false when all have been tried, or when the fault is not the address's.
 */
static bool slot_next_address(struct slot *s, int error)
{
    size_t n = s->client->env.target->n;
    if (fault_of(error) != FAULT_CONNECT)
        return false;
    s->addr = (uint32_t)((s->addr + 1) % n);
    return ++s->walked < n && error != ETIMEDOUT;
}

/* From any state without an open socket; keeps RETRYING, else CONNECTING. */
static void slot_connect(struct slot *s, uint64_t now_ns)
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
        error = conn_open(&s->conn, &c->env.target->addrs[s->addr]);
    while (error != 0 && slot_next_address(s, error));
    if (error != 0)
        slot_connect_failed(s, error, now_ns);
}

static void slot_opened(struct slot *s)
{
    struct client_h1 *c = s->client;
    int error = conn_opened(&s->conn);
    uint64_t now_ns = clock_mono_ns();
    if (error != 0) {
        conn_close(&s->conn);
        if (slot_next_address(s, error))
            slot_connect(s, now_ns);
        else
            slot_connect_failed(s, error, now_ns);
        return;
    }
    c->traffic.connects++;
    slot_attempted(s);
    s->walked = 0;
    s->served = 0;
    if (s->state == SLOT_RETRYING) {
        c->traffic.retries++;
        slot_send(s);
        return;
    }
    deadline_cancel(&s->deadline);
    slot_move(s, SLOT_IDLE);
    c->env.ready(c->env.arg, now_ns);
}

/* ---- reading ---- */

/* An idle connection ended. At once a new one; but a server that closes without having served is
 * not hammered with connects. */
static void slot_idle_lost(struct slot *s, uint64_t now_ns)
{
    conn_close(&s->conn);
    if (s->served > 0) {
        slot_connect(s, now_ns);
        return;
    }
    slot_move(s, SLOT_BACKOFF);
    deadlines_start(&s->client->backoffs, &s->deadline, now_ns);
}

/* RFC 9112 section 9.3.1: the server may close a persistent connection at any time, so a request
 * that met the close is sent again, once; if it may have been acted on, only when that is harmless.
 */
static bool may_retry(const struct slot *s)
{
    return !s->client->quiet && !s->answered && s->served > 0 && s->attempts == 1 &&
           (s->client->env.request->idempotent || s->written == 0);
}

/* End of file (error 0) or a socket error. */
static void slot_lost(struct slot *s, int error, uint64_t now_ns)
{
    if (s->state == SLOT_IDLE) {
        slot_idle_lost(s, now_ns);
    } else if (error == 0 && h1_response_eof(&s->response) == H1_COMPLETE) {
        slot_complete(s, now_ns, UINT64_MAX, false);
    } else if (may_retry(s)) {
        s->lost_error = error;
        conn_close(&s->conn);
        slot_move(s, SLOT_RETRYING);
        slot_connect(s, now_ns);
    } else if (s->written < s->client->env.request->len) {
        int why = s->write_error != 0 ? s->write_error : error;
        slot_fail(s, OUTCOME_WRITE, why != 0 ? why : EPIPE, now_ns);
    } else {
        slot_fail(s, OUTCOME_READ, error, now_ns);
    }
}

static uint64_t receive_delay(uint64_t kernel_ns)
{
    return kernel_ns == 0 ? UINT64_MAX : clock_elapsed(kernel_ns, clock_wall_ns());
}

static void report_extra(struct slot *s)
{
    const struct client_env *env = &s->client->env;
    if (env->fault != NULL)
        env->fault(env->arg, FAULT_EXTRA_BYTES, 0);
}

static void slot_bytes(struct slot *s, const struct conn_read *got, uint64_t now_ns)
{
    struct client_h1 *c = s->client;
    size_t n = (size_t)got->n, used;
    c->traffic.bytes_in += n;
    if (s->state == SLOT_IDLE) {
        report_extra(s);
        slot_idle_lost(s, now_ns);
        return;
    }
    s->answered = true;
    enum h1_state state = h1_response_feed(&s->response, c->buffer, n, &used);
    if (state == H1_BROKEN) {
        slot_fail(s, OUTCOME_PROTOCOL, (int)s->response.error, now_ns);
    } else if (state == H1_COMPLETE) {
        uint64_t receive_ns = receive_delay(got->kernel_ns);
        if (used < n)
            report_extra(s);
        slot_complete(s, now_ns, receive_ns,
                      s->response.keep_alive && used == n && !c->env.request->close_after &&
                          s->written == c->env.request->len);
    }
}

static void slot_readable(struct slot *s)
{
    struct conn_read got;
    conn_recv(&s->conn, s->client->buffer, READ_BUFFER, &got);
    uint64_t now_ns = clock_mono_ns();
    if (got.n > 0)
        slot_bytes(s, &got, now_ns);
    else if (got.n != -EAGAIN)
        slot_lost(s, (int)-got.n, now_ns);
    else if (s->state == SLOT_BUSY && s->write_error != 0)
        slot_lost(s, s->write_error, now_ns);
}

static void on_conn(void *arg, enum conn_event ev)
{
    struct slot *s = arg;
    if (ev == CONN_READABLE)
        slot_readable(s);
    else if (s->state == SLOT_BUSY)
        slot_write(s);
    else
        slot_opened(s);
}

/* ---- deadlines ---- */

static struct slot *slot_of(struct deadline *d)
{
    return (struct slot *)(void *)((char *)d - offsetof(struct slot, deadline));
}

static void slot_timed_out(struct slot *s, uint64_t now_ns)
{
    if (s->state != SLOT_CONNECTING) {
        slot_fail(s, OUTCOME_TIMEOUT, 0, now_ns);
        return;
    }
    conn_close(&s->conn);
    (void)slot_next_address(s, ETIMEDOUT);
    slot_connect_failed(s, ETIMEDOUT, now_ns);
}

/* ---- operations ---- */

static enum err h1_init(void *self, const struct client_env *env, struct errmsg *msg)
{
    struct client_h1 *c = self;
    if (env->loop == NULL || env->connections == 0 || env->target->n == 0)
        return errmsg_set(msg, ERR_INVALID,
                          "HTTP/1.1 client: a loop, a target and at least one "
                          "connection are needed");
    c->env = *env;
    c->slots = mem_calloc(env->connections, sizeof *c->slots);
    c->buffer = mem_calloc(READ_BUFFER, 1);
    if (env->request->index_at != SIZE_MAX)
        c->indexed = mem_dup(env->request->bytes, env->request->len);
    TAILQ_INIT(&c->idle);
    deadlines_init(&c->timeouts, env->timeout_ns);
    deadlines_init(&c->backoffs, BACKOFF_NS);
    for (uint32_t i = 0; i < env->connections; i++) {
        struct slot *s = &c->slots[i];
        s->client = c;
        s->addr = (uint32_t)(i % env->target->n);
        conn_init(&s->conn, loop_base(env->loop), on_conn, s);
    }
    return ERR_OK;
}

static void h1_open(void *self, uint64_t now_ns)
{
    struct client_h1 *c = self;
    for (uint32_t i = 0; i < c->env.connections && !c->stopped; i++)
        slot_connect(&c->slots[i], now_ns);
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
    (void)now_ns; /* the send has its own stamp, right before the system call */
    struct slot *s = TAILQ_FIRST(&((struct client_h1 *)self)->idle);
    s->tag = tag;
    s->due_ns = due_ns;
    s->attempts = 0;
    s->lost_error = 0;
    slot_send(s);
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
        slot_connect(slot_of(d), now_ns);
}

static void slot_quiesce(struct slot *s, uint64_t now_ns)
{
    if (s->state == SLOT_RETRYING) {
        slot_fail(s, OUTCOME_READ, s->lost_error, now_ns);
    } else if (s->state == SLOT_CONNECTING || s->state == SLOT_BACKOFF) {
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
    *own = (struct client_traffic){0, 0, 0, 0};
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
        if (states[s->state].in_flight) {
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
