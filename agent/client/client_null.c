/* SPDX-License-Identifier: MIT */
#include "agent/client/client_null.h"

#include <sys/queue.h>

#include "common/clock.h"
#include "common/mem.h"

/* Each slot is in exactly one list; every list is in FIFO order, and because the timeout and the
 * reconnect time are constants, `flight` and `away` are in order of their deadlines too. `thinking`
 * is sorted. The slots beyond the connections there are to begin with are `cold` until they are
 * needed, and idle all the same. */
struct slot {
    TAILQ_ENTRY(slot) link;
    uint64_t tag;
    uint64_t due_ns;
    uint64_t sent_ns;
    uint64_t until_ns; /* flight: the timeout; away: free again */
};

TAILQ_HEAD(slots, slot);

struct null {
    struct client_env env;
    struct client_null_hooks hooks;
    struct slot *all;
    struct slots idle, cold, flight, away, thinking;
    uint32_t n_idle, n_cold, n_flight, n_thinking, n_attempted; /* n_idle: the cold ones too */
    uint64_t connects, thoughts;
    bool quiet, stopped;
};

static enum err null_init(void *self, const struct client_env *env, struct errmsg *msg)
{
    struct null *n = self;
    if (env->connections == 0)
        return errmsg_set(msg, ERR_INVALID, "0 connections: accepted is at least 1");
    uint32_t most = env->rules.max_connections > env->connections ? env->rules.max_connections
                                                                  : env->connections;
    n->env = *env;
    n->all = mem_calloc(most, sizeof *n->all);
    TAILQ_INIT(&n->idle);
    TAILQ_INIT(&n->cold);
    TAILQ_INIT(&n->thinking);
    TAILQ_INIT(&n->flight);
    TAILQ_INIT(&n->away);
    for (uint32_t i = 0; i < env->connections; i++)
        TAILQ_INSERT_TAIL(&n->away, &n->all[i], link);
    for (uint32_t i = env->connections; i < most; i++, n->n_cold++)
        TAILQ_INSERT_TAIL(&n->cold, &n->all[i], link);
    return ERR_OK;
}

/* The slot, which is in no list, has its connection and can take a request. */
static void become_idle(struct null *n, struct slot *s, uint64_t now_ns)
{
    TAILQ_INSERT_TAIL(&n->idle, s, link);
    n->n_idle++;
    n->env.ready(n->env.arg, now_ns);
}

/* The slot leaves `away`: with a connection, or cold if it is one of those beyond. */
static void come_back(struct null *n, struct slot *s, uint64_t now_ns)
{
    TAILQ_REMOVE(&n->away, s, link);
    if (s < n->all + n->env.connections) {
        n->connects++;
        become_idle(n, s, now_ns);
        return;
    }
    TAILQ_INSERT_TAIL(&n->cold, s, link);
    n->n_cold++;
    n->n_idle++;
    n->env.ready(n->env.arg, now_ns);
}

static void null_open(void *self, uint64_t now_ns)
{
    struct null *n = self;
    n->n_attempted = n->env.connections;
    n->n_idle = n->n_cold;
    for (uint32_t i = 0; i < n->env.connections; i++)
        come_back(n, &n->all[i], now_ns);
}

static uint32_t null_idle(const void *self)
{
    return ((const struct null *)self)->n_idle;
}

static uint32_t null_connected(const void *self)
{
    const struct null *n = self;
    return n->n_idle - n->n_cold + n->n_flight + n->n_thinking;
}

static uint32_t null_attempted(const void *self)
{
    return ((const struct null *)self)->n_attempted;
}

static uint32_t null_in_flight(const void *self)
{
    return ((const struct null *)self)->n_flight;
}

/* A connection that is there before one that is not. */
static struct slot *take_idle(struct null *n)
{
    struct slot *s = TAILQ_FIRST(&n->idle);
    n->n_idle--;
    if (s != NULL) {
        TAILQ_REMOVE(&n->idle, s, link);
        return s;
    }
    s = TAILQ_FIRST(&n->cold);
    TAILQ_REMOVE(&n->cold, s, link);
    n->n_cold--;
    n->connects++;
    return s;
}

static void null_submit(void *self, uint64_t tag, uint64_t due_ns, uint64_t now_ns)
{
    struct null *n = self;
    struct slot *s = take_idle(n);
    s->tag = tag;
    s->due_ns = due_ns;
    s->sent_ns = now_ns;
    s->until_ns = clock_add(now_ns, n->env.timeout_ns);
    TAILQ_INSERT_TAIL(&n->flight, s, link);
    n->n_flight++;
    if (n->hooks.submitted != NULL)
        n->hooks.submitted(n->hooks.arg, tag, due_ns, now_ns);
}

static uint64_t first_until(const struct slots *list)
{
    const struct slot *s = TAILQ_FIRST(list);
    return s == NULL ? NS_NEVER : s->until_ns;
}

static uint64_t null_deadline(const void *self)
{
    const struct null *n = self;
    if (n->stopped || n->n_attempted == 0)
        return NS_NEVER;
    uint64_t timeout = first_until(&n->flight);
    if (n->quiet)
        return timeout;
    uint64_t back = first_until(&n->away);
    if (n->n_thinking > 0 && first_until(&n->thinking) < back)
        back = first_until(&n->thinking);
    return timeout < back ? timeout : back;
}

