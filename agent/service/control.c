/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/service/admit.h"
#include "agent/service/control_impl.h"
#include "agent/service/resolving.h"
#include "common/clock.h"
#include "common/host.h"
#include "common/log.h"
#include "common/mem.h"

#define RETRY_NS (10 * NS_PER_MS) /* when the link could not take a snapshot */
#define GRACE_NS (1 * NS_PER_SEC) /* the workers' lease outlives ours: they act when we hang */
#define ANY_RUN  (SM_BIT(AGENT_IDLE) | SM_BIT(AGENT_DRAINING) | SM_BIT(AGENT_ENDED))

static const struct sm_state states[AGENT_STATES] = {
    [AGENT_IDLE] = {"idle", SM_BIT(AGENT_HELD)},
    [AGENT_HELD] = {"held", SM_BIT(AGENT_IDLE) | SM_BIT(AGENT_PREPARING) | SM_BIT(AGENT_ENDED)},
    [AGENT_PREPARING] = {"preparing", ANY_RUN | SM_BIT(AGENT_PREPARED) | SM_BIT(AGENT_HELD)},
    [AGENT_PREPARED] = {"prepared", ANY_RUN | SM_BIT(AGENT_ARMED)},
    [AGENT_ARMED] = {"armed", ANY_RUN | SM_BIT(AGENT_RUNNING)},
    [AGENT_RUNNING] = {"running", ANY_RUN},
    [AGENT_DRAINING] = {"draining", SM_BIT(AGENT_IDLE) | SM_BIT(AGENT_ENDED)},
    [AGENT_ENDED] = {"ended", SM_BIT(AGENT_IDLE)},
};

static uint64_t now(const struct control *c)
{
    return c->cfg.now(c->cfg.arg);
}

/* --- ownership ------------------------------------------------------------------------------ */

static void drop_run(struct control *c)
{
    control_record_end(c, "abandoned", "the agent is closed", NULL);
    if (c->run != NULL)
        c->cfg.run->free(c->run);
    c->run = NULL;
    outbox_free(c->outbox);
    c->outbox = NULL;
    c->prepare_command = c->arm_command = 0;
    c->prepared = (struct msg_prepared){0};
    c->prepare_error = (struct msg_error){0};
    c->reshared = (struct msg_reshared){0};
    c->reshare_command = 0;
    c->started_ns = c->ended_ns = c->arm_at_ns = c->dump_by_ns = 0;
    c->dump_at_ns = NS_NEVER;
    c->end_text[0] = c->run_id[0] = '\0';
}

/* The agent is free again. A run that is still going on stops here, at once. */
static void release(struct control *c, const char *why)
{
    if (control_state(c) == AGENT_IDLE)
        return;
    log_info(c->owner.name, "released (%s) in state %s", why, sm_name(&c->sm));
    control_record_end(c, "abandoned", why, NULL);
    drop_run(c);
    sm_move(&c->sm, AGENT_IDLE);
    owner_free(&c->owner);
}

static void refuse(struct control *c, void *conn, enum refuse_code code, const char *text)
{
    struct msg m = {.type = MSG_REFUSE};
    m.refuse.code = code;
    m.refuse.version_min = MSG_VERSION_MIN;
    m.refuse.version_max = MSG_VERSION_MAX;
    snprintf(m.refuse.build, sizeof m.refuse.build, "%s", HAMMER_VERSION);
    snprintf(m.refuse.text, sizeof m.refuse.text, "%s", text);
    if (code == REFUSE_BUSY) {
        owner_describe(&c->owner, now(c), &m.refuse);
        memcpy(m.refuse.run, c->run_id, sizeof m.refuse.run);
    }
    (void)c->cfg.send(c->cfg.arg, conn, &m);
    if (conn == c->owner.conn) /* a controller that contradicts itself does not go on holding */
        release(c, text);
    c->cfg.close(c->cfg.arg, conn);
}

static void welcome(struct control *c)
{
    struct msg m = {.type = MSG_WELCOME};
    control_welcome(c, &m.welcome);
    control_tell_owner(c, &m);
}

static void renew(struct control *c, uint64_t rx_ns)
{
    owner_renew(&c->owner, rx_ns);
    if (c->run != NULL)
        c->cfg.run->lease(c->run, clock_add(c->owner.until_ns, GRACE_NS));
}

static void come_back(struct control *c, void *conn, uint64_t rx_ns)
{
    if (c->owner.conn != NULL && conn != c->owner.conn)
        c->cfg.close(c->cfg.arg, c->owner.conn);
    if (conn != c->owner.conn)
        log_info(c->owner.name, "is back on a new connection");
    owner_back(&c->owner, conn, rx_ns);
}

