/* SPDX-License-Identifier: MIT */
#include "tests/lib/sim_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/sim_journal.h"

#define STEP_LIMIT       2000000
#define TIME_LIMIT       (300 * NS_PER_SEC) /* of one run, whatever happens in it */
#define SHUTDOWN_NS      (1400 * NS_PER_MS) /* as the endpoint has it */
#define SHUTDOWN_LOOK_NS (20 * NS_PER_MS)
#define GRACE_NS         NS_PER_SEC /* of the workers' own lease */

static void trace(const struct sim_world *w, const char *what, size_t agent, const char *text)
{
    if (w->trace)
        fprintf(stderr, "%9.3f %-10s %zu %s\n", (double)(w->now_ns - SIM_EPOCH) / 1e9, what, agent,
                text);
}

static void controller_dies(struct sim_world *w)
{
    if (w->coordinator == NULL)
        return;
    trace(w, "C died", 0, "");
    sim_journal_leave(w);
    sim_net_drop_controller(w->net, check_below(&w->rng, 2) == 0);
    coordinator_free(w->coordinator);
    w->coordinator = NULL;
    for (size_t i = 0; i < w->n; i++)
        w->peers[i].wire = NULL;
}

static void step(struct sim_world *w, struct coord_event ev)
{
    if (w->finished || w->coordinator == NULL)
        return;
    ev.now_ns = ev.rx_ns = w->now_ns;
    coordinator_step(w->coordinator, &ev);
    if (w->dying)
        controller_dies(w);
    w->dying = false;
}

/* To whoever speaks with the agent beside the coordinator: HALT's sender, or a heir. */
static void by_hand(struct sim_peer *p, const struct msg *m)
{
    if (m->type == MSG_SNAPSHOT)
        sim_journal_snapshot(p->world, p, &m->snapshot);
    else if (m->type == MSG_FINAL)
        sim_journal_final(p->world, p, &m->final);
    else
        p->by_hand = *m;
}

/* --- the agents' side ------------------------------------------------------------------------- */

static bool agent_send(void *arg, void *conn, const struct msg *m)
{
    struct sim_peer *p = arg;
    trace(p->world, "    A>", p->number, msg_type_name(m->type));
    if (conn != p)
        return sim_net_send(conn, SIM_TO_CONTROLLER, m);
    by_hand(p, m);
    return true;
}

static void agent_close(void *arg, void *conn)
{
    struct sim_peer *p = arg;
    trace(p->world, "    A close", p->number, "");
    if (conn != p)
        sim_net_close(conn, SIM_TO_CONTROLLER);
}

static void agent_request(void *arg, uint64_t index, uint64_t silence_ns)
{
    struct sim_peer *p = arg;
    struct sim_world *w = p->world;
    CHECK_MUST(index < w->requests);
    uint64_t lease = w->coord.patience.lease_ns + (w->now_ns == p->thawed_ns ? GRACE_NS : 0);
    if (silence_ns > lease)
        ck_abort_msg("agent %zu still sends after %" PRIu64 " ms without a word", p->number,
                     silence_ns / NS_PER_MS);
    if (w->count[index] < UINT8_MAX)
        w->count[index]++;
    w->sent++;
}

static void be_born(struct sim_peer *p)
{
    p->agent = sim_agent_new(&p->cfg, check_random(&p->world->rng));
    p->dead = p->terminating = false;
    p->terminate_ns = NS_NEVER;
    sim_net_refuse(p->world->net, p->number, false);
}

static void die(struct sim_peer *p, bool silently)
{
    struct sim_net *n = p->world->net;
    if (p->dead)
        return;
    p->dead = true;
    p->terminate_ns = NS_NEVER;
    p->incarnation++;
    if (p->frozen)
        sim_net_freeze_agent(n, p->number, false);
    p->frozen = false;
    sim_agent_free(p->agent);
    p->agent = NULL;
    if (silently) {
        sim_net_block(n, p->number, SIM_TO_AGENT, true);
        sim_net_block(n, p->number, SIM_TO_CONTROLLER, true);
        sim_net_unanswered(n, p->number, true);
    } else {
        sim_net_reset(n, p->number);
        sim_net_refuse(n, p->number, true);
    }
}

