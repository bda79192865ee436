/* SPDX-License-Identifier: MIT */
#include "controller/run/coordinator_impl.h"

/*
 * Who may be dialled now. A TLS handshake costs each end milliseconds of CPU time: all of them at
 * once would take so long that none is done in its time. Agents wait for a place in the order in
 * which they asked for one, and no timer of theirs runs meanwhile but that of the lease. A place
 * is taken until WELCOME or the end of the attempt; from an agent that does not even accept the
 * connection it is taken back earlier, or a few that are gone would keep the others waiting.
 */

static bool is_tls(const struct coordinator *c, size_t i)
{
    return c->cfg.inventory->agents[i].server_name[0] != '\0';
}

/* Until when the attempt keeps its place; 0 = it has none. */
static uint64_t place_until(const struct coord_agent *a)
{
    if (a->attempt_ns == NS_NEVER || a->closed)
        return 0;
    return a->up ? a->attempt_ns : clock_add(a->dialled_ns, COORD_PLACE_NS);
}

/* Places taken, and the earliest instant at which one becomes free by itself. */
static size_t taken(const struct coordinator *c, bool tls, uint64_t now_ns, uint64_t *free_ns)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        uint64_t until_ns = place_until(&c->agents[i]);
        if (until_ns <= now_ns || is_tls(c, i) != tls)
            continue;
        n++;
        *free_ns = until_ns < *free_ns ? until_ns : *free_ns;
    }
    return n;
}

/* The agent that has waited longest; n = nobody. */
static size_t longest_waiting(const struct coordinator *c, bool tls)
{
    size_t first = c->n;
    for (size_t i = 0; i < c->n; i++)
        if (c->agents[i].asked != 0 && is_tls(c, i) == tls &&
            (first == c->n || c->agents[i].asked < c->agents[first].asked))
            first = i;
    return first;
}

static void stop_asking(struct coordinator *c, size_t i)
{
    if (c->agents[i].asked == 0)
        return;
    c->agents[i].asked = 0;
    c->n_waiting--;
}

static void dial(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    stop_asking(c, i);
    coord_touch(a);
    bool hasty = a->info.state >= COORD_HELD && !a->salvage; /* its lease is running */
    a->dialled_ns = now_ns;
    a->redial_ns = NS_NEVER;
    a->attempt_ns = clock_add(now_ns, hasty ? coord_quiet_ns(c) : COORD_ATTEMPT_NS);
    if (a->info.state == COORD_DIALING && a->give_up_ns == NS_NEVER)
        a->give_up_ns = clock_add(now_ns, c->cfg.patience.wait_agents_ns);
    coord_emit_agent(c, COORD_DIAL, i, NULL);
}

static void give_places(struct coordinator *c, bool tls, uint64_t now_ns)
{
    size_t most = tls ? COORD_HANDSHAKES_MAX : COORD_DIALS_MAX;
    uint64_t free_ns = NS_NEVER;
    size_t i;
    for (size_t n = taken(c, tls, now_ns, &free_ns); n < most; n++) {
        if ((i = longest_waiting(c, tls)) == c->n)
            return;
        dial(c, i, now_ns);
        free_ns = place_until(&c->agents[i]) < free_ns ? place_until(&c->agents[i]) : free_ns;
    }
    if (longest_waiting(c, tls) < c->n && free_ns < c->place_ns)
        c->place_ns = free_ns;
}

void coord_dial_waiting(struct coordinator *c, uint64_t now_ns)
{
    c->place_ns = NS_NEVER;
    if (c->n_waiting == 0 || c->phase == PHASE_OVER)
        return;
    for (size_t i = 0; i < c->n; i++)
        if (c->agents[i].closed || (coord_terminal(&c->agents[i]) && !c->agents[i].salvage))
            stop_asking(c, i);
    give_places(c, true, now_ns);
    give_places(c, false, now_ns);
}

void coord_dial(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    (void)now_ns;
    if (a->info.state == COORD_GREETING)
        coord_move(a, COORD_DIALING);
    a->up = false;
    coord_touch(a);
    a->redial_ns = a->hello_ns = a->quiet_ns = a->deaf_ns = a->attempt_ns = NS_NEVER;
    if (a->asked != 0)
        return;
    a->asked = ++c->asked;
    c->n_waiting++;
}
