/* SPDX-License-Identifier: MIT */
#include "controller/run/coordinator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/fake_agent.h"

/*
 * The coordinator against 1..12 model agents on a virtual clock, over links that lose, delay,
 * repeat and reorder messages. Each round injects at most one fault, picked at random, and knows
 * what the outcome may be. Everything comes from the printed seed.
 */

#define AGENTS_MAX    12
#define ROUNDS        400
#define EPOCH         (1000 * NS_PER_SEC)
#define TIME_LIMIT    (900 * NS_PER_SEC) /* dialling + preparing + run + stopping, with room */
#define WITHDRAWAL_NS (200 * NS_PER_MS)  /* so near to the start a run is stopped, not withdrawn */
#define STEP_LIMIT    200000

enum fault {
    FAULT_NONE,
    FAULT_BUSY,
    FAULT_VERSION,
    FAULT_PLAN,
    FAULT_UNREACHABLE, /* refused connections */
    FAULT_BLACK_HOLE,  /* no answer to a dial at all */
    FAULT_SLOW_PREPARE,
    FAULT_NO_TARGET,
    FAULT_LATE_AGENT, /* comes up 3 s after the start of it all: is waited for */
    FAULT_KILL,       /* the process dies: links break */
    FAULT_RESTART,    /* the same, and it is back at once with a new epoch */
    FAULT_FREEZE,     /* nothing comes or goes any more, and nobody says so */
    FAULT_LINK_DROP,
    FAULT_QUIT, /* SIGTERM on the agent */
    FAULT_INTERRUPT,
    FAULT_ABORT,
    FAULT_CONDITION,
    FAULTS
};

enum event_kind {
    EV_TO_AGENT,
    EV_TO_CONTROLLER,
    EV_UP,
    EV_DOWN,
    EV_AGENT_GONE,
    EV_FAULT
};

struct event {
    struct event *next; /* sorted by time, then by order of posting */
    uint64_t at_ns;
    enum event_kind kind;
    size_t agent;
    unsigned conn;
    struct msg msg;
};

struct peer {
    struct world *world;
    size_t number;
    struct fake_agent model;
    unsigned conn; /* current one of the controller, 0 = none */
    bool frozen, dead;
    uint64_t reachable_ns; /* dials before that fail */
    uint64_t seq;          /* snapshots delivered to the caller */
    bool final, closed;
};

struct world {
    uint64_t rng, now_ns;
    size_t n;
    struct inventory inventory;
    struct plan plan;
    struct coordinator *coordinator;
    struct peer peers[AGENTS_MAX];
    struct event *queue;
    unsigned next_conn;
    uint64_t loss_ppm, repeat_ppm, delay_ns, jitter_ns;
    enum fault fault;
    size_t victim;
    uint64_t fault_ns, finished_ns, ahead[AGENTS_MAX];
    bool fault_done, armed, finished, all_running;
};

static void post(struct world *w, uint64_t delay_ns, enum event_kind kind, size_t agent,
                 unsigned conn, const struct msg *m)
{
    struct event *e = mem_calloc(1, sizeof *e);
    e->at_ns = w->now_ns + delay_ns;
    e->kind = kind;
    e->agent = agent;
    e->conn = conn;
    if (m != NULL)
        e->msg = *m;
    struct event **at = &w->queue;
    while (*at != NULL && (*at)->at_ns <= e->at_ns)
        at = &(*at)->next;
    e->next = *at;
    *at = e;
}

static bool chance(struct world *w, uint64_t ppm)
{
    return check_below(&w->rng, 1000000) < ppm;
}

/* A message on its way: perhaps lost, perhaps twice, each copy with its own delay. */
static void carry(struct world *w, enum event_kind kind, size_t agent, unsigned conn,
                  const struct msg *m)
{
    int copies = chance(w, w->repeat_ppm) ? 2 : 1;
    for (int i = 0; i < copies; i++)
        if (!chance(w, w->loss_ppm))
            post(w, w->delay_ns + check_below(&w->rng, w->jitter_ns + 1), kind, agent, conn, m);
}

/* The end of a connection comes after everything sent on it. */
static uint64_t behind_all(const struct world *w)
{
    return w->delay_ns + w->jitter_ns + 1;
}