/* SIGTERM has been heard. */
static void terminate(struct sim_peer *p)
{
    struct sim_world *w = p->world;
    if (p->dead || p->frozen)
        return;
    if (sim_agent_shutdown(p->agent, w->now_ns) || w->now_ns >= p->terminate_by_ns)
        die(p, false);
    else
        p->terminate_ns = w->now_ns + SHUTDOWN_LOOK_NS;
}

/* --- the coordinator's side ------------------------------------------------------------------- */

static void do_dial(struct sim_world *w, struct sim_peer *p)
{
    if (p->wire != NULL)
        sim_net_close(p->wire, SIM_TO_AGENT);
    p->wire = sim_net_dial(w->net, p->number);
}

static void do_close(struct sim_world *w, struct sim_peer *p)
{
    ck_assert(!p->closed);
    p->closed = true;
    if (p->wire != NULL)
        sim_net_close(p->wire, SIM_TO_AGENT);
    p->wire = NULL;
    merge_gone(w->merge, p->number);
}

static void on_action(void *arg, const struct coord_action *a)
{
    struct sim_world *w = arg;
    struct sim_peer *p = a->agent < w->n ? &w->peers[a->agent] : NULL;
    CHECK_MUST(!w->finished);
    if (w->dying) /* nothing of the rest of this step happens */
        return;
    switch (a->kind) {
    case COORD_DIAL:
        trace(w, "C dial", a->agent, "");
        do_dial(w, p);
        break;
    case COORD_SEND:
        trace(w, "C>", a->agent, msg_type_name(a->msg->type));
        if (a->msg->type == MSG_ARM && !w->recorded)
            sim_journal_record(w);
        CHECK_MUST(!p->closed && p->wire != NULL);
        (void)sim_net_send(p->wire, SIM_TO_AGENT, a->msg);
        break;
    case COORD_CLOSE:
        trace(w, "C close", a->agent, "");
        do_close(w, p);
        break;
    case COORD_SNAPSHOT:
        sim_journal_snapshot(w, p, &a->msg->snapshot);
        break;
    case COORD_FINAL:
        trace(w, "C final", a->agent, a->msg->final.text);
        sim_journal_final(w, p, &a->msg->final);
        break;
    case COORD_NOTE:
        trace(w, "C note", 0, a->text);
        break;
    case COORD_REQUESTS:
        break;
    case COORD_ALL_RUNNING:
        break;
    case COORD_RECORD:
        sim_journal_record(w);
        break;
    case COORD_FINISHED:
        trace(w, "C over", 0, coordinator_reason(w->coordinator));
        w->finished = true;
        w->finished_ns = w->now_ns;
        break;
    }
}

static void to_controller(struct sim_world *w, enum sim_net_event ev, struct sim_wire *wire,
                          const struct msg *m)
{
    struct sim_peer *p = &w->peers[wire->agent];
    struct coord_event e = {.agent = p->number, .msg = m};
    if (wire != p->wire || p->closed)
        return;
    e.kind = ev == SIM_NET_UP        ? COORD_EV_UP
             : ev == SIM_NET_MESSAGE ? COORD_EV_MESSAGE
                                     : COORD_EV_DOWN;
    e.reason = "connection reset";
    if (ev != SIM_NET_MESSAGE)
        trace(w, ev == SIM_NET_UP ? "  C up" : "  C down", p->number, "");
    if (ev == SIM_NET_DOWN)
        p->wire = NULL;
    step(w, e);
}

static void on_net(void *arg, enum sim_net_event ev, enum sim_way way, struct sim_wire *wire,
                   const struct msg *m)
{
    struct sim_world *w = arg;
    struct sim_peer *p = &w->peers[wire->agent];
    if (way == SIM_TO_CONTROLLER)
        to_controller(w, ev, wire, m);
    else if (p->dead)
        return;
    else if (ev == SIM_NET_MESSAGE)
        sim_agent_message(p->agent, wire, m, w->now_ns);
    else
        sim_agent_gone(p->agent, wire, w->now_ns);
}

