/* SPDX-License-Identifier: MIT */
#include "agent/client/h1_slot.h"
#include "common/clock.h"

/* Which slot takes a request, and what becomes of it between two. */

#define BACKOFF_NS       (100 * NS_PER_MS)
#define BACKOFF_DOUBLE   4 /* so many times: up to 1.6 s */
#define BACKOFF_JITTER_4 4 /* up to a quarter more */

typedef unsigned __int128 u128;

enum draw {
    DRAW_THINK,
    DRAW_BACKOFF
};

/* splitmix64's finaliser. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The n-th draw of the slot, 0 .. max: always the same for the same seed. */
static uint64_t draw(const struct slot *s, enum draw what, uint64_t n, uint64_t max)
{
    uint64_t number = (uint64_t)(s - s->client->slots);
    uint64_t key = mix(s->client->env.rules.seed + UINT64_C(0x9e3779b97f4a7c15));
    uint64_t x = mix(mix(key ^ mix(number * 2 + what + 1)) ^ mix(n));
    return (uint64_t)((u128)x * ((u128)max + 1) >> 64);
}

/* ---- picking ---- */

void slot_aim(struct slot *s, uint32_t target)
{
    struct client_h1 *c = s->client;
    s->aim = target;
    s->target = c->env.targets->items[target];
    s->conn.turn = c->turns[target]++;
    s->addr = (uint32_t)(s->conn.turn % s->target->n);
    struct conn_tls *tls = NULL;
    if (s->target->tls != NULL) {
        tls = &c->tls[s - c->slots];
        conn_tls_init(tls, s->target->tls, &c->sessions[target]);
    }
    conn_use_tls(&s->conn, tls);
}

static struct slot *longest_idle(struct client_h1 *c)
{
    struct slot *longest = NULL;
    for (size_t i = 0; i < c->env.targets->n; i++) {
        struct slot *s = TAILQ_FIRST(&c->idle[i]);
        if (s != NULL && (longest == NULL || s->idle_ns < longest->idle_ns))
            longest = s;
    }
    return longest;
}

struct slot *h1_pick_other(struct client_h1 *c)
{
    struct slot *cold = TAILQ_FIRST(&c->lists[SLOT_COLD]);
    return cold != NULL ? cold : longest_idle(c);
}

/* ---- between requests ---- */

bool slot_is_cold(const struct slot *s)
{
    const struct client_h1 *c = s->client;
    return c->serve_max == 1 || (size_t)(s - c->slots) >= c->env.connections;
}

static void slot_wait(struct slot *s, enum slot_state how, uint64_t until_ns)
{
    slot_move(s, how);
    timer_heap_start(&s->client->pauses, &s->pause, until_ns);
}

static void slot_offer(struct slot *s, enum slot_state how, uint64_t now_ns)
{
    struct client_h1 *c = s->client;
    s->idle_ns = now_ns;
    slot_move(s, how);
    c->env.ready(c->env.arg, now_ns);
}

void slot_rest(struct slot *s, uint64_t now_ns)
{
    if (s->think_until_ns > now_ns)
        slot_wait(s, SLOT_THINKING, s->think_until_ns);
    else
        slot_offer(s, SLOT_IDLE, now_ns);
}

void slot_replace(struct slot *s, uint64_t now_ns)
{
    if (s->client->quiet)
        slot_move(s, SLOT_CLOSED);
    else if (!slot_is_cold(s))
        slot_connect(s, now_ns);
    else if (s->think_until_ns > now_ns)
        slot_wait(s, SLOT_BACKOFF, s->think_until_ns);
    else
        slot_offer(s, SLOT_COLD, now_ns);
}

static uint64_t backoff_ns(const struct slot *s)
{
    uint32_t failed = s->failures > 0 ? s->failures - 1 : 0;
    uint64_t ns = BACKOFF_NS << (failed < BACKOFF_DOUBLE ? failed : BACKOFF_DOUBLE);
    return ns + draw(s, DRAW_BACKOFF, s->failures, ns / BACKOFF_JITTER_4);
}

void slot_back_off(struct slot *s, uint64_t now_ns)
{
    if (s->client->quiet) {
        slot_move(s, SLOT_CLOSED);
        return;
    }
    uint64_t until_ns = clock_add(now_ns, backoff_ns(s));
    slot_wait(s, SLOT_BACKOFF, until_ns > s->think_until_ns ? until_ns : s->think_until_ns);
}

void slot_resume(struct slot *s, uint64_t now_ns)
{
    bool several = s->client->env.targets->n > 1;
    if (s->state == SLOT_BUSY)
        slot_go_on(s);
    else if (s->state == SLOT_THINKING)
        slot_offer(s, SLOT_IDLE, now_ns);
    else if (slot_is_cold(s) || several) /* for whatever target is asked for next */
        slot_offer(s, SLOT_COLD, now_ns);
    else
        slot_move(s, SLOT_QUEUED);
}

void slot_think(struct slot *s, uint64_t now_ns)
{
    const struct client_rules *r = &s->client->env.rules;
    uint64_t more = draw(s, DRAW_THINK, s->thought++, r->think_max_ns - r->think_min_ns);
    s->think_until_ns = clock_add(now_ns, r->think_min_ns + more);
}
