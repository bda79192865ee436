/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/run/clock_estimate.h"
#include "controller/run/coordinator_impl.h"

/* --- moves and messages out ------------------------------------------------------------------- */

/* A new state has no deadline and repeats nothing until its entry says so. */
void coord_move(struct coord_agent *a, enum coord_agent_state to)
{
    sm_move(&a->sm, to);
    a->in_state[a->info.state]--;
    a->in_state[to]++;
    a->info.state = to;
    coord_touch(a);
    a->deadline_ns = a->repeat_ns = NS_NEVER;
}

void coord_emit_agent(struct coordinator *c, enum coord_action_kind kind, size_t i,
                      const struct msg *m)
{
    struct coord_action act = {.kind = kind, .agent = i, .msg = m};
    c->cfg.emit(c->cfg.arg, &act);
}

void coord_send(struct coordinator *c, size_t i, struct msg *m)
{
    struct coord_agent *a = &c->agents[i];
    bool any_time = m->type == MSG_HELLO || m->type == MSG_BYE;
    coord_touch(a); /* whoever sends also sets the timer of the answer */
    if (a->up && !a->closed && (a->greeted || any_time))
        coord_emit_agent(c, COORD_SEND, i, m);
}

static void send_prepare(struct coordinator *c, size_t i)
{
    const struct coord_agent *a = &c->agents[i];
    const struct plan_part *part = &a->info.part;
    struct msg m = {.type = MSG_PREPARE};
    m.prepare.command = a->command;
    memcpy(m.prepare.run, c->cfg.run, MSG_ID_LEN);
    m.prepare.plan = (struct wire_blob){c->plan_bytes, c->plan_len};
    m.prepare.total = part->total;
    m.prepare.first = part->first;
    m.prepare.weight = part->weight;
    m.prepare.connections = part->connections;
    m.prepare.threads = part->threads;
    m.prepare.max_connections = part->max_connections;
    coord_send(c, i, &m);
}

static void send_probe(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    struct msg m = {.type = MSG_PROBE};
    uint64_t patience = 4 * a->info.rtt_ns;
    a->probe++;
    a->probe_t1_ns[a->probe % COORD_PROBES_KEPT] = now_ns;
    a->repeat_ns =
        clock_add(now_ns, patience > COORD_PROBE_LOST_NS ? patience : COORD_PROBE_LOST_NS);
    m.probe.t1_ns = now_ns;
    m.probe.probe = a->probe;
    coord_send(c, i, &m);
}

static void send_arm(struct coordinator *c, size_t i)
{
    struct msg m = {.type = MSG_ARM};
    m.arm.command = c->agents[i].command;
    m.arm.at_ns = c->agents[i].info.at_ns;
    coord_send(c, i, &m);
}

static void send_stop(struct coordinator *c, size_t i)
{
    const struct coord_agent *a = &c->agents[i];
    struct msg m = {.type = MSG_STOP};
    m.stop.command = a->command;
    m.stop.drain_ns = a->drain_ns;
    memcpy(m.stop.reason, a->stop_reason, sizeof m.stop.reason);
    coord_send(c, i, &m);
}

static void send_ack(struct coordinator *c, size_t i, bool resend)
{
    struct msg m = {.type = MSG_ACK};
    m.ack.ack_seq = c->agents[i].acked_seq = c->agents[i].info.last_seq;
    m.ack.resend = resend;
    coord_send(c, i, &m);
}

/* Snapshots up to `seq` exist: asks for what is missing, and again until all of it is here. */
static void missing(struct coordinator *c, size_t i, uint64_t now_ns, uint64_t seq)
{
    struct coord_agent *a = &c->agents[i];
    if (seq > a->known_seq)
        a->known_seq = seq;
    if (a->resend_ns != NS_NEVER)
        return;
    a->resend_ns = clock_add(now_ns, COORD_RESEND_NS);
    send_ack(c, i, true);
}

void coord_resend(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    a->resend_ns = NS_NEVER;
    if (a->known_seq > a->info.last_seq)
        missing(c, i, now_ns, a->known_seq);
}

/* Some may be lost, late, or not answered. An agent whose snapshots come is heard anyway: it needs
 * the PING for its lease alone, and those of a thousand agents cost more than what they carry. */