/* --- faults ----------------------------------------------------------------------------------- */

static void halt(struct sim_peer *p)
{
    struct msg m = {.type = MSG_HALT, .halt = {.controller = "ann@host:2", .reason = "enough"}};
    if (p->dead || p->frozen)
        return;
    sim_agent_message(p->agent, p, &m, p->world->now_ns);
    ck_assert_int_eq(p->by_hand.type, MSG_INFO);
}

static void block(struct sim_world *w, const struct sim_fault *f, bool on)
{
    if (f->kind != SIM_MUTE)
        sim_net_block(w->net, f->agent, SIM_TO_AGENT, on);
    if (f->kind != SIM_DEAF)
        sim_net_block(w->net, f->agent, SIM_TO_CONTROLLER, on);
}

static void freeze(struct sim_peer *p, bool on)
{
    struct sim_world *w = p->world;
    if (p->dead || p->frozen == on)
        return;
    p->frozen = on;
    if (on) {
        sim_agent_freeze(p->agent, w->now_ns);
    } else {
        p->thawed_ns = w->now_ns;
        sim_agent_thaw(p->agent, w->now_ns);
        if (check_below(&w->rng, 2) == 0) /* its timer may come before what has arrived */
            sim_agent_tick(p->agent, w->now_ns);
    }
    sim_net_freeze_agent(w->net, p->number, on);
}

static void stun(struct sim_world *w, bool on)
{
    w->stunned = on;
    if (!on && check_below(&w->rng, 2) == 0)
        step(w, (struct coord_event){.kind = COORD_EV_TICK});
    sim_net_freeze_controller(w->net, on);
}

static const char *const fault_names[SIM_FAULT_KINDS] = {
    "cut",  "partition", "deaf",      "mute", "freeze",    "stun",  "restart",
    "kill", "vanish",    "terminate", "halt", "interrupt", "death",
};

static void begin(struct sim_world *w, struct sim_fault *f)
{
    struct sim_peer *p = &w->peers[f->agent];
    trace(w, "** begin", f->agent, fault_names[f->kind]);
    f->begun = true;
    f->begun_ns = w->now_ns;
    switch (f->kind) {
    case SIM_CUT:
        sim_net_reset(w->net, f->agent);
        sim_net_refuse(w->net, f->agent, true);
        break;
    case SIM_PARTITION:
    case SIM_DEAF:
    case SIM_MUTE:
        block(w, f, true);
        break;
    case SIM_FREEZE:
        freeze(p, true);
        break;
    case SIM_STUN:
        stun(w, true);
        break;
    case SIM_RESTART:
    case SIM_KILL:
    case SIM_VANISH:
        die(p, f->kind == SIM_VANISH);
        break;
    case SIM_TERMINATE:
        p->terminating = true;
        p->terminate_by_ns = w->now_ns + SHUTDOWN_NS;
        terminate(p);
        break;
    case SIM_HALT:
        halt(p);
        break;
    case SIM_INTERRUPT:
        step(w, (struct coord_event){.kind = COORD_EV_INTERRUPT});
        break;
    case SIM_CONTROLLER_DIES:
        controller_dies(w);
        break;
    case SIM_FAULT_KINDS:
        break;
    }
}

static void end(struct sim_world *w, struct sim_fault *f)
{
    struct sim_peer *p = &w->peers[f->agent];
    trace(w, "** end", f->agent, fault_names[f->kind]);
    f->ended = true;
    f->ended_ns = w->now_ns;
    if (f->kind == SIM_CUT && !p->dead)
        sim_net_refuse(w->net, f->agent, w->unreachable[f->agent]);
    else if (f->kind >= SIM_PARTITION && f->kind <= SIM_MUTE)
        block(w, f, false);
    else if (f->kind == SIM_FREEZE)
        freeze(p, false);
    else if (f->kind == SIM_STUN)
        stun(w, false);
    else if (f->kind == SIM_RESTART && p->dead)
        be_born(p);
}

