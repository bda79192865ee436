/* SPDX-License-Identifier: MIT */
#include "tests/lib/sim_net.h"

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

#define WAITING_MAX 200 /* messages to the controller on one wire */

struct sim_packet {
    struct sim_packet *next;
    uint64_t at_ns;
    enum sim_net_event kind;
    enum sim_way way;
    struct sim_wire *wire;
    uint8_t *frame; /* MESSAGE */
    size_t len;
};

struct node {
    bool frozen;
    struct sim_packet *inbox; /* while frozen */
};

struct sim_net {
    struct sim_net_config cfg;
    uint64_t rng, now_ns;
    struct sim_packet *queue; /* by time, then by order of posting */
    struct sim_wire *wires;
    unsigned number;
    struct node agents[SIM_NET_MAX], controller;
    bool blocked[SIM_NET_MAX][2];
    bool refused[SIM_NET_MAX], unanswered[SIM_NET_MAX];
};

/* --- packets ---------------------------------------------------------------------------------- */

static void packet_free(struct sim_packet *p)
{
    mem_free(p->frame);
    mem_free(p);
}

static void list_free(struct sim_packet **list)
{
    struct sim_packet *p;
    while ((p = *list) != NULL) {
        *list = p->next;
        packet_free(p);
    }
}

static void append(struct sim_packet **list, struct sim_packet *p)
{
    while (*list != NULL)
        list = &(*list)->next;
    p->next = NULL;
    *list = p;
}

static void enqueue(struct sim_net *n, struct sim_packet *p, uint64_t at_ns)
{
    struct sim_packet **at = &n->queue;
    p->at_ns = at_ns;
    while (*at != NULL && (*at)->at_ns <= at_ns)
        at = &(*at)->next;
    p->next = *at;
    *at = p;
}

static uint64_t travel(struct sim_net *n, enum sim_way way)
{
    return n->cfg.delay_ns[way] + check_below(&n->rng, n->cfg.jitter_ns + 1);
}

/* In its turn on the wire. */
static void post(struct sim_wire *w, struct sim_packet *p, uint64_t delay_ns)
{
    uint64_t at_ns = clock_add(w->net->now_ns, delay_ns);
    if (at_ns < w->last_ns[p->way])
        at_ns = w->last_ns[p->way];
    w->last_ns[p->way] = at_ns;
    enqueue(w->net, p, at_ns);
}

static struct sim_packet *packet(struct sim_wire *w, enum sim_net_event kind, enum sim_way way)
{
    struct sim_packet *p = mem_calloc(1, sizeof *p);
    p->kind = kind;
    p->way = way;
    p->wire = w;
    return p;
}

static bool chance(struct sim_net *n, uint64_t ppm)
{
    return check_below(&n->rng, 1000000) < ppm;
}

/* --- delivery --------------------------------------------------------------------------------- */

static bool is_blocked(const struct sim_net *n, const struct sim_packet *p)
{
    const bool *b = n->blocked[p->wire->agent];
    return b[p->way] || (p->kind == SIM_NET_UP && b[SIM_TO_AGENT]);
}

static void arrive(struct sim_net *n, struct sim_packet *p)
{
    struct sim_wire *w = p->wire;
    struct msg m = {0};
    if (w->shut[p->way] || (w->broken && p->kind != SIM_NET_DOWN && p->kind != SIM_NET_GONE))
        return;
    if (p->kind == SIM_NET_UP)
        w->dialled_ok = true;
    if (p->kind == SIM_NET_DOWN || p->kind == SIM_NET_GONE)
        w->shut[p->way] = true;
    if (p->kind == SIM_NET_MESSAGE)
        CHECK_MUST(msg_decode(p->frame, p->len, &m) == ERR_OK);
    n->cfg.event(n->cfg.arg, p->kind, p->way, w, p->kind == SIM_NET_MESSAGE ? &m : NULL);
}

