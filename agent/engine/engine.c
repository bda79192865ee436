/* SPDX-License-Identifier: MIT */
#include "agent/engine/engine.h"

#include "agent/engine/pacer.h"
#include "agent/engine/row_walk.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/sm.h"

/* Sends in one go before socket events get their turn again. */
#define DISPATCH_MAX 256

/*
 *   IDLE --open--> OPENING --all tried--> READY --start--> WAITING --t0--> SENDING
 *                     |                                                       |
 *                     +----------------start--------------> WAITING           | all sent, give up,
 *                                                                             v stop
 *   ENDED <--stop before t0-- (any of the above)        ENDED <--landed-- DRAINING
 */
static const struct sm_state phases[ENGINE_PHASES] = {
    [ENGINE_IDLE] = {"idle", SM_BIT(ENGINE_OPENING) | SM_BIT(ENGINE_ENDED)},
    [ENGINE_OPENING] = {"opening",
                        SM_BIT(ENGINE_READY) | SM_BIT(ENGINE_WAITING) | SM_BIT(ENGINE_ENDED)},
    [ENGINE_READY] = {"ready", SM_BIT(ENGINE_WAITING) | SM_BIT(ENGINE_ENDED)},
    [ENGINE_WAITING] = {"waiting", SM_BIT(ENGINE_SENDING) | SM_BIT(ENGINE_ENDED)},
    [ENGINE_SENDING] = {"sending", SM_BIT(ENGINE_DRAINING)},
    [ENGINE_DRAINING] = {"draining", SM_BIT(ENGINE_ENDED)},
    [ENGINE_ENDED] = {"ended", 0},
};

struct engine {
    struct engine_config cfg;
    struct sm phase;
    struct pacer pacer;
    const struct series_map *series; /* the recorder's */
    uint32_t own_row;                /* of what belongs to no request: the warm-up's, then 0 */
    uint64_t warm_ns;  /* when the warm-up is over; NS_NEVER = it is, or there is none */
    uint64_t limit_ns; /* time at the limit is counted until then */
    void *client;
    uint64_t give_up_ns; /* no send from here on: end of the schedule + timeout */
    uint64_t drained_ns; /* DRAINING ends here at the latest */
    uint32_t idle_seen;  /* idle connections when we last looked */
    int fault;           /* last enum client_fault, -1 = none */
    int fault_code;
    bool forbidden;   /* a connection to a forbidden address was about to be opened */
    bool dispatching; /* a submit may complete at once and call back into dispatch */
    bool discard;     /* engine_free: the recorder is not ours any more */
};

static bool in_phase(const struct engine *e, enum engine_phase p)
{
    return sm_state(&e->phase) == p;
}

static uint64_t stamp(const struct engine *e, uint64_t now_ns)
{
    return e->cfg.now == NULL ? now_ns : e->cfg.now();
}

static uint32_t idle(const struct engine *e)
{
    return e->cfg.ops->idle(e->client);
}

static uint32_t row_of(const struct engine *e, uint64_t tag, uint64_t due_ns)
{
    return series_map_row(e->series, tag, due_ns - e->pacer.t0_ns);
}

/* A request that was due at due_ns has waited for a connection until now. */
static void note_limit(struct engine *e, uint64_t due_ns, uint64_t now_ns)
{
    uint64_t from_ns = due_ns > e->limit_ns ? due_ns : e->limit_ns;
    if (now_ns > from_ns)
        recorder_limit(e->cfg.recorder, e->own_row, now_ns - from_ns);
}

/* Of the ways not to be sent. */
static const row_walk_fn unsent[DUMP_OUTCOMES] = {
    [DUMP_UNSENT_NO_CONNECTION] = recorder_unsent_no_connection,
    [DUMP_UNSENT_STOPPED] = recorder_unsent_stopped,
    [DUMP_UNSENT_DROPPED] = recorder_unsent_dropped,
};

static void give_up(struct engine *e, struct pacer_range slots, uint64_t now_ns,
                    enum dump_outcome why)
{
    row_walk(e->cfg.recorder, &e->pacer, slots, now_ns, unsent[why]);
    if (e->cfg.dump != NULL)
        dump_ring_unsent(e->cfg.dump, &e->pacer, slots, why);
}