static void on_hello(struct control *c, void *conn, const struct msg *m, uint64_t rx_ns)
{
    const struct msg_hello *h = &m->hello;
    if (h->version_min > MSG_VERSION_MAX || h->version_max < MSG_VERSION_MIN) {
        char text[160];
        snprintf(text, sizeof text,
                 "agent %s speaks protocol %d..%d, the controller %s speaks %" PRIu32 "..%" PRIu32,
                 HAMMER_VERSION, MSG_VERSION_MIN, MSG_VERSION_MAX, h->build, h->version_min,
                 h->version_max);
        refuse(c, conn, REFUSE_VERSION, text);
        return;
    }
    enum owner_claim claim = owner_claim(&c->owner, h);
    if (claim == OWNER_BUSY) {
        refuse(c, conn, REFUSE_BUSY,
               c->owner.orphan ? "the agent keeps the results of a run for its controller"
                               : "the agent is held by another controller");
        return;
    }
    if (c->shutting_down && claim != OWNER_SAME) { /* the owner still gets its final results */
        refuse(c, conn, REFUSE_STATE, "the agent is shutting down");
        return;
    }
    if (claim == OWNER_SAME) {
        come_back(c, conn, rx_ns);
    } else {
        if (claim == OWNER_FORCED) {
            log_warn(h->controller, "takes the agent by force; run %.8s of %s is lost", c->run_id,
                     c->owner.name);
            release(c, "taken by force");
        }
        owner_take(&c->owner, conn, h, c->cfg.lease_ns, rx_ns);
        sm_move(&c->sm, AGENT_HELD);
        log_info(c->owner.name, "holds the agent");
    }
    if (c->outbox != NULL)
        outbox_rewind(c->outbox, h->ack_seq);
    renew(c, rx_ns);
    welcome(c);
}

/* --- commands ------------------------------------------------------------------------------- */

static void start_prepare(struct control *c, const struct msg_prepare *p)
{
    struct admit_order order = {0};
    struct errmsg msg = {{0}};
    enum refuse_code code;
    char id[2 * MSG_ID_LEN + 1];
    sm_move(&c->sm, AGENT_PREPARING);
    drop_run(c);
    c->prepare_command = p->command;
    host_hex(p->run, MSG_ID_LEN, id);
    struct admit_config cfg = {.audit = c->cfg.audit,
                               .policy = c->cfg.env.policy,
                               .peer = c->cfg.peer != NULL ? c->cfg.peer(c->cfg.arg, c->owner.conn)
                                                           : NULL,
                               .controller = c->owner.name,
                               .run = id};
    enum err e = admit(&cfg, p, &order, &c->record, &code, &msg);
    if (e == ERR_OK)
        e = c->cfg.run->prepare(&c->cfg.env, &order.plan, &order.part, control_on_run, c, &c->run,
                                &msg);
    plan_clear(&order.plan);
    if (e != ERR_OK) {
        control_fail_prepare(c, code, msg.text[0] != '\0' ? msg.text : err_str(e));
        return;
    }
    c->outbox = outbox_new();
    c->cfg.run->lease(c->run, clock_add(c->owner.until_ns, GRACE_NS));
    memcpy(c->run_id, id, sizeof id);
    log_info(c->owner.name, "preparing run %.8s: %" PRIu32 " connections, %" PRIu32 " threads",
             c->run_id, order.part.connections, order.part.threads);
}

static void on_prepare(struct control *c, void *conn, const struct msg *m, uint64_t rx_ns)
{
    (void)conn, (void)rx_ns;
    const struct msg_prepare *p = &m->prepare;
    if (p->command == 0) { /* 0 stands for "none" below */
        control_answer_error(c, 0, REFUSE_STATE, "PREPARE without a command number");
    } else if (p->command == c->prepare_error.command) {
        control_answer_error(c, p->command, (enum refuse_code)c->prepare_error.code,
                             c->prepare_error.text);
    } else if (p->command == c->prepare_command && c->prepared.command == p->command) {
        struct msg again = {.type = MSG_PREPARED, .prepared = c->prepared};
        control_tell_owner(c, &again);
    } else if (p->command == c->prepare_command) {
        return; /* still at it: the answer comes by itself */
    } else if (control_state(c) == AGENT_HELD) {
        start_prepare(c, p);
    } else {
        control_answer_error(c, p->command, REFUSE_STATE, "the agent already has a run");
    }
}