static void deliver(struct sim_net *n, struct sim_packet *p)
{
    struct sim_wire *w = p->wire;
    struct node *to = p->way == SIM_TO_AGENT ? &n->agents[w->agent] : &n->controller;
    if (!w->broken && (is_blocked(n, p) || w->held[p->way] != NULL)) {
        append(&w->held[p->way], p);
        return;
    }
    if (to->frozen) {
        append(&to->inbox, p);
        return;
    }
    if (p->kind == SIM_NET_MESSAGE && p->way == SIM_TO_CONTROLLER)
        w->waiting--;
    arrive(n, p);
    packet_free(p);
}

void sim_net_run(struct sim_net *n, uint64_t now_ns)
{
    n->now_ns = now_ns;
    while (n->queue != NULL && n->queue->at_ns <= now_ns) {
        struct sim_packet *p = n->queue;
        n->queue = p->next;
        deliver(n, p);
    }
}

uint64_t sim_net_deadline(const struct sim_net *n)
{
    return n->queue != NULL ? n->queue->at_ns : NS_NEVER;
}

/* --- the ends --------------------------------------------------------------------------------- */

struct sim_wire *sim_net_dial(struct sim_net *n, size_t agent)
{
    struct sim_wire *w = mem_calloc(1, sizeof *w);
    w->net = n;
    w->agent = agent;
    w->number = ++n->number;
    w->next = n->wires;
    n->wires = w;
    if (n->unanswered[agent])
        return w;
    uint64_t there = travel(n, SIM_TO_AGENT), back = travel(n, SIM_TO_CONTROLLER);
    enum sim_net_event ev = n->refused[agent] ? SIM_NET_DOWN : SIM_NET_UP;
    post(w, packet(w, ev, SIM_TO_CONTROLLER), there + back);
    return w;
}

static void carry(struct sim_wire *w, enum sim_way way, const struct msg *m)
{
    struct sim_net *n = w->net;
    struct sim_packet *p = packet(w, SIM_NET_MESSAGE, way);
    CHECK_MUST(msg_encode(m, &p->frame, &p->len) == ERR_OK);
    if (way == SIM_TO_CONTROLLER)
        w->waiting++;
    /* The last word before an orderly close arrives even there. */
    if (n->cfg.loss_ppm + n->cfg.repeat_ppm == 0 || m->type == MSG_BYE)
        post(w, p, travel(n, way));
    else
        enqueue(n, p, clock_add(n->now_ns, travel(n, way)));
}

bool sim_net_send(struct sim_wire *w, enum sim_way way, const struct msg *m)
{
    struct sim_net *n = w->net;
    if (way == SIM_TO_CONTROLLER && w->waiting >= WAITING_MAX)
        return false;
    if (w->broken)
        return true; /* whoever sends does not know yet */
    int copies = chance(n, n->cfg.repeat_ppm) ? 2 : 1;
    for (int i = 0; i < copies; i++)
        if (m->type == MSG_BYE || !chance(n, n->cfg.loss_ppm))
            carry(w, way, m);
    return true;
}

void sim_net_close(struct sim_wire *w, enum sim_way way)
{
    struct sim_net *n = w->net;
    enum sim_way here = way == SIM_TO_AGENT ? SIM_TO_CONTROLLER : SIM_TO_AGENT;
    w->shut[here] = true;
    if (w->broken)
        return;
    if (n->blocked[w->agent][way] && chance(n, 500000)) { /* the kernel gives up sooner or later */
        list_free(&w->held[way]);
        return;
    }
    post(w, packet(w, way == SIM_TO_AGENT ? SIM_NET_GONE : SIM_NET_DOWN, way),
         n->cfg.delay_ns[way] + n->cfg.jitter_ns);
}

/* --- faults ----------------------------------------------------------------------------------- */