static uint64_t fault_ns(const struct sim_world *w, const struct sim_fault *f)
{
    if (f->begun)
        return f->ended ? NS_NEVER : clock_add(f->begun_ns, f->length_ns);
    if (!f->from_t0)
        return SIM_EPOCH + f->at_ns;
    uint64_t t0 = w->coordinator != NULL ? coordinator_t0(w->coordinator) : 0;
    return t0 == 0 || w->finished ? NS_NEVER : t0 + f->at_ns;
}

/* --- time ------------------------------------------------------------------------------------- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t next_instant(const struct sim_world *w)
{
    uint64_t next = sim_net_deadline(w->net);
    if (!w->finished && !w->stunned && w->coordinator != NULL)
        next = earlier(next, coordinator_deadline(w->coordinator));
    for (size_t i = 0; i < w->n_faults; i++)
        next = earlier(next, fault_ns(w, &w->faults[i]));
    for (size_t i = 0; i < w->n; i++) {
        const struct sim_peer *p = &w->peers[i];
        if (!p->dead && !p->frozen)
            next = earlier(next, earlier(p->terminate_ns, sim_agent_deadline(p->agent)));
    }
    return next;
}

static void turn(struct sim_world *w)
{
    for (size_t i = 0; i < w->n_faults; i++)
        while (fault_ns(w, &w->faults[i]) <= w->now_ns)
            (w->faults[i].begun ? end : begin)(w, &w->faults[i]);
    sim_net_run(w->net, w->now_ns);
    for (size_t i = 0; i < w->n; i++) {
        struct sim_peer *p = &w->peers[i];
        if (!p->dead && !p->frozen && sim_agent_deadline(p->agent) <= w->now_ns)
            sim_agent_tick(p->agent, w->now_ns);
        if (p->terminate_ns <= w->now_ns)
            terminate(p);
    }
    if (!w->stunned && !w->finished && w->coordinator != NULL &&
        coordinator_deadline(w->coordinator) <= w->now_ns)
        step(w, (struct coord_event){.kind = COORD_EV_TICK});
}

void sim_world_play(struct sim_world *w, uint64_t until_ns)
{
    uint64_t began_ns = w->now_ns, next;
    for (uint64_t steps = 0; (next = next_instant(w)) < until_ns; steps++) {
        CHECK_MUST(steps < STEP_LIMIT); /* no endless loop */
        if (next > w->now_ns)
            w->now_ns = next;
        bool waiting = !w->finished && w->coordinator != NULL;
        CHECK_MUST(!waiting || w->now_ns < began_ns + TIME_LIMIT); /* every wait ends */
        turn(w);
    }
    if (until_ns != NS_NEVER)
        w->now_ns = until_ns;
}

/* --- life ------------------------------------------------------------------------------------- */

void sim_world_init(struct sim_world *w, uint64_t seed)
{
    *w = (struct sim_world){.rng = seed, .n = 1, .now_ns = SIM_EPOCH};
    w->trace = getenv("HAMMER_SIM_TRACE") != NULL;
    plan_defaults(&w->plan);
    w->plan.url = mem_strdup("http://127.0.0.1:8080/");
    w->plan.rate = (struct rate){100, 1};
    w->plan.duration_ns = 10 * NS_PER_SEC;
    w->plan.timeout_ns = 2 * NS_PER_SEC;
    w->plan.interval_ns = NS_PER_SEC;
    w->coord = (struct coord_config){.owner = {1},
                                     .run = {2},
                                     .controller = "sim@host:1",
                                     .boot_id = "boot",
                                     .patience = {.lease_ns = 10 * NS_PER_SEC},
                                     .interrupt_drain_ns = 500 * NS_PER_MS};
    w->net_config.delay_ns[0] = w->net_config.delay_ns[1] = 5 * NS_PER_MS;
    for (size_t i = 0; i < SIM_NET_MAX; i++) {
        w->weights[i] = 1;
        w->peers[i].cfg = (struct sim_agent_config){.prepare_ns = 50 * NS_PER_MS,
                                                    .answer_ns = 20 * NS_PER_MS,
                                                    .reshare_ns = 2 * NS_PER_MS,
                                                    .connections = 50};
    }
}

