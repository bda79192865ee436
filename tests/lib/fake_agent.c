/* SPDX-License-Identifier: MIT */
#include "tests/lib/fake_agent.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/host.h"

static uint64_t own_clock(const struct fake_agent *a, uint64_t now_ns)
{
    return now_ns + (uint64_t)a->cfg.offset_ns;
}

static void reply(struct fake_agent *a, const struct msg *m)
{
    if (a->owner != 0)
        a->cfg.send(a->cfg.arg, a->owner, m);
}

static void drop_run(struct fake_agent *a)
{
    a->ready_ns = a->start_ns = a->next_snapshot_ns = a->end_ns = NS_NEVER;
    a->prepare_command = a->arm_command = a->at_ns = a->started_ns = 0;
    a->last_seq = a->acked = a->sent_seq = 0;
    a->end_reason = 0;
    a->final_sent = false;
    a->run[0] = '\0';
}

void fake_agent_init(struct fake_agent *a, const struct fake_agent_config *cfg, uint64_t epoch)
{
    *a = (struct fake_agent){.cfg = *cfg, .lease_until_ns = NS_NEVER};
    memcpy(a->epoch, &epoch, sizeof epoch);
    drop_run(a);
}

static void release(struct fake_agent *a)
{
    drop_run(a);
    a->state = AGENT_IDLE;
    a->owner = 0;
    a->held = a->orphan = false;
    a->lease_until_ns = NS_NEVER;
}

static void refuse(struct fake_agent *a, unsigned conn, uint32_t code)
{
    struct msg m = {.type = MSG_REFUSE, .refuse = {.code = code, .held_ms = 12000}};
    snprintf(m.refuse.text, sizeof m.refuse.text, "for reason %u", code);
    snprintf(m.refuse.holder, sizeof m.refuse.holder, "somebody@else:1");
    a->cfg.send(a->cfg.arg, conn, &m);
    a->cfg.close(a->cfg.arg, conn);
}

static void flush(struct fake_agent *a);

static void on_hello(struct fake_agent *a, unsigned conn, const struct msg *m)
{
    bool same = a->held && memcmp(a->owner_id, m->hello.owner, MSG_ID_LEN) == 0;
    if (a->cfg.refuse == REFUSE_BUSY || a->cfg.refuse == REFUSE_VERSION || (a->held && !same)) {
        refuse(a, conn, a->cfg.refuse != 0 ? a->cfg.refuse : (uint32_t)REFUSE_BUSY);
        return;
    }
    if (same && a->owner != 0 && conn != a->owner)
        a->cfg.close(a->cfg.arg, a->owner);
    a->owner = conn;
    a->held = true;
    a->orphan = false;
    a->sent_seq = a->acked;
    a->final_sent = false;
    memcpy(a->owner_id, m->hello.owner, MSG_ID_LEN);
    a->lease_ns = m->hello.lease_ms * NS_PER_MS;
    if (!same)
        a->state = AGENT_HELD;
    struct msg w = {.type = MSG_WELCOME, .welcome = {.version = MSG_VERSION_MAX, .cores = 4}};
    snprintf(w.welcome.agent, sizeof w.welcome.agent, "%s", a->cfg.name);
    snprintf(w.welcome.boot_id, sizeof w.welcome.boot_id, "%s", a->cfg.boot_id);
    memcpy(w.welcome.epoch, a->epoch, MSG_ID_LEN);
    memcpy(w.welcome.run, a->run, sizeof w.welcome.run);
    reply(a, &w);
    flush(a);
}

static void on_probe(struct fake_agent *a, const struct msg *m)
{
    struct msg r = {.type = MSG_PROBE_REPLY};
    r.probe_reply.t1_ns = m->probe.t1_ns;
    r.probe_reply.probe = m->probe.probe;
    r.probe_reply.t2_ns = r.probe_reply.t3_ns = own_clock(a, a->now_ns);
    reply(a, &r);
}