/* A slot's class depends on how many connections were idle UNTIL now: the one whose becoming free
 * brings us here was not, and one that was lost meanwhile is of no use. */
static void look(struct engine *e, uint64_t now_ns)
{
    uint32_t idle_now = idle(e);
    uint32_t usable = idle_now < e->idle_seen ? idle_now : e->idle_seen;
    if (e->pacer.closed)
        usable = idle_now > 0; /* due when sent, one by one: none is left over */
    uint64_t n = pacer_advance(&e->pacer, now_ns, usable);
    if (e->series->n == 1)
        recorder_due(e->cfg.recorder, 0, n);
    else if (!e->pacer.closed) /* those of a closed loop are told of when they are sent */
        row_walk_due(e->cfg.recorder, &e->pacer, n);
    if (e->pacer.drop)
        give_up(e, pacer_shed(&e->pacer), now_ns, DUMP_UNSENT_DROPPED);
}

static inline void note_due(struct engine *e, uint64_t now_ns)
{
    if (now_ns >= e->pacer.next_ns) /* most looks find nothing */
        look(e, now_ns);
}

static void send_oldest(struct engine *e, uint64_t now_ns)
{
    struct pacer_slot s = pacer_oldest(&e->pacer);
    if (e->pacer.closed)
        s.due_ns = now_ns;
    uint32_t row = row_of(e, s.tag, s.due_ns);
    if (e->pacer.closed && e->series->n > 1)
        recorder_due(e->cfg.recorder, row, 1);
    pacer_sent(&e->pacer);
    /* A connection that became free at the due instant itself was not waited for. */
    bool waited = s.waiting && now_ns > s.due_ns;
    if (waited)
        note_limit(e, s.due_ns, now_ns);
    e->limit_ns = now_ns;
    recorder_sent(e->cfg.recorder, row, s.due_ns, now_ns, waited);
    e->cfg.ops->submit(e->client, s.tag, s.due_ns, now_ns);
}

/* fresh: now_ns was read just now, and stands for the first send. */
static void dispatch(struct engine *e, uint64_t now_ns, bool fresh)
{
    if (!in_phase(e, ENGINE_SENDING) || e->dispatching)
        return;
    if (e->pacer.closed && idle(e) == 0)
        return; /* nothing is due before it can be sent */
    note_due(e, now_ns);
    e->dispatching = true;
    for (int n = 0; n < DISPATCH_MAX && idle(e) > 0; n++) {
        if (pacer_backlog(&e->pacer) == 0 && !e->pacer.closed)
            break;
        uint64_t at_ns = fresh && n == 0 ? now_ns : stamp(e, now_ns);
        if (e->pacer.closed && n > 0)
            note_due(e, at_ns);
        if (pacer_backlog(&e->pacer) == 0 || (at_ns >= e->give_up_ns && !e->pacer.closed))
            break;
        send_oldest(e, at_ns);
    }
    e->dispatching = false;
    if (e->pacer.drop)
        note_due(e, now_ns); /* what could not become due before those were sent */
    e->idle_seen = idle(e);
}

/* Before something that may change what is idle. Requests of a closed loop are due when they are
 * sent, never before. */
static void catch_up(struct engine *e, uint64_t now_ns)
{
    if (in_phase(e, ENGINE_SENDING) && !e->pacer.closed)
        note_due(e, now_ns);
}

static void on_done(void *arg, const struct client_result *r)
{
    struct engine *e = arg;
    if (e->discard)
        return;
    catch_up(e, r->done_ns);
    recorder_result(e->cfg.recorder, row_of(e, r->tag, r->due_ns), r);
    if (e->cfg.dump != NULL)
        dump_ring_result(e->cfg.dump, r);
}

static void on_ready(void *arg, uint64_t now_ns)
{
    struct engine *e = arg;
    if (in_phase(e, ENGINE_SENDING))
        dispatch(e, stamp(e, now_ns), true);
    else
        e->idle_seen = idle(e);
}