static uint64_t ping_every(const struct coordinator *c, struct coord_agent *a)
{
    bool heard = a->info.state == COORD_RUNNING && a->info.last_seq > a->ping_seq &&
                 c->cfg.plan->interval_ns <= COORD_PING_NS;
    uint64_t most_ns = heard ? COORD_PING_RUN_NS : COORD_PING_NS;
    uint64_t every_ns = c->cfg.patience.lease_ns / (heard ? 5 : 6);
    a->ping_seq = a->info.last_seq;
    return every_ns < most_ns ? every_ns : most_ns;
}

void coord_ping(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    struct msg m = {.type = MSG_PING};
    m.ping.t1_ns = a->ping_t1_ns = now_ns;
    m.ping.ack_seq = a->acked_seq = a->info.last_seq;
    a->ping_ns = clock_add(now_ns, ping_every(c, a));
    coord_send(c, i, &m);
}

/* --- commands --------------------------------------------------------------------------------- */

void coord_prepare(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    coord_move(a, COORD_PREPARING);
    a->command = c->next_command++;
    a->deadline_ns = clock_add(now_ns, clock_add(COORD_PREPARE_NS, c->cfg.plan->timeout_ns));
    a->repeat_ns = clock_add(now_ns, COORD_REPEAT_NS);
    send_prepare(c, i);
}

static void probed(struct coord_agent *a, uint64_t now_ns)
{
    a->info.error_ns = (a->info.rtt_ns + 1) / 2;
    drift_begin(&a->info.drift, now_ns, a->info.offset_ns, a->info.error_ns);
    coord_move(a, COORD_PROBED);
}

void coord_probe(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    if (a->info.same_clock) {
        coord_move(a, COORD_PROBED);
        return;
    }
    coord_move(a, COORD_PROBING);
    a->deadline_ns = clock_add(now_ns, COORD_PROBING_NS);
    send_probe(c, i, now_ns);
}

uint64_t coord_lead(struct coordinator *c)
{
    uint64_t worst = 0, slowest = 0;
    bool local = true;
    for (size_t i = 0; i < c->n; i++) {
        const struct coord_agent *a = &c->agents[i];
        if (coord_terminal(a))
            continue;
        worst = a->info.rtt_ns > worst ? a->info.rtt_ns : worst;
        slowest = a->probe_slowest_ns > slowest ? a->probe_slowest_ns : slowest;
        local = local && a->info.same_clock;
    }
    uint64_t needed = 4 * (worst > slowest ? worst : slowest) + COORD_LEAD_AGENT_NS * c->n;
    uint64_t least = local ? COORD_LEAD_LOCAL_NS : COORD_LEAD_NS;
    /* Half of it: the way there and the clock error. */
    c->margin_ns = COORD_MARGIN_NS + (2 * worst > slowest ? 2 * worst : slowest);
    return needed > least ? needed : least;
}

void coord_arm(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    coord_move(a, COORD_ARMING);
    a->command = c->next_command++;
    a->info.at_ns = c->t0_ns + (uint64_t)a->info.offset_ns;
    a->repeat_ns = clock_add(now_ns, COORD_ARM_REPEAT_NS);
    send_arm(c, i);
}

void coord_stop(struct coordinator *c, size_t i, uint64_t now_ns, uint64_t drain_ns,
                uint64_t answer_ns, const char *reason)
{
    struct coord_agent *a = &c->agents[i];
    uint64_t deadline = clock_add(now_ns, clock_add(drain_ns, answer_ns));
    if (a->info.state == COORD_STOPPING && a->deadline_ns < deadline)
        deadline = a->deadline_ns;
    if (a->info.state != COORD_STOPPING)
        coord_move(a, COORD_STOPPING);
    a->command = c->next_command++;
    a->deadline_ns = deadline;
    a->repeat_ns = clock_add(now_ns, COORD_STOP_REPEAT_NS);
    a->drain_ns = drain_ns;
    a->stop_asked = true;
    snprintf(a->stop_reason, sizeof a->stop_reason, "%s", reason);
    send_stop(c, i);
}

/* Of a lost agent: should its load go on, it must not; its results come all the same. */
void coord_stop_now(struct coordinator *c, size_t i)
{
    struct coord_agent *a = &c->agents[i];
    a->command = c->next_command++;
    a->drain_ns = 0;
    snprintf(a->stop_reason, sizeof a->stop_reason, "taken for lost");
    send_stop(c, i);
}

