/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "agent/service/control_impl.h"
#include "common/log.h"

/* What control makes of what the run says, and how it ends one. */

void control_tell_owner(struct control *c, const struct msg *m)
{
    if (c->owner.conn != NULL && !c->cfg.send(c->cfg.arg, c->owner.conn, m))
        log_warn(c->owner.name, "%s could not be sent; the controller will ask again",
                 msg_type_name(m->type));
}

void control_record_end(struct control *c, const char *outcome, const char *why,
                        const struct snapshot *total)
{
    audit_run_end(c->cfg.audit, &c->record, outcome, why, total);
}

void control_flush(struct control *c)
{
    struct msg m;
    while (c->outbox != NULL && c->owner.conn != NULL && outbox_peek(c->outbox, &m)) {
        if (m.type == MSG_FINAL && !control_dump_over(c, &m.final))
            return;
        if (!c->cfg.send(c->cfg.arg, c->owner.conn, &m))
            return;
        outbox_sent(c->outbox);
    }
    control_dump(c);
}

static void on_run_prepared(struct control *c, const struct run_info *info)
{
    if (control_state(c) != AGENT_PREPARING)
        return;
    sm_move(&c->sm, AGENT_PREPARED);
    c->prepared.command = c->prepare_command;
    c->prepared.connections = info->connections;
    c->prepared.threads = info->threads;
    memcpy(c->prepared.address, info->address, sizeof c->prepared.address);
    snprintf(c->prepared.problem, sizeof c->prepared.problem, "%.191s", info->problem);
    audit_run_address(&c->record, info->address);
    struct msg m = {.type = MSG_PREPARED, .prepared = c->prepared};
    control_tell_owner(c, &m);
}

void control_answer_error(struct control *c, uint64_t command, enum refuse_code code,
                          const char *text)
{
    struct msg m = {.type = MSG_ERROR};
    m.error.command = command;
    m.error.code = code;
    snprintf(m.error.text, sizeof m.error.text, "%s", text);
    control_tell_owner(c, &m);
}

void control_fail_prepare(struct control *c, enum refuse_code code, const char *why)
{
    log_warn(c->owner.name, "plan refused: %s", why);
    control_record_end(c, "refused", why, NULL);
    c->prepare_error.command = c->prepare_command;
    c->prepare_error.code = code;
    snprintf(c->prepare_error.text, sizeof c->prepare_error.text, "%s", why);
    sm_move(&c->sm, AGENT_HELD);
    control_answer_error(c, c->prepare_command, code, why);
}

void control_send_started(struct control *c)
{
    struct msg m = {.type = MSG_STARTED};
    m.started.at_ns = c->arm_at_ns;
    m.started.actual_ns = c->started_ns;
    control_tell_owner(c, &m);
}

static void on_run_started(struct control *c, const struct run_info *info)
{
    c->started_ns = info->started_ns;
    if (control_state(c) == AGENT_ARMED)
        sm_move(&c->sm, AGENT_RUNNING);
    control_send_started(c);
}

static const char *const end_names[] = {
    [END_FINISHED] = "finished",
    [END_STOPPED] = "stopped",
    [END_LEASE] = "lease",
    [END_ERROR] = "error",
};

static void ended_by_itself(struct control *c, const struct run_info *info)
{
    c->end_reason = info->lease_lost ? END_LEASE : END_FINISHED;
    if (c->end_reason == END_LEASE)
        snprintf(c->end_text, sizeof c->end_text,
                 "the agent's main thread hung: nobody renewed the load's lease");
    if (info->policy) {
        c->end_reason = END_ERROR;
        snprintf(c->end_text, sizeof c->end_text, "%.191s", info->problem);
    }
}

static void on_run_ended(struct control *c, struct run_info *info)
{
    c->ended_ns = info->ended_ns;
    if (control_state(c) != AGENT_DRAINING)
        ended_by_itself(c, info);
    control_record_end(c, end_names[c->end_reason], c->end_text, info->snapshot);
    sm_move(&c->sm, AGENT_ENDED);
    struct msg_final f = {
        .reason = c->end_reason, .started_ns = c->started_ns, .ended_ns = c->ended_ns};
    memcpy(f.text, c->end_text, sizeof f.text);
    if (outbox_final(c->outbox, &f, info->snapshot) != ERR_OK)
        log_error(c->owner.name, "the final snapshot could not be encoded");
    snapshot_free(info->snapshot);
    control_flush(c);
}

static void on_run_snapshot(struct control *c, struct run_info *info)
{
    audit_run_count(&c->record, info->snapshot);
    if (outbox_add(c->outbox, info->snapshot) != ERR_OK)
        log_error(c->owner.name, "a snapshot could not be encoded");
    control_flush(c);
}