/* What became due until now had that connection no more; what becomes due from now on counts with
 * those that are left, also when another one has become idle by then. */
static void on_lost(void *arg, uint64_t now_ns)
{
    struct engine *e = arg;
    if (e->discard)
        return;
    catch_up(e, now_ns);
    e->idle_seen = idle(e);
}

static void on_fault(void *arg, enum client_fault f, int code)
{
    struct engine *e = arg;
    if (e->discard)
        return;
    if (f != FAULT_EXTRA_BYTES && f != FAULT_REDIRECT) { /* those are about an open connection */
        e->fault = (int)f;
        e->fault_code = code;
    }
    e->forbidden = e->forbidden || f == FAULT_POLICY;
    recorder_fault(e->cfg.recorder, f, code);
}

static void on_shaken(void *arg, const struct conn_handshake *h)
{
    struct engine *e = arg;
    if (!e->discard)
        recorder_handshake(e->cfg.recorder, h);
}

static void on_first(void *arg, uint64_t done_ns, uint64_t body_bytes, const char *server)
{
    struct engine *e = arg;
    if (!e->discard)
        recorder_first(e->cfg.recorder, done_ns, body_bytes, server);
}

static void on_debug(void *arg, const char *text, size_t len)
{
    struct engine *e = arg;
    if (!e->discard)
        recorder_debug(e->cfg.recorder, text, len);
}

static void on_reached(void *arg, const struct target_addr *to)
{
    struct engine *e = arg;
    if (!e->discard)
        recorder_reached(e->cfg.recorder, to);
}

static void on_opened(void *arg, uint64_t took_ns)
{
    struct engine *e = arg;
    if (!e->discard)
        recorder_connect(e->cfg.recorder, took_ns);
}

enum err engine_new(const struct engine_config *cfg, struct engine **out, struct errmsg *msg)
{
    struct engine *e = mem_calloc(1, sizeof *e);
    e->cfg = *cfg;
    e->cfg.env.timeout_ns = cfg->timeout_ns;
    e->cfg.env.arg = e;
    e->cfg.env.done = on_done;
    e->cfg.env.ready = on_ready;
    e->cfg.env.lost = on_lost;
    e->cfg.env.fault = on_fault;
    e->cfg.env.shaken = on_shaken;
    e->cfg.env.reached = on_reached;
    e->cfg.env.opened = on_opened;
    e->cfg.env.first = on_first;
    e->cfg.env.debug = on_debug;
    e->fault = -1;
    e->series = recorder_series(cfg->recorder);
    e->own_row = e->series->warmup != UINT32_MAX ? e->series->warmup : 0;
    e->warm_ns = NS_NEVER;
    sm_init(&e->phase, phases, ENGINE_PHASES, ENGINE_IDLE, "engine");
    pacer_init(&e->pacer, &cfg->schedule, cfg->quantum_ns);
    e->pacer.drop = cfg->drop;
    recorder_closed_loop(cfg->recorder, e->pacer.closed);
    if (cfg->from_send)
        recorder_from_send(cfg->recorder);
    recorder_late_beyond(cfg->recorder, PACER_LATE_NS + cfg->quantum_ns);
    e->client = mem_calloc(1, cfg->ops->state_size);
    enum err err = cfg->ops->init(e->client, &e->cfg.env, msg);
    if (err != ERR_OK) {
        mem_free(e->client);
        mem_free(e);
        return err;
    }
    *out = e;
    return ERR_OK;
}

void engine_free(struct engine *e)
{
    if (e == NULL)
        return;
    e->discard = true;
    if (!in_phase(e, ENGINE_ENDED) && !in_phase(e, ENGINE_IDLE))
        e->cfg.ops->stop(e->client, 0);
    e->cfg.ops->fini(e->client);
    mem_free(e->client);
    mem_free(e);
}

void engine_open(struct engine *e, uint64_t now_ns)
{
    sm_move(&e->phase, ENGINE_OPENING);
    e->cfg.ops->open(e->client, now_ns);
}