static void error(struct fake_agent *a, uint64_t command, uint32_t code, const char *text)
{
    struct msg m = {.type = MSG_ERROR, .error = {.command = command, .code = code}};
    snprintf(m.error.text, sizeof m.error.text, "%s", text);
    reply(a, &m);
}

static void send_prepared(struct fake_agent *a)
{
    struct msg m = {.type = MSG_PREPARED,
                    .prepared = {.command = a->prepare_command,
                                 .connections = a->cfg.connections,
                                 .threads = 1,
                                 .address = "127.0.0.1:80"}};
    if (a->cfg.connections == 0)
        snprintf(m.prepared.problem, sizeof m.prepared.problem, "connection refused");
    reply(a, &m);
}

static void on_prepare(struct fake_agent *a, const struct msg *m)
{
    if (m->prepare.command == a->prepare_command) {
        if (a->ever_prepared)
            send_prepared(a);
    } else if (a->cfg.refuse == REFUSE_PLAN) {
        error(a, m->prepare.command, REFUSE_PLAN, "only 12 descriptors");
    } else if (a->state != AGENT_HELD) {
        error(a, m->prepare.command, REFUSE_STATE, "the agent already has a run");
    } else {
        a->prepare_command = m->prepare.command;
        host_hex(m->prepare.run, MSG_ID_LEN, a->run);
        a->state = AGENT_PREPARING;
        a->ready_ns = a->now_ns + a->cfg.prepare_ns;
    }
}

static void send_started(struct fake_agent *a)
{
    struct msg m = {.type = MSG_STARTED, .started = {a->at_ns, a->started_ns}};
    reply(a, &m);
}

static void on_arm(struct fake_agent *a, const struct msg *m)
{
    if (a->started_ns != 0) {
        send_started(a);
        return;
    }
    if (a->state == AGENT_PREPARED) {
        if (m->arm.at_ns <= own_clock(a, a->now_ns)) {
            error(a, m->arm.command, REFUSE_LATE, "the start instant is already past");
            return;
        }
        a->state = AGENT_ARMED;
        a->arm_command = m->arm.command;
        a->at_ns = m->arm.at_ns;
        a->start_ns = m->arm.at_ns - (uint64_t)a->cfg.offset_ns;
    } else if (a->state != AGENT_ARMED || m->arm.command != a->arm_command) {
        error(a, m->arm.command, REFUSE_STATE, "the agent is not prepared");
        return;
    }
    struct msg r = {.type = MSG_ARMED, .armed = {m->arm.command}};
    reply(a, &r);
}

static void on_ping(struct fake_agent *a, const struct msg *m)
{
    struct msg r = {.type = MSG_PONG, .pong = {.t1_ns = m->ping.t1_ns, .state = a->state}};
    r.pong.t2_ns = r.pong.t3_ns = own_clock(a, a->now_ns);
    r.pong.last_seq = a->last_seq;
    r.pong.started_ns = a->started_ns;
    reply(a, &r);
}

static void flush(struct fake_agent *a)
{
    if (a->owner == 0)
        return;
    while (a->sent_seq < a->last_seq) {
        struct msg m = {.type = MSG_SNAPSHOT, .snapshot = {.seq = ++a->sent_seq}};
        reply(a, &m);
    }
    if (a->state == AGENT_ENDED && !a->final_sent) {
        struct msg m = {.type = MSG_FINAL,
                        .final = {.last_seq = a->last_seq,
                                  .reason = a->end_reason,
                                  .started_ns = a->started_ns}};
        a->final_sent = true;
        reply(a, &m);
    }
}

static void on_ack(struct fake_agent *a, const struct msg *m)
{
    if (m->ack.ack_seq > a->last_seq)
        return;
    if (m->ack.ack_seq > a->acked)
        a->acked = m->ack.ack_seq;
    if (m->ack.resend) {
        a->sent_seq = a->acked;
        a->final_sent = false;
    }
    flush(a);
}

static void end(struct fake_agent *a, uint32_t reason)
{
    if (a->started_ns != 0)
        a->last_seq++; /* what was left of the interval */
    a->state = AGENT_ENDED;
    a->end_reason = reason;
    a->ready_ns = a->start_ns = a->next_snapshot_ns = a->end_ns = NS_NEVER;
    flush(a);
}