static void on_arm(struct control *c, void *conn, const struct msg *m, uint64_t rx_ns)
{
    (void)conn;
    const struct msg_arm *a = &m->arm;
    if (c->started_ns != 0) {
        control_send_started(c);
        return;
    }
    if (control_state(c) == AGENT_PREPARED) {
        if (a->at_ns <= rx_ns) {
            control_answer_error(c, a->command, REFUSE_LATE, "the start instant is already past");
            return;
        }
        c->arm_command = a->command;
        c->arm_at_ns = a->at_ns;
        sm_move(&c->sm, AGENT_ARMED);
        control_dump_begin(c);
        c->cfg.run->arm(c->run, a->at_ns);
    } else if (control_state(c) != AGENT_ARMED || a->command != c->arm_command) {
        control_answer_error(c, a->command, REFUSE_STATE, "the agent is not prepared");
        return;
    }
    struct msg reply = {.type = MSG_ARMED, .armed = {.command = a->command}};
    control_tell_owner(c, &reply);
}

/* STOP before there is a run: an empty FINAL, so that the controller has its answer. */
static void end_without_run(struct control *c)
{
    struct run_info info = {.snapshot = snapshot_new(), .ended_ns = now(c)};
    info.snapshot->cumulative = true;
    c->end_reason = END_STOPPED;
    c->outbox = outbox_new();
    struct msg_final f = {.reason = END_STOPPED, .ended_ns = info.ended_ns};
    sm_move(&c->sm, AGENT_ENDED);
    if (outbox_final(c->outbox, &f, info.snapshot) != ERR_OK)
        log_error(c->owner.name, "an empty final snapshot could not be encoded");
    snapshot_free(info.snapshot);
    control_flush(c);
}

static void on_stop(struct control *c, void *conn, const struct msg *m, uint64_t rx_ns)
{
    (void)conn, (void)rx_ns;
    if (control_state(c) == AGENT_ENDED) {
        outbox_repeat_final(c->outbox);
        control_flush(c);
    } else if (control_state(c) == AGENT_HELD) {
        drop_run(c);
        end_without_run(c);
    } else {
        log_info(c->owner.name, "stop: %s", m->stop.reason);
        control_halt(c, END_STOPPED, m->stop.reason, m->stop.drain_ns);
    }
}

static void on_probe(struct control *c, void *conn, const struct msg *m, uint64_t rx_ns)
{
    (void)conn;
    struct msg reply = {.type = MSG_PROBE_REPLY};
    reply.probe_reply.t1_ns = m->probe.t1_ns;
    reply.probe_reply.probe = m->probe.probe;
    reply.probe_reply.t2_ns = rx_ns;
    reply.probe_reply.t3_ns = now(c);
    control_tell_owner(c, &reply);
}

static void acknowledged(struct control *c, uint64_t seq, bool resend)
{
    if (c->outbox == NULL)
        return;
    outbox_ack(c->outbox, seq);
    if (resend)
        outbox_rewind(c->outbox, seq);
    control_flush(c);
}

static void on_ping(struct control *c, void *conn, const struct msg *m, uint64_t rx_ns)
{
    (void)conn;
    struct msg reply = {.type = MSG_PONG};
    reply.pong.t1_ns = m->ping.t1_ns;
    reply.pong.t2_ns = rx_ns;
    reply.pong.state = control_state(c);
    reply.pong.last_seq = c->outbox != NULL ? outbox_last_seq(c->outbox) : 0;
    reply.pong.started_ns = c->started_ns;
    reply.pong.t3_ns = now(c);
    control_tell_owner(c, &reply);
    acknowledged(c, m->ping.ack_seq, false);
}

static void on_ack(struct control *c, void *conn, const struct msg *m, uint64_t rx_ns)
{
    (void)conn, (void)rx_ns;
    acknowledged(c, m->ack.ack_seq, m->ack.resend != 0);
}

static void on_reshare(struct control *c, void *conn, const struct msg *m, uint64_t rx_ns)
{
    (void)conn, (void)rx_ns;
    control_reshare(c, &m->reshare);
}

static void on_bye(struct control *c, void *conn, const struct msg *m, uint64_t rx_ns)
{
    (void)m, (void)rx_ns;
    release(c, "bye");
    c->cfg.close(c->cfg.arg, conn);
}

static const struct {
    enum msg_type type;
    void (*handle)(struct control *c, void *conn, const struct msg *m, uint64_t rx_ns);
} handlers[] = {
    {MSG_PROBE, on_probe}, {MSG_PREPARE, on_prepare}, {MSG_ARM, on_arm}, {MSG_PING, on_ping},
    {MSG_ACK, on_ack},     {MSG_STOP, on_stop},       {MSG_BYE, on_bye}, {MSG_RESHARE, on_reshare},
};

/* --- the lease and what comes from outside ------------------------------------------------- */

/* Is there anything that its owner could still want? What was not even started is not. */
static bool worth_keeping(const struct control *c, uint64_t now_ns)
{
    enum agent_state s = control_state(c);
    return s == AGENT_RUNNING || s == AGENT_DRAINING || (s == AGENT_ENDED && c->started_ns != 0) ||
           (s == AGENT_ARMED && now_ns >= c->arm_at_ns);
}