void engine_start(struct engine *e, uint64_t t0_ns)
{
    if (!in_phase(e, ENGINE_OPENING) && !in_phase(e, ENGINE_READY))
        return;
    pacer_start(&e->pacer, t0_ns);
    if (e->own_row != 0)
        e->warm_ns = clock_add(t0_ns, e->series->warmup_ns);
    /* A closed loop owes nothing to requests that were not sent. */
    uint64_t grace_ns = e->pacer.closed ? 0 : e->cfg.timeout_ns;
    e->give_up_ns = clock_add(pacer_end(&e->pacer), grace_ns);
    sm_move(&e->phase, ENGINE_WAITING);
}

void engine_collect(struct engine *e, uint64_t now_ns)
{
    struct client_traffic t = {0};
    e->cfg.ops->traffic(e->client, &t);
    recorder_traffic(e->cfg.recorder, e->own_row, &t);
    if (pacer_backlog(&e->pacer) == 0 || e->pacer.closed)
        return;
    struct pacer_slot s = pacer_oldest(&e->pacer);
    if (!s.waiting)
        return;
    note_limit(e, s.due_ns, now_ns);
    if (now_ns > e->limit_ns)
        e->limit_ns = now_ns;
}

static void end_warmup(struct engine *e, uint64_t now_ns)
{
    engine_collect(e, now_ns);
    e->own_row = 0;
    e->warm_ns = NS_NEVER;
}

static void finish(struct engine *e, uint64_t now_ns)
{
    if (!in_phase(e, ENGINE_IDLE))
        e->cfg.ops->stop(e->client, now_ns);
    engine_collect(e, now_ns);
    sm_move(&e->phase, ENGINE_ENDED);
}

/* Closes the schedule: what is due and not sent stays so, and nothing that a quantum held back is
 * forgotten. */
static void begin_drain(struct engine *e, uint64_t now_ns, uint64_t drain_ns, enum dump_outcome why)
{
    pacer_exact(&e->pacer);
    catch_up(e, now_ns);
    engine_collect(e, now_ns);
    struct pacer_range rest = pacer_close(&e->pacer);
    row_walk(e->cfg.recorder, &e->pacer, rest, now_ns, unsent[why]);
    if (e->cfg.dump != NULL)
        dump_ring_rest(e->cfg.dump, &e->pacer, rest, why);
    e->drained_ns = clock_add(now_ns, drain_ns);
    sm_move(&e->phase, ENGINE_DRAINING);
}

static void step_opening(struct engine *e, uint64_t now_ns)
{
    (void)now_ns;
    if (e->cfg.ops->attempted(e->client) >= e->cfg.env.connections)
        sm_move(&e->phase, ENGINE_READY);
}

static void step_waiting(struct engine *e, uint64_t now_ns)
{
    if (now_ns >= e->pacer.t0_ns)
        sm_move(&e->phase, ENGINE_SENDING);
}

static void step_sending(struct engine *e, uint64_t now_ns)
{
    if (now_ns >= e->warm_ns)
        end_warmup(e, now_ns);
    dispatch(e, now_ns, e->cfg.now == NULL);
    /* A fresh stamp: the last request was sent after now_ns and has its whole timeout. */
    if (pacer_exhausted(&e->pacer) || now_ns >= e->give_up_ns)
        begin_drain(e, stamp(e, now_ns), e->cfg.timeout_ns, DUMP_UNSENT_NO_CONNECTION);
}

static void step_draining(struct engine *e, uint64_t now_ns)
{
    if (e->cfg.ops->in_flight(e->client) == 0 || now_ns >= e->drained_ns)
        finish(e, now_ns);
}

static void step_none(struct engine *e, uint64_t now_ns)
{
    (void)e;
    (void)now_ns;
}

static uint64_t wake_none(const struct engine *e)
{
    (void)e;
    return NS_NEVER;
}

static uint64_t wake_waiting(const struct engine *e)
{
    return e->pacer.t0_ns;
}

static uint64_t wake_sending(const struct engine *e)
{
    if (pacer_exhausted(&e->pacer))
        return 0;
    uint64_t pace_ns = pacer_wake(&e->pacer, idle(e));
    return pace_ns < e->give_up_ns ? pace_ns : e->give_up_ns;
}