/* --- the model agents' side ------------------------------------------------------------------- */

static void agent_send(void *arg, unsigned conn, const struct msg *m)
{
    struct peer *p = arg;
    if (!p->frozen && !p->dead)
        carry(p->world, EV_TO_CONTROLLER, p->number, conn, m);
}

static void agent_close(void *arg, unsigned conn)
{
    struct peer *p = arg;
    if (!p->frozen)
        post(p->world, behind_all(p->world), EV_DOWN, p->number, conn, NULL);
}

/* --- the coordinator's side ------------------------------------------------------------------- */

static void do_dial(struct world *w, struct peer *p)
{
    p->conn = ++w->next_conn;
    if (w->fault == FAULT_BLACK_HOLE && w->victim == p->number)
        return;
    bool refused = p->dead || w->now_ns < p->reachable_ns;
    post(w, w->delay_ns, refused ? EV_DOWN : EV_UP, p->number, p->conn, NULL);
}

static void check_arm(struct world *w)
{
    if (w->armed)
        return;
    w->armed = true;
    for (size_t i = 0; i < w->n; i++)
        ck_assert_msg(w->peers[i].model.ever_prepared, "armed before agent %zu was prepared", i);
}

static void do_send(struct world *w, struct peer *p, const struct msg *m)
{
    ck_assert_msg(!p->closed, "%s after CLOSE", msg_type_name(m->type));
    if (m->type == MSG_ARM)
        check_arm(w);
    /* What is sent before an orderly close arrives: a link loses only what a broken one had. */
    if (!p->dead && m->type == MSG_BYE)
        post(w, behind_all(w) - 1, EV_TO_AGENT, p->number, p->conn, m);
    else if (!p->dead)
        carry(w, EV_TO_AGENT, p->number, p->conn, m);
}

static void on_action(void *arg, const struct coord_action *a)
{
    struct world *w = arg;
    struct peer *p = a->agent < w->n ? &w->peers[a->agent] : NULL;
    if (w->finished)
        ck_abort_msg("action %d after FINISHED", a->kind);
    switch (a->kind) {
    case COORD_DIAL:
        do_dial(w, p);
        break;
    case COORD_SEND:
        do_send(w, p, a->msg);
        break;
    case COORD_CLOSE:
        ck_assert(!p->closed);
        p->closed = true;
        post(w, behind_all(w), EV_AGENT_GONE, p->number, p->conn, NULL);
        break;
    case COORD_SNAPSHOT:
        ck_assert_uint_eq(a->msg->snapshot.seq, p->seq + 1);
        ck_assert(!p->final && !p->closed);
        p->seq++;
        break;
    case COORD_FINAL:
        ck_assert(!p->final && !p->closed && a->msg->final.last_seq == p->seq);
        p->final = true;
        break;
    case COORD_REQUESTS:
    case COORD_RECORD:
    case COORD_NOTE:
        break;
    case COORD_ALL_RUNNING:
        ck_assert(!w->all_running);
        w->all_running = true;
        break;
    case COORD_FINISHED:
        w->finished = true;
        w->finished_ns = w->now_ns;
        break;
    }
}

static void step(struct world *w, struct coord_event ev)
{
    if (w->finished)
        return;
    ev.now_ns = w->now_ns;
    coordinator_step(w->coordinator, &ev);
}

/* --- faults ----------------------------------------------------------------------------------- */

static void die(struct world *w, struct peer *p, bool back)
{
    unsigned conn = p->conn;
    bool prepared = p->model.ever_prepared, started = p->model.ever_started;
    struct fake_agent_config cfg = p->model.cfg;
    fake_agent_init(&p->model, &cfg, check_random(&w->rng));
    p->model.ever_prepared = prepared; /* what was true remains so */
    p->model.ever_started = started;
    p->dead = !back;
    post(w, behind_all(w), EV_DOWN, p->number, conn, NULL);
}

