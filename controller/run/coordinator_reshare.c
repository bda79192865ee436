/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "controller/run/coordinator_impl.h"
#include "proto/schedule.h"

/*
 * --on-agent-loss redistribute: from one global index on, far enough ahead that every survivor can
 * confirm before it is due, the survivors own the whole schedule. What the lost agent owed below
 * that index stays missing, and the ledger says so.
 */

static bool survives(const struct coord_agent *a)
{
    return a->info.state == COORD_RUNNING;
}

/* A change of shares must reach all survivors: not while one is late or has one to confirm. */
static bool all_ready(const struct coordinator *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct coord_agent *a = &c->agents[i];
        if (coord_terminal(a))
            continue;
        if (!survives(a) || a->info.late_since_ns != 0 || a->reshare_command != 0)
            return false;
    }
    return true;
}

/* First index that is due late enough. UINT64_MAX: the run is over before. */
static uint64_t first_index(const struct coordinator *c, uint64_t now_ns)
{
    const struct plan *p = c->cfg.plan;
    struct share whole = {.total = 1, .weight = 1, .threads = 1};
    struct schedule s;
    uint64_t worst = 0, free_ns = now_ns;
    for (size_t i = 0; i < c->n; i++) {
        worst = c->agents[i].info.rtt_ns > worst ? c->agents[i].info.rtt_ns : worst;
        if (c->agents[i].load_ns > free_ns) /* the lost one may still send until then */
            free_ns = c->agents[i].load_ns;
    }
    if (plan_schedule(p, &whole, p->requests, &s, NULL) != ERR_OK)
        return UINT64_MAX;
    uint64_t at_ns = clock_add(clock_elapsed(c->t0_ns, free_ns), COORD_RESHARE_NS + 4 * worst);
    uint64_t index = schedule_due_until(&s, at_ns);
    if (index < c->reshare_from)
        index = c->reshare_from;
    return index < s.count ? index : UINT64_MAX;
}

void coord_reshare_repeat(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    struct msg m = {.type = MSG_RESHARE};
    if (now_ns >= a->reshare_by_ns) {
        coord_fail(c, i, COORD_LOST, now_ns, "it did not take its part of the others' load over");
        return;
    }
    a->reshare_ns = clock_add(now_ns, COORD_STOP_REPEAT_NS);
    if (a->reshare_ns > a->reshare_by_ns)
        a->reshare_ns = a->reshare_by_ns;
    m.reshare.command = a->reshare_command;
    m.reshare.from_index = c->reshare_from;
    m.reshare.total = a->reshare.total;
    m.reshare.first = a->reshare.first;
    m.reshare.weight = a->reshare.weight;
    coord_send(c, i, &m);
}

static void assign(struct coordinator *c, size_t i, uint32_t total, uint32_t *first)
{
    struct coord_agent *a = &c->agents[i];
    a->reshare = a->info.part;
    a->reshare.total = total;
    a->reshare.first = *first;
    *first += a->reshare.weight;
    a->reshare_command = c->next_command++;
    a->reshare_by_ns = clock_add(c->t0_ns, plan_due_of_index(c->cfg.plan, c->reshare_from));
}

/* Whoever takes the run over knows what was asked for even if it is us who dies in between. */
static void ask_all(struct coordinator *c, uint64_t now_ns)
{
    coord_record(c);
    for (size_t i = 0; i < c->n; i++)
        if (survives(&c->agents[i]))
            coord_reshare_repeat(c, i, now_ns);
}

void coord_reshare_again(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    uint64_t due_ns = clock_add(c->t0_ns, plan_due_of_index(c->cfg.plan, c->reshare_from));
    uint64_t answer_ns = clock_add(now_ns, COORD_STOP_NS);
    a->reshare_by_ns = due_ns > answer_ns ? due_ns : answer_ns;
    coord_reshare_repeat(c, i, now_ns);
}

/* Why it cannot be done at all, NULL = it can. */
static const char *hindrance(const struct coordinator *c, uint64_t index, uint32_t survivors)
{
    if (c->cfg.plan->rate.num == 0)
        return "a closed loop has no schedule to take over";
    if (survivors == 0)
        return "no agent is left";
    if (c->reshares == SCHEDULE_PIECES_MAX - 1)
        return "it has been redistributed too often";
    return index == UINT64_MAX ? "the end of the run is too near" : NULL;
}

void coord_reshare(struct coordinator *c, uint64_t now_ns)
{
    uint32_t total = 0, first = 0;
    if (!all_ready(c))
        return;
    for (size_t i = 0; i < c->n; i++)
        if (survives(&c->agents[i]))
            total += c->agents[i].info.part.weight;
    uint64_t index = first_index(c, now_ns);
    const char *why = hindrance(c, index, total);
    c->reshare_wanted = false;
    if (why != NULL) {
        coord_note(c, "the lost share of the load is not redistributed: %s", why);
        return;
    }
    c->reshares++;
    c->reshare_from = index;
    for (size_t i = 0; i < c->n; i++) {
        struct coord_agent_info *info = &c->agents[i].info;
        if (survives(&c->agents[i]))
            assign(c, i, total, &first);
        else if (info->lost_at_ns != 0 && info->taken_over_from == UINT64_MAX)
            info->taken_over_from = index;
    }
    ask_all(c, now_ns);
    coord_note(c, "from request %" PRIu64 " on the remaining agents send the whole load", index);
}

void coord_reshared(struct coordinator *c, size_t i, const struct coord_event *ev)
{
    struct coord_agent *a = &c->agents[i];
    const struct msg_reshared *r = &ev->msg->reshared;
    if (r->command != a->reshare_command)
        return;
    a->reshare_command = 0;
    a->reshare_ns = a->reshare_by_ns = NS_NEVER;
    if (r->problem[0] == '\0')
        return;
    char text[sizeof r->problem];
    snprintf(text, sizeof text, "%s", r->problem);
    msg_sanitise(text);
    coord_note(c, "agent %s takes over only a part: %s", coord_address(c, i), text);
}
