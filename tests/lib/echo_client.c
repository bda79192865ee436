/* SPDX-License-Identifier: MIT */
#include "tests/lib/echo_client.h"

#include <stdlib.h>

#include "agent/client/client_null.h"
#include "common/clock.h"
#include "common/mem.h"

/* Room for client_null's state at the begin of ours. */
#define NULL_STATE_MAX 512

struct answer {
    uint64_t tag;
    uint64_t at_ns;
};

struct echo {
    _Alignas(max_align_t) unsigned char null[NULL_STATE_MAX];
    struct answer *ring; /* in order of at_ns: the delay is constant */
    size_t head, n, cap;
};

static void on_submitted(void *arg, uint64_t tag, uint64_t due_ns, uint64_t sent_ns)
{
    (void)due_ns;
    struct echo *e = arg;
    if (e->n == e->cap) /* more answers than connections: the timeout is below the delay */
        abort();        /* (check's own assertions allocate, and are for the main thread) */
    e->ring[(e->head + e->n++) % e->cap] = (struct answer){tag, sent_ns + ECHO_DELAY_NS};
}

static enum err echo_init(void *self, const struct client_env *env, struct errmsg *msg)
{
    struct echo *e = self;
    if (client_null_ops()->state_size > NULL_STATE_MAX)
        return errmsg_set(msg, ERR_TOO_BIG, "client_null has grown over NULL_STATE_MAX");
    enum err err = client_null_ops()->init(e->null, env, msg);
    if (err != ERR_OK)
        return err;
    e->cap = env->connections;
    e->ring = mem_calloc(e->cap, sizeof *e->ring);
    struct client_null_hooks hooks = {.arg = e, .submitted = on_submitted};
    client_null_set_hooks(e->null, &hooks);
    return ERR_OK;
}

static void echo_open(void *self, uint64_t now_ns)
{
    client_null_ops()->open(((struct echo *)self)->null, now_ns);
}

static uint32_t echo_idle(const void *self)
{
    return client_null_ops()->idle(((const struct echo *)self)->null);
}

static uint32_t echo_connected(const void *self)
{
    return client_null_ops()->connected(((const struct echo *)self)->null);
}

static uint32_t echo_attempted(const void *self)
{
    return client_null_ops()->attempted(((const struct echo *)self)->null);
}

static uint32_t echo_in_flight(const void *self)
{
    return client_null_ops()->in_flight(((const struct echo *)self)->null);
}

static void echo_submit(void *self, uint64_t tag, uint64_t due_ns, uint64_t now_ns)
{
    client_null_ops()->submit(((struct echo *)self)->null, tag, due_ns, now_ns);
}

static uint64_t echo_deadline(const void *self)
{
    const struct echo *e = self;
    uint64_t at_ns = client_null_ops()->deadline(e->null);
    return e->n > 0 && e->ring[e->head].at_ns < at_ns ? e->ring[e->head].at_ns : at_ns;
}

static void echo_expire(void *self, uint64_t now_ns)
{
    struct echo *e = self;
    client_null_ops()->expire(e->null, now_ns);
    while (e->n > 0 && e->ring[e->head].at_ns <= now_ns) {
        uint64_t tag = e->ring[e->head].tag;
        e->head = (e->head + 1) % e->cap;
        e->n--;
        client_null_complete(e->null, tag, 200, now_ns);
    }
}

static void echo_quiesce(void *self, uint64_t now_ns)
{
    client_null_ops()->quiesce(((struct echo *)self)->null, now_ns);
}

static void echo_traffic(void *self, struct client_traffic *into)
{
    client_null_ops()->traffic(((struct echo *)self)->null, into);
}

static void echo_stop(void *self, uint64_t now_ns)
{
    struct echo *e = self;
    e->n = 0;
    client_null_ops()->stop(e->null, now_ns);
}

static void echo_fini(void *self)
{
    struct echo *e = self;
    client_null_ops()->fini(e->null);
    mem_free(e->ring);
}

static const struct client_ops echo_ops = {
    .name = "echo",
    .state_size = sizeof(struct echo),
    .init = echo_init,
    .open = echo_open,
    .idle = echo_idle,
    .connected = echo_connected,
    .attempted = echo_attempted,
    .in_flight = echo_in_flight,
    .submit = echo_submit,
    .deadline = echo_deadline,
    .expire = echo_expire,
    .quiesce = echo_quiesce,
    .traffic = echo_traffic,
    .stop = echo_stop,
    .fini = echo_fini,
};

const struct client_ops *echo_client_ops(void)
{
    return &echo_ops;
}