static void answer_reshare(struct control *c, uint64_t command, const char *problem)
{
    struct msg m = {.type = MSG_RESHARED, .reshared = {.command = command}};
    snprintf(m.reshared.problem, sizeof m.reshared.problem, "%.191s", problem);
    c->reshared = m.reshared;
    control_tell_owner(c, &m);
}

static void on_run_reshared(struct control *c, const struct run_info *info)
{
    uint64_t command = c->reshare_command;
    c->reshare_command = 0;
    if (info->problem[0] != '\0')
        log_warn(c->owner.name, "not all of the other share is taken over: %s", info->problem);
    answer_reshare(c, command, info->problem);
}

void control_on_run(void *arg, enum run_event ev, struct run_info *info)
{
    struct control *c = arg;
    switch (ev) {
    case RUN_PREPARED:
        on_run_prepared(c, info);
        break;
    case RUN_REFUSED:
        if (control_state(c) == AGENT_PREPARING)
            control_fail_prepare(c, info->policy ? REFUSE_POLICY : REFUSE_PLAN, info->problem);
        break;
    case RUN_STARTED:
        on_run_started(c, info);
        break;
    case RUN_SNAPSHOT:
        on_run_snapshot(c, info);
        break;
    case RUN_RESHARED:
        on_run_reshared(c, info);
        break;
    case RUN_ENDED:
        on_run_ended(c, info);
        break;
    }
}

void control_halt(struct control *c, enum end_reason reason, const char *text, uint64_t drain_ns)
{
    if (control_state(c) != AGENT_DRAINING) {
        c->end_reason = reason;
        snprintf(c->end_text, sizeof c->end_text, "%s", text);
        sm_move(&c->sm, AGENT_DRAINING);
    }
    c->cfg.run->halt(c->run, drain_ns);
}

void control_reshare(struct control *c, const struct msg_reshare *m)
{
    struct plan_part part = {.total = m->total, .first = m->first, .weight = m->weight};
    struct errmsg msg = {{0}};
    if (m->command == c->reshare_command && m->command != 0)
        return; /* still at it: the answer comes by itself */
    if (m->command == c->reshared.command && m->command != 0) {
        struct msg again = {.type = MSG_RESHARED, .reshared = c->reshared};
        control_tell_owner(c, &again);
        return;
    }
    enum agent_state s = control_state(c);
    if (m->command == 0) { /* 0 stands for "none" above */
        answer_reshare(c, 0, "RESHARE without a command number");
    } else if (s != AGENT_ARMED && s != AGENT_RUNNING) {
        answer_reshare(c, m->command, "no run is going on");
    } else if (c->reshare_command != 0) {
        answer_reshare(c, m->command, "the change of share before is still under way");
    } else {
        c->reshare_command = m->command; /* before: the answer may come from within */
        enum err e = audit_run_reshare(c->cfg.audit, &c->record, m->from_index, &part, &msg);
        if (e == ERR_OK)
            e = c->cfg.run->reshare(c->run, m->from_index, &part, &msg);
        if (e == ERR_OK) {
            audit_run_share(&c->record, &part);
        } else {
            c->reshare_command = 0;
            answer_reshare(c, m->command, msg.text);
        }
    }
}

static const char *cannot_halt(const struct control *c, const struct msg_halt *m)
{
    enum agent_state s = control_state(c);
    if (s < AGENT_PREPARING || c->run == NULL)
        return "no run is under way";
    if (strncmp(c->run_id, m->run, strlen(m->run)) != 0)
        return "another run is under way";
    return s == AGENT_ENDED ? "the run has ended already" : NULL;
}

void control_on_halt(struct control *c, void *conn, const struct msg_halt *m)
{
    struct msg reply = {.type = MSG_INFO};
    struct msg_halt h = *m;
    char text[sizeof c->end_text];
    msg_sanitise(h.controller);
    msg_sanitise(h.reason);
    const char *why_not = cannot_halt(c, m);
    if (why_not == NULL) {
        snprintf(text, sizeof text, "halted by %s%s%s",
                 h.controller[0] != '\0' ? h.controller : "a nameless controller",
                 h.reason[0] != '\0' ? ": " : "", h.reason);
        log_warn(c->owner.name, "run %.8s is %s", c->run_id, text);
        control_halt(c, END_STOPPED, text, 0);
    } else {
        snprintf(reply.info.problem, sizeof reply.info.problem, "%s", why_not);
    }
    reply.info.version_min = MSG_VERSION_MIN;
    reply.info.version_max = MSG_VERSION_MAX;
    snprintf(reply.info.build, sizeof reply.info.build, "%s", HAMMER_VERSION);
    control_describe(c, &reply.info);
    if (!c->cfg.send(c->cfg.arg, conn, &reply))
        log_debug("control", "INFO could not be sent after HALT");
}