void coord_await_final(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    if (a->info.state == COORD_STOPPING)
        return;
    coord_move(a, COORD_STOPPING);
    a->deadline_ns = clock_add(now_ns, clock_add(COORD_STOP_NS, COORD_STOP_NS));
    a->repeat_ns = clock_add(now_ns, COORD_STOP_REPEAT_NS);
    a->drain_ns = 0;
    snprintf(a->stop_reason, sizeof a->stop_reason, "the run has ended");
}

void coord_await_start(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    coord_move(a, COORD_ARMED);
    a->deadline_ns = clock_add(now_ns, COORD_START_NS);
    a->repeat_ns = clock_add(now_ns, COORD_STOP_REPEAT_NS);
}

/* Enough clock probes, or one more. */
static void next_probe(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    uint32_t wanted = a->info.rtt_ns > COORD_FAR_NS ? COORD_PROBES_FAR : COORD_PROBES;
    if (a->probe >= wanted && a->probes_good >= COORD_PROBES_MIN)
        probed(a, now_ns);
    else
        send_probe(c, i, now_ns);
}

void coord_repeat(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    static const struct {
        void (*send)(struct coordinator *c, size_t i);
        uint64_t every_ns;
    } repeats[COORD_STATES] = {
        [COORD_PREPARING] = {send_prepare, COORD_REPEAT_NS},
        [COORD_ARMING] = {send_arm, COORD_ARM_REPEAT_NS},
        [COORD_ARMED] = {send_arm, COORD_REPEAT_NS}, /* answered by STARTED once it runs */
        [COORD_STOPPING] = {send_stop, COORD_STOP_REPEAT_NS},
    };
    a->repeat_ns = NS_NEVER;
    if (a->info.state == COORD_PROBING) {
        next_probe(c, i, now_ns);
    } else if (repeats[a->info.state].send != NULL) {
        a->repeat_ns = clock_add(now_ns, repeats[a->info.state].every_ns);
        repeats[a->info.state].send(c, i);
    }
}

/* --- messages in ------------------------------------------------------------------------------ */

static void on_probe_reply(struct coordinator *c, size_t i, const struct coord_event *ev)
{
    struct coord_agent *a = &c->agents[i];
    const struct msg_probe_reply *p = &ev->msg->probe_reply;
    struct clock_estimate e = {a->info.rtt_ns, a->info.offset_ns, a->probes_good};
    uint64_t *t1 = &a->probe_t1_ns[p->probe % COORD_PROBES_KEPT];
    if (p->t1_ns != *t1 || *t1 == 0 || !clock_estimate_add(&e, *t1, p->t2_ns, p->t3_ns, ev->rx_ns))
        return;
    uint64_t took_ns = clock_elapsed(*t1, ev->rx_ns), most_ns = COORD_LEAD_LOSSY_NS / 4;
    if (took_ns > a->probe_slowest_ns)
        a->probe_slowest_ns = took_ns < most_ns ? took_ns : most_ns;
    *t1 = 0;
    a->info.rtt_ns = e.rtt_ns;
    a->info.offset_ns = e.offset_ns;
    a->probes_good = e.good;
    if (p->probe == a->probe)
        next_probe(c, i, ev->now_ns);
}

static void on_prepared(struct coordinator *c, size_t i, const struct coord_event *ev)
{
    struct coord_agent *a = &c->agents[i];
    const struct msg_prepared *p = &ev->msg->prepared;
    if (p->command != a->command)
        return;
    a->info.connections_open = p->connections;
    a->info.part.threads = p->threads;
    snprintf(a->info.address, sizeof a->info.address, "%s", p->address);
    snprintf(a->info.problem, sizeof a->info.problem, "%s", p->problem);
    msg_sanitise(a->info.address);
    msg_sanitise(a->info.problem);
    coord_move(a, COORD_PREPARED);
}

static void on_error(struct coordinator *c, size_t i, const struct coord_event *ev)
{
    const struct msg_error *e = &ev->msg->error;
    if (e->command != c->agents[i].command)
        return;
    coord_fail(c, i, COORD_REFUSED, ev->now_ns, "%s", e->text);
}

static void on_armed(struct coordinator *c, size_t i, const struct coord_event *ev)
{
    struct coord_agent *a = &c->agents[i];
    if (ev->msg->armed.command != a->command)
        return;
    coord_await_start(c, i, c->t0_ns);
}

