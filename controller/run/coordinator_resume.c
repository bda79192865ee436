/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "controller/run/coordinator_impl.h"

/*
 * A run that another hammer-ctl began and left. Its agents have gone on while their lease lasted;
 * after that they stopped and keep what nobody has fetched. To them we are the same owner on a new
 * connection.
 */

static void take_over(struct coordinator *c, size_t i, const struct coord_resume_agent *from)
{
    struct coord_agent *a = &c->agents[i];
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
    a->reshare = from->reshare;
    a->reshare_command = from->reshare_command;
    if (from->taken_over_from != 0)
        info->taken_over_from = from->taken_over_from;
    if (from->taken_over_from > c->reshare_from) {
        c->reshare_from = from->taken_over_from;
        c->reshares++; /* at most so many were at different indices */
    }
}

void coordinator_record(const struct coordinator *c, struct coord_resume_agent *agents)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct coord_agent *from = &c->agents[i];
        const struct coord_agent_info *info = &from->info;
        struct coord_resume_agent *a = &agents[i];
        bool lost = info->state == COORD_LOST;
        a->armed = info->part.weight != 0;
        a->same_clock = info->same_clock;
        memcpy(a->name, info->name, sizeof a->name);
        memcpy(a->build, info->build, sizeof a->build);
        if (!a->armed || lost)
            memcpy(a->problem, info->problem, sizeof a->problem);
        memcpy(a->epoch, from->epoch, MSG_ID_LEN);
        a->part = info->part;
        a->offset_ns = info->offset_ns;
        a->error_ns = info->error_ns;
        a->at_ns = c->t0_ns + (uint64_t)info->offset_ns;
        a->lost_after_ns = a->armed && lost ? clock_elapsed(c->t0_ns, info->lost_at_ns) + 1 : 0;
        a->taken_over_from = info->taken_over_from != UINT64_MAX ? info->taken_over_from : 0;
        a->reshare_command = from->reshare_command;
        a->reshare = from->reshare;
    }
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

/* Not asked for what it kept before its load has ended, whatever it was lost for. */
static void was_lost(struct coordinator *c, size_t i, const struct coord_resume_agent *from)
{
    struct coord_agent *a = &c->agents[i];
    uint64_t ends_ns = clock_add(c->cfg.patience.lease_ns, COORD_LOST_NS);
    a->info.lost_at_ns = clock_add(c->t0_ns, from->lost_after_ns - 1);
    a->load_ns = clock_add(a->info.lost_at_ns, ends_ns);
    a->info.collected = from->over;
    place(c, i, COORD_LOST);
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
        take_over(c, i, from);
        a->closed = !from->armed || from->over; /* was never opened */
        a->info.uncollected = !a->closed;
        coord_began(c, i, from->started_ns);
        if (!from->armed)
            place(c, i, COORD_REFUSED);
        else if (from->lost_after_ns != 0)
            was_lost(c, i, from);
        else if (from->over)
            place(c, i, COORD_DONE);
    }
}

void coord_resume_begin(struct coordinator *c, uint64_t now_ns)
{
    c->salvage_ns = clock_add(now_ns, c->cfg.patience.wait_agents_ns);
    for (size_t i = 0; i < c->n; i++) {
        struct coord_agent *a = &c->agents[i];
        if (a->info.state == COORD_DONE && a->info.end_reason != END_FINISHED) {
            coord_ended_early(c, i, now_ns, a->info.end_reason);
        } else if (a->info.state == COORD_LOST) {
            if (!a->closed)
                coord_salvage(c, i, now_ns);
            a->redial_ns = a->load_ns > now_ns ? a->load_ns : now_ns;
            coord_lost(c, i, now_ns, a->info.problem);
        }
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
    if (w->state == AGENT_RUNNING && a->reshare_command != 0)
        coord_reshare_again(c, i, ev->now_ns);
    else
        a->reshare_command = 0;
    if (c->stopping)
        coord_stop(c, i, ev->now_ns, 0, COORD_STOP_NS, "the run is being stopped");
    else if (w->state == AGENT_ENDED)
        coord_await_final(c, i, ev->now_ns);
}