static void fault_now(struct world *w)
{
    struct peer *p = &w->peers[w->victim];
    w->fault_done = !w->finished;
    if (w->fault == FAULT_KILL || w->fault == FAULT_RESTART)
        die(w, p, w->fault == FAULT_RESTART);
    else if (w->fault == FAULT_FREEZE)
        p->frozen = true;
    else if (w->fault == FAULT_LINK_DROP) {
        post(w, w->delay_ns, EV_DOWN, p->number, p->conn, NULL);
        post(w, w->delay_ns, EV_AGENT_GONE, p->number, p->conn, NULL);
    } else if (w->fault == FAULT_QUIT)
        fake_agent_quit(&p->model, w->now_ns);
    else if (w->fault == FAULT_INTERRUPT)
        step(w, (struct coord_event){.kind = COORD_EV_INTERRUPT});
    else if (w->fault == FAULT_ABORT)
        step(w, (struct coord_event){.kind = COORD_EV_ABORT, .reason = "cannot go on"});
    else if (w->fault == FAULT_CONDITION)
        step(w, (struct coord_event){.kind = COORD_EV_CONDITION, .reason = "errors>100"});
}

static void set_fault(struct world *w)
{
    struct fake_agent_config *cfg = &w->peers[w->victim].model.cfg;
    w->fault_ns = NS_NEVER;
    if (w->fault == FAULT_BUSY)
        cfg->refuse = REFUSE_BUSY;
    else if (w->fault == FAULT_VERSION)
        cfg->refuse = REFUSE_VERSION;
    else if (w->fault == FAULT_PLAN)
        cfg->refuse = REFUSE_PLAN;
    else if (w->fault == FAULT_UNREACHABLE)
        w->peers[w->victim].reachable_ns = NS_NEVER;
    else if (w->fault == FAULT_LATE_AGENT)
        w->peers[w->victim].reachable_ns = EPOCH + 3 * NS_PER_SEC;
    else if (w->fault == FAULT_SLOW_PREPARE)
        cfg->prepare_ns = 60 * NS_PER_SEC;
    else if (w->fault == FAULT_NO_TARGET)
        for (size_t i = 0; i < w->n; i++)
            w->peers[i].model.cfg.connections = 0;
    else if (w->fault >= FAULT_KILL) /* often in the first, eventful seconds */
        w->fault_ns = EPOCH + check_below(&w->rng, (chance(w, 500000) ? 4 : 25) * NS_PER_SEC);
}

/* --- a round ---------------------------------------------------------------------------------- */

static void make_peer(struct world *w, size_t i, bool local)
{
    struct peer *p = &w->peers[i];
    char address[32], url[48];
    snprintf(address, sizeof address, "10.0.0.%zu:7400", i + 1);
    snprintf(url, sizeof url, "tcp://%s", address);
    inventory_add(&w->inventory, address, url, 1 + (uint32_t)check_below(&w->rng, 3));
    p->world = w;
    p->number = i;
    w->ahead[i] = check_below(&w->rng, 2 * EPOCH);
    struct fake_agent_config cfg = {
        .name = "model",
        .boot_id = local ? "boot" : &"another one"[i / 2], /* two on each machine */
        .offset_ns = local ? 0 : (int64_t)w->ahead[i / 2] - (int64_t)EPOCH / 2,
        .prepare_ns = check_below(&w->rng, 3 * NS_PER_SEC),
        .run_ns = w->plan.duration_ns + check_below(&w->rng, w->plan.timeout_ns),
        .interval_ns = w->plan.interval_ns,
        .connections = 50,
        .send = agent_send,
        .close = agent_close,
        .arg = p,
    };
    fake_agent_init(&p->model, &cfg, check_random(&w->rng));
}