void coord_began(struct coordinator *c, size_t i, uint64_t started_ns)
{
    struct coord_agent_info *info = &c->agents[i].info;
    if (started_ns == 0)
        return;
    c->n_started += info->started_ns == 0;
    info->started_ns = started_ns;
}

/* Known by STARTED, by a PONG or by what only a started agent sends. */
static void running(struct coordinator *c, size_t i, uint64_t started_ns, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    coord_began(c, i, started_ns);
    if (a->info.state != COORD_ARMED)
        return;
    coord_move(a, COORD_RUNNING);
    a->deadline_ns = clock_add(now_ns, COORD_STOP_NS); /* known late: it has been late itself */
    if (a->deadline_ns < c->end_ns)
        a->deadline_ns = c->end_ns;
}

static void on_started(struct coordinator *c, size_t i, const struct coord_event *ev)
{
    running(c, i, ev->msg->started.actual_ns, ev->now_ns);
}

static void on_pong(struct coordinator *c, size_t i, const struct coord_event *ev)
{
    struct coord_agent *a = &c->agents[i];
    const struct msg_pong *p = &ev->msg->pong;
    coord_ponged(c, i, ev->now_ns);
    if (p->started_ns != 0)
        running(c, i, p->started_ns, ev->now_ns);
    if (p->t1_ns == a->ping_t1_ns)
        drift_probe(&a->info.drift, p->t1_ns, p->t2_ns, p->t3_ns, ev->rx_ns);
    /* A snapshot may be just behind a PONG; one that is missing at the next PONG too is lost. */
    if (p->last_seq > a->info.last_seq && a->remote_seq > a->info.last_seq)
        missing(c, i, ev->now_ns, a->remote_seq);
    a->remote_seq = p->last_seq;
    if (p->state == AGENT_ENDED && a->info.state == COORD_RUNNING)
        coord_await_final(c, i, ev->now_ns);
    else if (p->state == AGENT_ENDED && a->info.state < COORD_RUNNING)
        coord_fail(c, i, COORD_LOST, ev->now_ns, "it ended before the start");
}

static void on_snapshot(struct coordinator *c, size_t i, const struct coord_event *ev)
{
    struct coord_agent *a = &c->agents[i];
    uint64_t seq = ev->msg->snapshot.seq;
    if (seq > a->info.last_seq + 1) {
        missing(c, i, ev->now_ns, seq);
        return;
    }
    if (seq == a->info.last_seq + 1) {
        a->info.last_seq = seq;
        coord_emit_agent(c, COORD_SNAPSHOT, i, ev->msg);
    }
    if (a->info.last_seq >= a->acked_seq + COORD_ACK_EVERY)
        send_ack(c, i, false);
}

/* They are never sent again: what is missing is known by its number. */
static void on_requests(struct coordinator *c, size_t i, const struct coord_event *ev)
{
    coord_emit_agent(c, COORD_REQUESTS, i, ev->msg);
}

static void done(struct coordinator *c, size_t i, const struct coord_event *ev)
{
    struct coord_agent *a = &c->agents[i];
    const struct msg_final *f = &ev->msg->final;
    running(c, i, f->started_ns, ev->now_ns);
    a->info.end_reason = f->reason;
    a->ended_ns = f->ended_ns;
    if (f->text[0] != '\0' && !a->stop_asked)
        snprintf(a->info.problem, sizeof a->info.problem, "%s", f->text);
    msg_sanitise(a->info.problem);
    coord_emit_agent(c, COORD_FINAL, i, ev->msg);
    coord_move(a, COORD_DONE);
    coord_release(c, i);
    if (f->reason != END_FINISHED && !a->stop_asked)
        coord_ended_early(c, i, ev->now_ns, f->reason);
}

/* A lost agent's last word: the figures are whole again, the loss remains. */
static void collected(struct coordinator *c, size_t i, const struct coord_event *ev)
{
    struct coord_agent *a = &c->agents[i];
    a->info.collected = true;
    a->info.uncollected = false;
    a->load_ns = ev->now_ns;
    a->info.end_reason = ev->msg->final.reason;
    coord_began(c, i, ev->msg->final.started_ns);
    coord_emit_agent(c, COORD_FINAL, i, ev->msg);
    coord_note(c, "agent %s: what it did until it stopped has been collected", coord_address(c, i));
    coord_release(c, i);
}