/* The request leaves the flight and is reported; the slot is away afterwards. */
static void finish(struct null *n, struct slot *s, enum outcome o, int status, uint64_t now_ns)
{
    struct client_result r = {.outcome = o,
                              .status = status,
                              .tag = s->tag,
                              .due_ns = s->due_ns,
                              .sent_ns = s->sent_ns,
                              .handed_ns = s->sent_ns,
                              .done_ns = now_ns,
                              .receive_ns = UINT64_MAX,
                              .attempts = 1};
    TAILQ_REMOVE(&n->flight, s, link);
    n->n_flight--;
    s->until_ns = clock_add(now_ns, n->hooks.reconnect_ns);
    TAILQ_INSERT_TAIL(&n->away, s, link);
    n->env.done(n->env.arg, &r);
}

static void null_expire(void *self, uint64_t now_ns)
{
    struct null *n = self;
    if (n->n_attempted == 0)
        return;
    while (first_until(&n->flight) <= now_ns)
        finish(n, TAILQ_FIRST(&n->flight), OUTCOME_TIMEOUT, 0, now_ns);
    while (!n->quiet && first_until(&n->away) <= now_ns)
        come_back(n, TAILQ_FIRST(&n->away), now_ns);
    while (!n->quiet && first_until(&n->thinking) <= now_ns) {
        struct slot *s = TAILQ_FIRST(&n->thinking);
        TAILQ_REMOVE(&n->thinking, s, link);
        n->n_thinking--;
        become_idle(n, s, now_ns);
    }
}

static void null_quiesce(void *self, uint64_t now_ns)
{
    (void)now_ns;
    ((struct null *)self)->quiet = true;
}

static void null_traffic(void *self, struct client_traffic *into)
{
    struct null *n = self;
    into->connects += n->connects;
    n->connects = 0;
}

static void null_stop(void *self, uint64_t now_ns)
{
    struct null *n = self;
    n->stopped = true;
    while (!TAILQ_EMPTY(&n->flight))
        finish(n, TAILQ_FIRST(&n->flight), OUTCOME_UNFINISHED, 0, now_ns);
    n->n_idle = n->n_cold = n->n_thinking = 0;
    TAILQ_INIT(&n->idle);
    TAILQ_INIT(&n->cold);
    TAILQ_INIT(&n->away);
    TAILQ_INIT(&n->thinking);
}

static void null_fini(void *self)
{
    struct null *n = self;
    mem_free(n->all);
    n->all = NULL;
}

static const struct client_ops null_ops = {
    .name = "null",
    .state_size = sizeof(struct null),
    .init = null_init,
    .open = null_open,
    .idle = null_idle,
    .connected = null_connected,
    .attempted = null_attempted,
    .in_flight = null_in_flight,
    .submit = null_submit,
    .deadline = null_deadline,
    .expire = null_expire,
    .quiesce = null_quiesce,
    .traffic = null_traffic,
    .stop = null_stop,
    .fini = null_fini,
};

const struct client_ops *client_null_ops(void)
{
    return &null_ops;
}

void client_null_set_hooks(void *self, const struct client_null_hooks *hooks)
{
    ((struct null *)self)->hooks = *hooks;
}

/* Not idle for a time between the two, which the seed and the count of such times decide. */
static void think(struct null *n, struct slot *s, uint64_t now_ns)
{
    const struct client_rules *r = &n->env.rules;
    uint64_t x = (r->seed + ++n->thoughts) * UINT64_C(0x9E3779B97F4A7C15);
    uint64_t span_ns = r->think_max_ns - r->think_min_ns + 1;
    struct slot *other;
    s->until_ns = clock_add(now_ns, r->think_min_ns + (x ^ x >> 32) % span_ns);
    n->n_thinking++;
    TAILQ_FOREACH (other, &n->thinking, link) {
        if (other->until_ns > s->until_ns) {
            TAILQ_INSERT_BEFORE(other, s, link);
            return;
        }
    }
    TAILQ_INSERT_TAIL(&n->thinking, s, link);
}

bool client_null_complete(void *self, uint64_t tag, int status, uint64_t now_ns)
{
    struct null *n = self;
    struct slot *s;
    if (n->stopped)
        return false;
    TAILQ_FOREACH (s, &n->flight, link) {
        if (s->tag == tag)
            break;
    }
    if (s == NULL)
        return false;
    finish(n, s, OUTCOME_OK, status, now_ns);
    /* The connection stays open: straight from `away`, where `finish` put it. */
    TAILQ_REMOVE(&n->away, s, link);
    if (n->env.rules.think_max_ns > 0)
        think(n, s, now_ns);
    else
        become_idle(n, s, now_ns);
    return true;
}

bool client_null_lose(void *self, uint64_t now_ns)
{
    struct null *n = self;
    struct slot *s = TAILQ_FIRST(&n->idle);
    if (s == NULL)
        return false;
    TAILQ_REMOVE(&n->idle, s, link);
    n->n_idle--;
    s->until_ns = clock_add(now_ns, n->hooks.reconnect_ns);
    TAILQ_INSERT_TAIL(&n->away, s, link);
    n->env.lost(n->env.arg, now_ns);
    return true;
}
