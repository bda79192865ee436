/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "agent/service/control_impl.h"
#include "common/clock.h"

/* What control tells of the agent: to its owner, to those who only ask, and to people. */

void control_welcome(const struct control *c, struct msg_welcome *w)
{
    w->version = MSG_VERSION_MAX;
    snprintf(w->build, sizeof w->build, "%s", HAMMER_VERSION);
    memcpy(w->agent, c->cfg.agent, sizeof w->agent);
    memcpy(w->epoch, c->cfg.epoch, MSG_ID_LEN);
    memcpy(w->boot_id, c->cfg.boot_id, sizeof w->boot_id);
    w->state = control_state(c);
    w->cores = c->cfg.cores;
    w->fd_limit = c->cfg.fd_limit;
    w->lease_ms = c->owner.lease_ns / NS_PER_MS;
    w->tested_rate = c->cfg.tested_rate;
    w->insecure = c->cfg.insecure;
    w->abilities = ABILITY_REQUESTS;
    w->ports = c->cfg.ports;
    memcpy(w->run, c->run_id, sizeof w->run);
    w->last_seq = c->outbox != NULL ? outbox_last_seq(c->outbox) : 0;
    w->at_ns = c->arm_at_ns;
    w->started_ns = c->started_ns;
    policy_summary(c->cfg.env.policy, w->policy, sizeof w->policy);
}

void control_status(const struct control *c, char *buf, size_t cap)
{
    if (control_state(c) == AGENT_IDLE)
        snprintf(buf, cap, "idle");
    else if (c->run == NULL)
        snprintf(buf, cap, "held by %s", c->owner.name);
    else if (c->owner.orphan)
        snprintf(buf, cap, "keeps run %.8s for %s", c->run_id, c->owner.name);
    else
        snprintf(buf, cap, "%s run %.8s for %s", sm_name(&c->sm), c->run_id, c->owner.name);
}

void control_describe(const struct control *c, struct msg_info *m)
{
    uint64_t t = c->cfg.now(c->cfg.arg);
    memcpy(m->agent, c->cfg.agent, sizeof m->agent);
    memcpy(m->epoch, c->cfg.epoch, MSG_ID_LEN);
    memcpy(m->boot_id, c->cfg.boot_id, sizeof m->boot_id);
    m->state = control_state(c);
    m->cores = c->cfg.cores;
    m->fd_limit = c->cfg.fd_limit;
    m->tested_rate = c->cfg.tested_rate;
    m->ports = c->cfg.ports;
    m->insecure = c->cfg.insecure;
    policy_summary(c->cfg.env.policy, m->policy, sizeof m->policy);
    if (!c->owner.held)
        return;
    memcpy(m->holder, c->owner.name, sizeof m->holder);
    memcpy(m->run, c->run_id, sizeof m->run);
    struct msg_refuse r = {0};
    owner_describe(&c->owner, t, &r);
    m->held_ms = r.held_ms;
    m->lease_left_ms = r.lease_left_ms;
    m->orphan = r.orphan;
}
