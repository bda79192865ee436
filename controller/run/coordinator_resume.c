/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "controller/run/coordinator_impl.h"

/*
 * A run that another hammer-ctl began and left. Its agents have gone on while their lease lasted;
 * after that they stopped and keep what nobody has fetched. To them we are the same owner on a new
 * connection.
 */

static void take_over(struct coord_agent *a, const struct coord_resume_agent *from)
{
    struct coord_agent_info *info = &a->info;
    snprintf(info->name, sizeof info->name, "%s", from->name);
    snprintf(info->build, sizeof info->build, "%s", from->build);
    snprintf(info->problem, sizeof info->problem, "%s", from->problem);
    memcpy(a->epoch, from->epoch, MSG_ID_LEN);
    info->part = from->part;
    info->same_clock = from->same_clock;
    info->offset_ns = from->offset_ns;
    info->error_ns = from->error_ns;
    info->rtt_ns = 2 * from->error_ns;
    info->at_ns = from->at_ns;
    info->last_seq = a->known_seq = from->last_seq;
    info->end_reason = from->end_reason;
    a->ended_ns = from->ended_ns;
}

/* In no run does an agent begin at its end: no move leads there. */
static void place(struct coordinator *c, size_t i, enum coord_agent_state state)
{
    struct coord_agent *a = &c->agents[i];
    sm_init(&a->sm, a->sm.table, COORD_STATES, state, coord_address(c, i));
    c->in_state[a->info.state]--;
    c->in_state[state]++;
    a->info.state = state;
}

void coord_resume(struct coordinator *c, const struct coord_resume *r)
{
    c->resumed = true;
    c->phase = PHASE_RUN;
    c->t0_ns = r->t0_ns;
    c->end_ns = coord_planned_end(c);
    c->next_command = r->first_command;
    c->cfg.patience.min_agents = 0;
    c->cfg.patience.force = false;
    for (size_t i = 0; i < c->n; i++) {
        struct coord_agent *a = &c->agents[i];
        const struct coord_resume_agent *from = &r->agents[i];
        take_over(a, from);
        a->closed = !from->armed || from->over; /* was never opened */
        a->info.uncollected = !a->closed;
        coord_began(c, i, from->started_ns);
        if (!from->armed || from->over)
            place(c, i, from->armed ? COORD_DONE : COORD_REFUSED);
    }
}

void coord_resume_begin(struct coordinator *c, uint64_t now_ns)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct coord_agent_info *info = &c->agents[i].info;
        if (info->state == COORD_DONE && info->end_reason != END_FINISHED)
            coord_ended_early(c, i, now_ns, info->end_reason);
    }
}

void coord_stop_absent(struct coordinator *c, size_t i, uint64_t now_ns, uint64_t answer_ns)
{
    struct coord_agent *a = &c->agents[i];
    uint64_t by_ns = clock_add(now_ns, answer_ns);
    if (a->give_up_ns > by_ns)
        a->give_up_ns = by_ns;
    coord_touch(a);
}

/* What makes it useless to go on with the agent that answers; NULL = nothing. */
static const char *not_ours(const struct coordinator *c, size_t i, const struct msg_welcome *w)
{
    if (memcmp(c->agents[i].epoch, w->epoch, MSG_ID_LEN) != 0)
        return "it was restarted and no longer has the run";
    if (strcmp(w->run, c->run_hex) != 0)
        return "it no longer has the run";
    return w->state < AGENT_ARMED ? "it was never armed" : NULL;
}

void coord_welcome_back(struct coordinator *c, size_t i, const struct coord_event *ev)
{
    struct coord_agent *a = &c->agents[i];
    const struct msg_welcome *w = &ev->msg->welcome;
    const char *problem = not_ours(c, i, w);
    a->give_up_ns = NS_NEVER;
    a->info.uncollected = false;
    if (problem != NULL) {
        coord_fail(c, i, COORD_LOST, ev->now_ns, "%s", problem);
        return;
    }
    coord_describe(c, i, w);
    a->info.at_ns = w->at_ns;
    coord_began(c, i, w->started_ns);
    a->ping_ns = ev->now_ns; /* renews the lease */
    if (w->state == AGENT_ARMED) {
        coord_await_start(c, i, c->t0_ns > ev->now_ns ? c->t0_ns : ev->now_ns);
    } else {
        uint64_t soon_ns = clock_add(ev->now_ns, COORD_STOP_NS);
        coord_move(a, COORD_RUNNING);
        a->deadline_ns = c->end_ns > soon_ns ? c->end_ns : soon_ns;
    }
    if (c->stopping)
        coord_stop(c, i, ev->now_ns, 0, COORD_STOP_NS, "the run is being stopped");
    else if (w->state == AGENT_ENDED)
        coord_await_final(c, i, ev->now_ns);
}