static void on_final(struct coordinator *c, size_t i, const struct coord_event *ev)
{
    struct coord_agent *a = &c->agents[i];
    const struct msg_final *f = &ev->msg->final;
    bool never_began = a->info.started_ns == 0 && f->started_ns == 0 && !a->stop_asked;
    if (a->salvage && f->last_seq < a->info.last_seq) {
        coord_release(c, i);
    } else if (a->salvage && f->last_seq == a->info.last_seq) {
        collected(c, i, ev);
    } else if (a->info.state < COORD_ARMED || (never_began && !a->salvage)) {
        coord_fail(c, i, COORD_LOST, ev->now_ns, "it ended before the start: %s",
                   f->text[0] != '\0' ? f->text : "no reason given");
    } else if (f->last_seq > a->info.last_seq) {
        missing(c, i, ev->now_ns, f->last_seq); /* brings the final results again as well */
        if (!a->salvage) {
            running(c, i, f->started_ns, ev->now_ns);
            coord_await_final(c, i, ev->now_ns);
        }
    } else if (f->last_seq < a->info.last_seq) {
        coord_fail(c, i, COORD_LOST, ev->now_ns,
                   "it contradicts itself: %" PRIu64 " intervals sent, %" PRIu64 " counted",
                   a->info.last_seq, f->last_seq);
    } else {
        done(c, i, ev);
    }
}

#define HOLDING                                                                                    \
    (SM_BIT(COORD_HELD) | SM_BIT(COORD_PREPARING) | SM_BIT(COORD_PREPARED) |                       \
     SM_BIT(COORD_PROBING) | SM_BIT(COORD_PROBED))
#define STARTING  (SM_BIT(COORD_ARMING) | SM_BIT(COORD_ARMED))
#define SALVAGE   SM_BIT(COORD_LOST)
#define UNDER_WAY (SM_BIT(COORD_ARMED) | SM_BIT(COORD_RUNNING) | SM_BIT(COORD_STOPPING))

/* A message in another state is a late repetition: ignored. */
static const struct {
    enum msg_type type;
    uint32_t states;
    void (*handle)(struct coordinator *c, size_t i, const struct coord_event *ev);
} handlers[] = {
    {MSG_WELCOME, SM_BIT(COORD_GREETING) | HOLDING | STARTING | UNDER_WAY | SALVAGE, coord_welcome},
    {MSG_REFUSE, SM_BIT(COORD_GREETING) | HOLDING | STARTING | UNDER_WAY | SALVAGE, coord_refuse},
    {MSG_PROBE_REPLY, SM_BIT(COORD_PROBING), on_probe_reply},
    {MSG_PREPARED, SM_BIT(COORD_PREPARING), on_prepared},
    {MSG_ERROR, SM_BIT(COORD_PREPARING) | SM_BIT(COORD_ARMING), on_error},
    {MSG_ARMED, SM_BIT(COORD_ARMING), on_armed},
    {MSG_STARTED, UNDER_WAY, on_started},
    {MSG_PONG, HOLDING | STARTING | UNDER_WAY, on_pong},
    {MSG_SNAPSHOT, UNDER_WAY | SALVAGE, on_snapshot},
    {MSG_FINAL, HOLDING | STARTING | UNDER_WAY | SALVAGE, on_final},
    {MSG_RESHARED, UNDER_WAY, coord_reshared},
    {MSG_REQUESTS, UNDER_WAY | SALVAGE, on_requests},
};

void coord_message(struct coordinator *c, size_t i, const struct coord_event *ev)
{
    struct coord_agent *a = &c->agents[i];
    enum msg_type t = ev->msg->type;
    if (!a->up || (coord_terminal(a) && !a->salvage))
        return;
    if (!a->greeted && t != MSG_WELCOME && t != MSG_REFUSE)
        return;
    for (size_t k = 0; k < sizeof handlers / sizeof handlers[0]; k++) {
        if (handlers[k].type != ev->msg->type || !(handlers[k].states & SM_BIT(a->info.state)))
            continue;
        handlers[k].handle(c, i, ev);
        break;
    }
    if (!coord_terminal(a) && a->info.state >= COORD_HELD)
        coord_heard(c, i, ev->now_ns);
}