static uint64_t wake_draining(const struct engine *e)
{
    return e->cfg.ops->in_flight(e->client) == 0 ? 0 : e->drained_ns;
}

/* What each phase does when pumped, and when it wants to be. */
static const struct {
    void (*step)(struct engine *e, uint64_t now_ns);
    uint64_t (*wake)(const struct engine *e);
} actions[ENGINE_PHASES] = {
    [ENGINE_IDLE] = {step_none, wake_none},
    [ENGINE_OPENING] = {step_opening, wake_none},
    [ENGINE_READY] = {step_none, wake_none},
    [ENGINE_WAITING] = {step_waiting, wake_waiting},
    [ENGINE_SENDING] = {step_sending, wake_sending},
    [ENGINE_DRAINING] = {step_draining, wake_draining},
    [ENGINE_ENDED] = {step_none, wake_none},
};

void engine_pump(struct engine *e, uint64_t now_ns)
{
    /* Timeouts first: at its deadline a request is late, whatever else happens at that instant. */
    if (!in_phase(e, ENGINE_IDLE) && !in_phase(e, ENGINE_ENDED) &&
        now_ns >= e->cfg.ops->deadline(e->client))
        e->cfg.ops->expire(e->client, now_ns);
    unsigned before;
    do {
        before = sm_state(&e->phase);
        actions[before].step(e, now_ns);
    } while (sm_state(&e->phase) != before);
}

uint64_t engine_wake(const struct engine *e)
{
    if (in_phase(e, ENGINE_IDLE) || in_phase(e, ENGINE_ENDED))
        return NS_NEVER;
    uint64_t client_ns = e->cfg.ops->deadline(e->client);
    uint64_t phase_ns = actions[sm_state(&e->phase)].wake(e);
    return client_ns < phase_ns ? client_ns : phase_ns;
}

uint64_t engine_due(const struct engine *e)
{
    if (in_phase(e, ENGINE_WAITING))
        return e->pacer.t0_ns;
    if (!in_phase(e, ENGINE_SENDING) || e->pacer.closed)
        return NS_NEVER;
    return pacer_wake(&e->pacer, idle(e));
}

enum err engine_reshare(struct engine *e, uint64_t from, const struct share *share, uint64_t now_ns,
                        struct errmsg *msg)
{
    if (sm_state(&e->phase) > ENGINE_SENDING)
        return errmsg_set(msg, ERR_STATE, "nothing more is sent here");
    return pacer_reshare(&e->pacer, from, share, now_ns, msg);
}

void engine_stop(struct engine *e, uint64_t now_ns, uint64_t drain_ns)
{
    if (in_phase(e, ENGINE_ENDED))
        return;
    if (drain_ns > e->cfg.timeout_ns)
        drain_ns = e->cfg.timeout_ns;
    if (in_phase(e, ENGINE_WAITING))
        step_waiting(e, now_ns); /* t0 may have come without a pump */
    if (in_phase(e, ENGINE_SENDING)) {
        begin_drain(e, now_ns, drain_ns, DUMP_UNSENT_STOPPED);
    } else if (!in_phase(e, ENGINE_DRAINING)) {
        finish(e, now_ns);
        return;
    }
    e->cfg.ops->quiesce(e->client, now_ns);
    if (e->drained_ns > clock_add(now_ns, drain_ns))
        e->drained_ns = clock_add(now_ns, drain_ns);
    engine_pump(e, now_ns);
}

enum engine_phase engine_phase(const struct engine *e)
{
    return (enum engine_phase)sm_state(&e->phase);
}

uint64_t engine_backlog(const struct engine *e)
{
    return pacer_backlog(&e->pacer);
}

uint64_t engine_in_flight(const struct engine *e)
{
    return e->cfg.ops->in_flight(e->client);
}

uint32_t engine_connected(const struct engine *e)
{
    return e->cfg.ops->connected(e->client);
}

int engine_fault(const struct engine *e, int *code)
{
    *code = e->fault_code;
    return e->fault;
}

bool engine_forbidden(const struct engine *e)
{
    return e->forbidden;
}

void *engine_client(struct engine *e)
{
    return e->client;
}