/* Nobody renewed the lease: the load ends here, its results stay. */
static void lease_over(struct control *c, uint64_t now_ns)
{
    void *conn = c->owner.conn;
    log_warn(c->owner.name, "silent for the whole lease of %" PRIu64 " ms",
             c->owner.lease_ns / NS_PER_MS);
    if (worth_keeping(c, now_ns)) {
        owner_orphan(&c->owner, now_ns);
        if (control_state(c) != AGENT_ENDED)
            control_halt(c, END_LEASE, "its controller fell silent", 0);
    } else {
        release(c, "lease");
    }
    if (conn != NULL)
        c->cfg.close(c->cfg.arg, conn);
}

void control_message(struct control *c, void *conn, const struct msg *m, uint64_t rx_ns)
{
    /* A lease that is over stays so, whatever has been waiting here while we were stopped. */
    if (!c->owner.orphan && owner_expired(&c->owner, rx_ns)) {
        bool owned = conn == c->owner.conn;
        lease_over(c, rx_ns);
        if (owned) /* closed */
            return;
    }
    if (m->type == MSG_HELLO) {
        on_hello(c, conn, m, rx_ns);
        return;
    }
    if (m->type == MSG_HALT) {
        control_on_halt(c, conn, &m->halt);
        return;
    }
    if (conn != c->owner.conn) {
        log_debug("control", "%s from a connection that does not hold the agent",
                  msg_type_name(m->type));
        c->cfg.close(c->cfg.arg, conn);
        return;
    }
    renew(c, rx_ns);
    for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++) {
        if (handlers[i].type == m->type) {
            handlers[i].handle(c, conn, m, rx_ns);
            return;
        }
    }
}

/* The run goes on while the lease does: the owner may come back. */
void control_gone(struct control *c, void *conn, uint64_t now_ns)
{
    (void)now_ns;
    if (conn == NULL || conn != c->owner.conn)
        return;
    if (control_state(c) == AGENT_HELD) {
        release(c, "the controller's connection is gone");
        return;
    }
    log_warn(c->owner.name, "the connection is gone; waiting for it in state %s", sm_name(&c->sm));
    c->owner.conn = NULL;
}

void control_tick(struct control *c, uint64_t now_ns)
{
    if (!owner_expired(&c->owner, now_ns)) {
        control_flush(c);
    } else if (c->owner.orphan) {
        log_warn(c->owner.name, "did not come back for run %.8s: its results are dropped",
                 c->run_id);
        release(c, "kept long enough");
    } else {
        lease_over(c, now_ns);
    }
}

uint64_t control_deadline(const struct control *c)
{
    struct msg m;
    uint64_t at_ns = c->owner.until_ns;
    if (c->dump_at_ns < at_ns)
        at_ns = c->dump_at_ns;
    if (c->outbox != NULL && c->owner.conn != NULL && outbox_peek(c->outbox, &m)) {
        uint64_t retry = clock_add(now(c), RETRY_NS);
        return retry < at_ns ? retry : at_ns;
    }
    return at_ns;
}

bool control_shutdown(struct control *c, uint64_t now_ns)
{
    (void)now_ns;
    c->shutting_down = true;
    enum agent_state s = control_state(c);
    if (s == AGENT_IDLE || s == AGENT_HELD)
        return true;
    if (s != AGENT_ENDED && s != AGENT_DRAINING)
        control_halt(c, END_ERROR, "the agent was asked to shut down", 0); /* this one alone */
    bool told = outbox_empty(c->outbox) || c->owner.conn == NULL;
    return control_state(c) == AGENT_ENDED && told;
}

enum agent_state control_state(const struct control *c)
{
    return (enum agent_state)sm_state(&c->sm);
}

void control_set_policy(struct control *c, const struct policy *policy)
{
    c->cfg.env.policy = policy;
}

bool control_is_orphan(const struct control *c)
{
    return c->owner.orphan;
}

bool control_is_owner(const struct control *c, const void *conn)
{
    return conn != NULL && conn == c->owner.conn;
}

struct control *control_new(const struct control_config *cfg)
{
    struct control *c = mem_calloc(1, sizeof *c);
    c->cfg = *cfg;
    c->cfg.env.resolving = resolving_new();
    c->dump_at_ns = NS_NEVER;
    owner_init(&c->owner);
    sm_init(&c->sm, states, AGENT_STATES, AGENT_IDLE, "control");
    return c;
}

void control_free(struct control *c)
{
    if (c == NULL)
        return;
    drop_run(c);
    resolving_free(c->cfg.env.resolving);
    mem_free(c);
}