static void bring_up(struct sim_world *w)
{
    struct errmsg msg = {{0}};
    w->finished = w->recorded = false;
    w->coord.inventory = &w->inventory;
    w->coord.plan = &w->plan;
    w->coord.emit = on_action;
    w->coord.arg = w;
    enum err e = coordinator_new(&w->coord, &w->coordinator, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
    step(w, (struct coord_event){.kind = COORD_EV_BEGIN});
}

static void begin_results(struct sim_world *w)
{
    w->merge = merge_new(w->n, w->plan.interval_ns);
    struct share whole = {1, 0, 1, 1, 0};
    struct schedule s;
    enum err e = plan_schedule(&w->plan, &whole, w->plan.requests, &s, NULL);
    ck_assert_int_eq(e, ERR_OK);
    w->requests = s.count;
    w->count = mem_calloc(s.count + 1, 1);
    w->sent = 0;
}

void sim_world_start(struct sim_world *w)
{
    struct errmsg msg = {{0}};
    w->plan.rate_set = w->plan.duration_set = w->plan.n_stages == 0;
    ck_assert_msg(plan_check(&w->plan, &msg) == ERR_OK, "%s", msg.text);
    w->net_config.agents = w->n;
    w->net_config.arg = w;
    w->net_config.event = on_net;
    w->net = sim_net_new(&w->net_config, check_random(&w->rng));
    for (size_t i = 0; i < w->n; i++) {
        struct sim_peer *p = &w->peers[i];
        char address[48], url[64];
        snprintf(address, sizeof address, "10.0.0.%zu:7400", i + 1);
        snprintf(url, sizeof url, "tcp://%s", address);
        inventory_add(&w->inventory, address, url, w->weights[i]);
        p->world = w;
        p->number = i;
        p->cfg.arg = p;
        p->cfg.send = agent_send;
        p->cfg.close = agent_close;
        p->cfg.request = agent_request;
        snprintf(p->cfg.name, sizeof p->cfg.name, "sim%zu", i);
        be_born(p);
        sim_net_refuse(w->net, i, w->unreachable[i]);
    }
    begin_results(w);
    bring_up(w);
}

static void drop_coordinator(struct sim_world *w)
{
    sim_journal_clear(w);
    coordinator_free(w->coordinator);
    merge_free(w->merge);
    mem_free(w->count);
}

void sim_world_again(struct sim_world *w)
{
    drop_coordinator(w);
    for (size_t i = 0; i < w->n; i++) {
        struct sim_peer *p = &w->peers[i];
        p->wire = NULL;
        p->closed = p->final = false;
        p->seq = 0;
    }
    begin_results(w);
    bring_up(w);
}

void sim_world_attach(struct sim_world *w)
{
    struct coord_resume r = {.t0_ns = w->left_t0_ns, .first_command = w->now_ns, .agents = w->left};
    ck_assert(w->coordinator == NULL);
    sim_journal_replay(w);
    w->coord.resume = &r;
    bring_up(w);
    w->coord.resume = NULL;
}

/* By hand what attaching does: HELLO with what is merged, everything after it, BYE. */
void sim_world_inherit(struct sim_world *w, size_t agent)
{
    struct sim_peer *p = &w->peers[agent];
    struct msg hello = {.type = MSG_HELLO}, bye = {.type = MSG_BYE};
    hello.hello.version_min = MSG_VERSION_MIN;
    hello.hello.version_max = MSG_VERSION_MAX;
    memcpy(hello.hello.owner, w->coord.owner, MSG_ID_LEN);
    hello.hello.ack_seq = p->seq;
    sim_agent_message(p->agent, p, &hello, w->now_ns);
    ck_assert_int_eq(p->by_hand.type, MSG_WELCOME);
    sim_agent_tick(p->agent, w->now_ns);
    sim_agent_message(p->agent, p, &bye, w->now_ns);
}

void sim_world_clear(struct sim_world *w)
{
    for (size_t i = 0; i < w->n; i++)
        sim_agent_free(w->peers[i].agent);
    drop_coordinator(w);
    sim_net_free(w->net);
    inventory_clear(&w->inventory);
    plan_clear(&w->plan);
}