static void drop_from(struct sim_packet **list, const struct sim_wire *w)
{
    while (*list != NULL) {
        struct sim_packet *p = *list;
        if (p->wire != w) {
            list = &p->next;
            continue;
        }
        *list = p->next;
        packet_free(p);
    }
}

static void forget_packets(struct sim_wire *w)
{
    drop_from(&w->net->queue, w);
    list_free(&w->held[0]);
    list_free(&w->held[1]);
}

static void break_wire(struct sim_wire *w)
{
    struct sim_net *n = w->net;
    if (w->broken)
        return;
    forget_packets(w);
    w->broken = true;
    if (!w->shut[SIM_TO_CONTROLLER])
        post(w, packet(w, SIM_NET_DOWN, SIM_TO_CONTROLLER), check_below(&n->rng, 10 * NS_PER_MS));
    if (!w->shut[SIM_TO_AGENT])
        post(w, packet(w, SIM_NET_GONE, SIM_TO_AGENT), check_below(&n->rng, 10 * NS_PER_MS));
}

void sim_net_reset(struct sim_net *n, size_t agent)
{
    for (struct sim_wire *w = n->wires; w != NULL; w = w->next)
        if (w->agent == agent)
            break_wire(w);
}

void sim_net_drop_controller(struct sim_net *n, bool silently)
{
    for (struct sim_wire *w = n->wires; w != NULL; w = w->next) {
        w->shut[SIM_TO_CONTROLLER] = true;
        if (!silently)
            break_wire(w);
    }
}

void sim_net_refuse(struct sim_net *n, size_t agent, bool refused)
{
    n->refused[agent] = refused;
}

void sim_net_unanswered(struct sim_net *n, size_t agent, bool unanswered)
{
    n->unanswered[agent] = unanswered;
}

/* What waited is sent again by the kernel, at the latest two seconds later. */
void sim_net_block(struct sim_net *n, size_t agent, enum sim_way way, bool blocked)
{
    n->blocked[agent][way] = blocked;
    for (struct sim_wire *w = n->wires; w != NULL && !blocked; w = w->next) {
        if (w->agent != agent)
            continue;
        for (int k = 0; k < 2; k++) { /* an UP may have waited for the other way */
            uint64_t again = check_below(&n->rng, 2 * NS_PER_SEC);
            struct sim_packet *list = w->held[k], *p;
            w->held[k] = NULL;
            while ((p = list) != NULL) {
                list = p->next;
                post(w, p, again);
            }
        }
    }
}

static void thaw(struct sim_net *n, struct node *node)
{
    struct sim_packet *list = node->inbox, *p;
    node->inbox = NULL;
    while ((p = list) != NULL) {
        list = p->next;
        enqueue(n, p, n->now_ns);
    }
}

static void set_frozen(struct sim_net *n, struct node *node, bool frozen)
{
    node->frozen = frozen;
    if (!frozen)
        thaw(n, node);
}

void sim_net_freeze_agent(struct sim_net *n, size_t agent, bool frozen)
{
    set_frozen(n, &n->agents[agent], frozen);
}

void sim_net_freeze_controller(struct sim_net *n, bool frozen)
{
    set_frozen(n, &n->controller, frozen);
}

/* --- life ------------------------------------------------------------------------------------- */

struct sim_net *sim_net_new(const struct sim_net_config *cfg, uint64_t seed)
{
    struct sim_net *n = mem_calloc(1, sizeof *n);
    n->cfg = *cfg;
    n->rng = seed;
    return n;
}

void sim_net_free(struct sim_net *n)
{
    struct sim_wire *w;
    list_free(&n->queue);
    list_free(&n->controller.inbox);
    for (size_t i = 0; i < SIM_NET_MAX; i++)
        list_free(&n->agents[i].inbox);
    while ((w = n->wires) != NULL) {
        n->wires = w->next;
        list_free(&w->held[0]);
        list_free(&w->held[1]);
        mem_free(w);
    }
    mem_free(n);
}