static void on_stop(struct fake_agent *a, const struct msg *m)
{
    if (a->state == AGENT_ENDED) {
        a->final_sent = false;
        flush(a);
    } else if (a->state == AGENT_RUNNING || a->state == AGENT_DRAINING) {
        uint64_t over = a->now_ns + m->stop.drain_ns / 2;
        a->state = AGENT_DRAINING;
        a->end_reason = END_STOPPED;
        if (over < a->end_ns)
            a->end_ns = over;
    } else {
        end(a, END_STOPPED);
    }
}

void fake_agent_message(struct fake_agent *a, unsigned conn, const struct msg *m, uint64_t now_ns)
{
    a->now_ns = now_ns;
    if (m->type == MSG_HELLO) {
        on_hello(a, conn, m);
    } else if (conn != a->owner) {
        a->cfg.close(a->cfg.arg, conn);
        return;
    }
    a->lease_until_ns = now_ns + a->lease_ns;
    if (m->type == MSG_PROBE)
        on_probe(a, m);
    else if (m->type == MSG_PREPARE)
        on_prepare(a, m);
    else if (m->type == MSG_ARM)
        on_arm(a, m);
    else if (m->type == MSG_PING)
        on_ping(a, m);
    else if (m->type == MSG_ACK)
        on_ack(a, m);
    else if (m->type == MSG_STOP)
        on_stop(a, m);
    else if (m->type == MSG_BYE)
        release(a);
    if (!a->held)
        a->lease_until_ns = NS_NEVER;
}

void fake_agent_gone(struct fake_agent *a, unsigned conn, uint64_t now_ns)
{
    a->now_ns = now_ns;
    if (conn != a->owner || conn == 0)
        return;
    if (a->state == AGENT_HELD)
        release(a);
    a->owner = 0;
}

void fake_agent_quit(struct fake_agent *a, uint64_t now_ns)
{
    a->now_ns = now_ns;
    if (a->state > AGENT_HELD && a->state < AGENT_ENDED)
        end(a, END_STOPPED);
}

void fake_agent_tick(struct fake_agent *a, uint64_t now_ns)
{
    a->now_ns = now_ns;
    if (now_ns >= a->lease_until_ns) {
        unsigned conn = a->owner;
        bool keep = !a->orphan && a->started_ns != 0;
        a->owner = 0;
        if (keep && a->state != AGENT_ENDED)
            end(a, END_LEASE);
        if (!keep)
            release(a);
        a->orphan = keep;
        a->lease_until_ns = keep ? now_ns + 600 * NS_PER_SEC : NS_NEVER;
        if (conn != 0)
            a->cfg.close(a->cfg.arg, conn);
    }
    if (now_ns >= a->ready_ns) {
        a->ready_ns = NS_NEVER;
        a->state = AGENT_PREPARED;
        a->ever_prepared = true;
        send_prepared(a);
    }
    if (now_ns >= a->start_ns) {
        a->started_ns = own_clock(a, a->start_ns) + 50000;
        a->next_snapshot_ns = a->start_ns + a->cfg.interval_ns;
        a->end_ns = a->start_ns + a->cfg.run_ns;
        a->start_ns = NS_NEVER;
        a->state = AGENT_RUNNING;
        a->ever_started = true;
        send_started(a);
    }
    if (now_ns >= a->next_snapshot_ns) {
        a->next_snapshot_ns += a->cfg.interval_ns;
        a->last_seq++;
        flush(a);
    }
    if (now_ns >= a->end_ns)
        end(a, a->end_reason != 0 ? a->end_reason : (uint32_t)END_FINISHED);
}

uint64_t fake_agent_deadline(const struct fake_agent *a)
{
    const uint64_t all[] = {a->lease_until_ns, a->ready_ns, a->start_ns, a->next_snapshot_ns,
                            a->end_ns};
    uint64_t next = NS_NEVER;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        next = all[i] < next ? all[i] : next;
    return next;
}