static void make_world(struct world *w, uint64_t seed, enum fault fault)
{
    struct errmsg msg = {{0}};
    *w = (struct world){.rng = seed, .now_ns = EPOCH, .fault = fault};
    w->n = 1 + check_below(&w->rng, AGENTS_MAX);
    w->victim = check_below(&w->rng, w->n);
    bool local = chance(w, 200000);
    w->loss_ppm = local ? 0 : check_below(&w->rng, 3) * 50000;
    w->repeat_ppm = check_below(&w->rng, 3) * 50000;
    w->delay_ns = local ? 50000 : 50000 + check_below(&w->rng, 40 * NS_PER_MS);
    w->jitter_ns = local ? 100000 : check_below(&w->rng, 15 * NS_PER_MS);
    plan_defaults(&w->plan);
    w->plan.url = mem_strdup("http://127.0.0.1:8080/");
    w->plan.method = mem_strdup("GET");
    w->plan.rate = (struct rate){1000, 1};
    w->plan.duration_ns = (1 + check_below(&w->rng, 15)) * NS_PER_SEC;
    w->plan.timeout_ns = 2 * NS_PER_SEC;
    w->plan.interval_ns = 100 * NS_PER_MS + check_below(&w->rng, NS_PER_SEC);
    for (size_t i = 0; i < w->n; i++)
        make_peer(w, i, local);
    set_fault(w);
    struct coord_config cfg = {.inventory = &w->inventory,
                               .plan = &w->plan,
                               .owner = {1},
                               .run = {2},
                               .controller = "sim@host:1",
                               .boot_id = "boot",
                               .patience = {.lease_ns = 10 * NS_PER_SEC},
                               .interrupt_drain_ns = 500 * NS_PER_MS,
                               .emit = on_action,
                               .arg = w};
    enum err e = coordinator_new(&cfg, &w->coordinator, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
}

static void clear_world(struct world *w)
{
    while (w->queue != NULL) {
        struct event *e = w->queue;
        w->queue = e->next;
        mem_free(e);
    }
    coordinator_free(w->coordinator);
    inventory_clear(&w->inventory);
    plan_clear(&w->plan);
}

static void deliver(struct world *w, struct event *e)
{
    struct peer *p = &w->peers[e->agent];
    struct coord_event ev = {.agent = e->agent, .rx_ns = w->now_ns, .msg = &e->msg};
    bool current = e->conn == p->conn && !p->closed;
    if (e->kind == EV_FAULT) {
        fault_now(w);
    } else if (e->kind == EV_TO_AGENT && !p->dead && !p->frozen) {
        fake_agent_message(&p->model, e->conn, &e->msg, w->now_ns);
    } else if (e->kind == EV_AGENT_GONE && !p->dead && !p->frozen) {
        fake_agent_gone(&p->model, e->conn, w->now_ns);
    } else if (e->kind == EV_TO_CONTROLLER && current) {
        ev.kind = COORD_EV_MESSAGE;
        step(w, ev);
    } else if (e->kind == EV_UP && current) {
        ev.kind = COORD_EV_UP;
        step(w, ev);
    } else if (e->kind == EV_DOWN && current) {
        ev.kind = COORD_EV_DOWN;
        ev.reason = "connection refused";
        p->conn = 0;
        step(w, ev);
    }
}

static uint64_t next_instant(const struct world *w)
{
    uint64_t next = w->finished ? NS_NEVER : coordinator_deadline(w->coordinator);
    if (w->queue != NULL && w->queue->at_ns < next)
        next = w->queue->at_ns;
    for (size_t i = 0; i < w->n; i++) {
        const struct peer *p = &w->peers[i];
        uint64_t t = p->dead || p->frozen ? NS_NEVER : fake_agent_deadline(&p->model);
        next = t < next ? t : next;
    }
    return next;
}

static void turn(struct world *w)
{
    while (w->queue != NULL && w->queue->at_ns <= w->now_ns) {
        struct event *e = w->queue;
        w->queue = e->next;
        deliver(w, e);
        mem_free(e);
    }
    for (size_t i = 0; i < w->n; i++) {
        struct peer *p = &w->peers[i];
        if (!p->dead && !p->frozen && fake_agent_deadline(&p->model) <= w->now_ns)
            fake_agent_tick(&p->model, w->now_ns);
    }
    if (!w->finished && coordinator_deadline(w->coordinator) <= w->now_ns)
        step(w, (struct coord_event){.kind = COORD_EV_TICK});
}

/* Until nothing is left to happen: after FINISHED only what is still on its way to the agents. */
static void play(struct world *w)
{
    if (w->fault_ns != NS_NEVER)
        post(w, w->fault_ns - w->now_ns, EV_FAULT, w->victim, 0, NULL);
    step(w, (struct coord_event){.kind = COORD_EV_BEGIN});
    for (uint64_t steps = 0;; steps++) {
        uint64_t next = next_instant(w);
        if (next == NS_NEVER)
            break;
        if (steps >= STEP_LIMIT)
            ck_abort_msg("endless loop at %llu ns", (unsigned long long)(w->now_ns - EPOCH));
        if (next > w->now_ns)
            w->now_ns = next;
        CHECK_MUST(w->now_ns < EPOCH + TIME_LIMIT); /* finished in time */
        turn(w);
    }
    ck_assert_msg(w->finished, "nothing left to happen, but not finished");
}

/* --- what must hold --------------------------------------------------------------------------- */

static bool names_victim(const struct world *w)
{
    const char *reason = coordinator_reason(w->coordinator);
    return strstr(reason, w->inventory.agents[w->victim].address) != NULL;
}

static void check_always(const struct world *w)
{
    enum coord_outcome o = coordinator_outcome(w->coordinator);
    ck_assert_uint_eq(coordinator_deadline(w->coordinator), NS_NEVER);
    ck_assert_int_ne(o, COORD_GOING_ON);
    for (size_t i = 0; i < w->n; i++) {
        const struct peer *p = &w->peers[i];
        const struct coord_agent_info *info = coordinator_agent(w->coordinator, i);
        ck_assert(p->closed);
        ck_assert_uint_eq(info->last_seq, p->seq);
        if (!p->frozen && !p->dead)
            ck_assert_msg(p->model.state == AGENT_IDLE, "agent %zu is left in state %d", i,
                          p->model.state);
        if (o == COORD_COMPLETE)
            ck_assert(p->final && info->state == COORD_DONE && info->end_reason == END_FINISHED);
        if (o == COORD_COULD_NOT || o == COORD_NO_TARGET)
            ck_assert_msg(!p->model.ever_started, "agent %zu was started", i);
        if (info->started_ns != 0 && !info->same_clock) {
            uint64_t error = (uint64_t)llabs(info->offset_ns - p->model.cfg.offset_ns);
            ck_assert_uint_le(error, info->error_ns);
        }
    }
    if (o != COORD_COMPLETE)
        ck_assert(coordinator_reason(w->coordinator)[0] != '\0');
}

static void check_could_not(const struct world *w)
{
    ck_assert_int_eq(coordinator_outcome(w->coordinator), COORD_COULD_NOT);
    ck_assert_msg(names_victim(w), "%s", coordinator_reason(w->coordinator));
    ck_assert(!w->armed);
}

static void check_complete(const struct world *w)
{
    ck_assert_msg(coordinator_outcome(w->coordinator) == COORD_COMPLETE, "%s",
                  coordinator_reason(w->coordinator));
    ck_assert(w->all_running);
}

/* Between the order to start and the start there is no time for a link to come back: then nobody
 * starts. */
static void check_link_drop(const struct world *w)
{
    uint64_t t0 = coordinator_t0(w->coordinator);
    if (strstr(coordinator_reason(w->coordinator), "did not confirm the start") == NULL)
        check_complete(w);
    else
        ck_assert(w->fault_done && (t0 == 0 || w->fault_ns < t0));
}

static void check_no_target(const struct world *w)
{
    ck_assert_int_eq(coordinator_outcome(w->coordinator), COORD_NO_TARGET);
    ck_assert(!w->armed);
}

/* The others were told to stop: the run ends soon after the loss was noticed, not as planned. */
static void check_stopped(const struct world *w)
{
    uint64_t t0 = coordinator_t0(w->coordinator), noticed = w->fault_ns > t0 ? w->fault_ns : t0;
    uint64_t answer = w->plan.timeout_ns + 5500 * NS_PER_MS; /* time to drain, to answer */
    if (w->loss_ppm > 0) /* and to say it again, whatever was lost of it */
        answer += 6 * NS_PER_SEC;
    if (w->fault == FAULT_FREEZE || w->fault == FAULT_KILL)
        noticed += 14 * NS_PER_SEC;
    ck_assert_msg(w->finished_ns < noticed + answer, "finished %llu ms after the loss",
                  (unsigned long long)((w->finished_ns - noticed) / NS_PER_MS));
}

/* Depends on when it struck: before the start nothing runs, after it the rest is reported. */
static void check_loss(const struct world *w)
{
    enum coord_outcome o = coordinator_outcome(w->coordinator);
    uint64_t t0 = coordinator_t0(w->coordinator);
    bool was_done = coordinator_agent(w->coordinator, w->victim)->state == COORD_DONE;
    if (!w->fault_done || o == COORD_COMPLETE)
        ck_assert(o == COORD_COMPLETE);
    else if (t0 == 0 || w->finished_ns + WITHDRAWAL_NS < t0)
        ck_assert_int_eq(o, COORD_COULD_NOT);
    else if (w->finished_ns > t0)
        ck_assert_int_eq(o, COORD_PARTIAL);
    if (o != COORD_COMPLETE)
        ck_assert_msg(w->fault == FAULT_ABORT || names_victim(w), "%s",
                      coordinator_reason(w->coordinator));
    if (o == COORD_PARTIAL)
        check_stopped(w);
    if (o == COORD_PARTIAL && w->fault != FAULT_QUIT && w->fault != FAULT_ABORT)
        ck_assert(!was_done);
}

static void check_interrupt(const struct world *w)
{
    if (!w->fault_done) {
        check_complete(w);
        return;
    }
    ck_assert_int_eq(coordinator_outcome(w->coordinator), COORD_INTERRUPTED);
    ck_assert_uint_le(w->finished_ns, w->fault_ns + NS_PER_SEC);
}

/* Everybody stops, and everything is collected; over a lossy link perhaps not in time. */
static void check_condition(const struct world *w)
{
    enum coord_outcome o = coordinator_outcome(w->coordinator);
    uint64_t t0 = coordinator_t0(w->coordinator);
    if (!w->fault_done || o == COORD_COMPLETE)
        return check_complete(w);
    ck_assert_str_eq(coordinator_reason(w->coordinator), "errors>100");
    if (t0 == 0 || w->finished_ns + WITHDRAWAL_NS < t0) {
        ck_assert_int_eq(o, COORD_COULD_NOT);
        return;
    }
    if (o == COORD_PARTIAL && w->loss_ppm > 0)
        return;
    ck_assert(o == COORD_ABORTED || (o == COORD_COULD_NOT && w->finished_ns <= t0));
    for (size_t i = 0; i < w->n && o == COORD_ABORTED; i++)
        ck_assert(w->peers[i].final && coordinator_agent(w->coordinator, i)->state == COORD_DONE);
    ck_assert_uint_le(w->finished_ns, (w->fault_ns > t0 ? w->fault_ns : t0) + 6 * NS_PER_SEC);
}

static void (*const expected[FAULTS])(const struct world *) = {
    [FAULT_NONE] = check_complete,          [FAULT_BUSY] = check_could_not,
    [FAULT_VERSION] = check_could_not,      [FAULT_PLAN] = check_could_not,
    [FAULT_UNREACHABLE] = check_could_not,  [FAULT_BLACK_HOLE] = check_could_not,
    [FAULT_SLOW_PREPARE] = check_could_not, [FAULT_NO_TARGET] = check_no_target,
    [FAULT_LATE_AGENT] = check_complete,    [FAULT_KILL] = check_loss,
    [FAULT_RESTART] = check_loss,           [FAULT_FREEZE] = check_loss,
    [FAULT_LINK_DROP] = check_link_drop,    [FAULT_QUIT] = check_loss,
    [FAULT_INTERRUPT] = check_interrupt,    [FAULT_ABORT] = check_loss,
    [FAULT_CONDITION] = check_condition,
};

START_TEST(test_rounds)
{
    uint64_t rng = check_seed() + (uint64_t)_i;
    for (int round = 0; round < ROUNDS / FAULTS; round++) {
        struct world w;
        make_world(&w, check_random(&rng), (enum fault)_i);
        play(&w);
        check_always(&w);
        expected[w.fault](&w);
        clear_world(&w);
    }
}
END_TEST

int main(void)
{
    log_open("test", LOG_LEVEL_ERROR);
    Suite *s = suite_create("coordinator");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    tcase_add_loop_test(t, test_rounds, 0, FAULTS);
    return check_main(s);
}
