/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "common/mem.h"
#include "common/units.h"
#include "controller/run/coordinator_impl.h"

/* What happens when an agent's deadline passes without the answer. Every wait ends here. */

static void late_prepare(struct coordinator *c, size_t i, uint64_t now_ns)
{
    coord_fail(c, i, COORD_LOST, now_ns, "it was not prepared within %llu s",
               (unsigned long long)((COORD_PREPARE_NS + c->cfg.plan->timeout_ns) / NS_PER_SEC));
}

static void late_probe(struct coordinator *c, size_t i, uint64_t now_ns)
{
    coord_fail(c, i, COORD_LOST, now_ns, "its clock could not be read: too few probes answered");
}

static void late_start(struct coordinator *c, size_t i, uint64_t now_ns)
{
    coord_fail(c, i, COORD_LOST, now_ns, "it did not start");
}

/* The schedule and all timeouts are over and it still has not said so. */
static void late_end(struct coordinator *c, size_t i, uint64_t now_ns)
{
    coord_stop(c, i, now_ns, 0, COORD_STOP_NS, "the planned end is past");
    coord_spoil(c, now_ns, "agent %s did not end by itself", coord_address(c, i));
}

static void late_final(struct coordinator *c, size_t i, uint64_t now_ns)
{
    const struct coord_agent *a = &c->agents[i];
    if (a->known_seq > a->info.last_seq)
        coord_fail(c, i, COORD_LOST, now_ns,
                   "its interval %" PRIu64
                   " did not come, though it was asked for again and again%s",
                   a->info.last_seq + 1, c->resumed ? "; the journal does not have it either" : "");
    else
        coord_fail(c, i, COORD_LOST, now_ns, "its final results did not come after it was stopped");
}

static void (*const when_late[COORD_STATES])(struct coordinator *, size_t, uint64_t) = {
    [COORD_PREPARING] = late_prepare, [COORD_PROBING] = late_probe,  [COORD_ARMED] = late_start,
    [COORD_RUNNING] = late_end,       [COORD_STOPPING] = late_final,
};

static void silent(struct coordinator *c, size_t i, uint64_t now_ns)
{
    char text[UNITS_TEXT];
    coord_fail(c, i, COORD_LOST, now_ns, "nothing was heard of it for %s",
               units_format_duration(c->cfg.patience.lease_ns + COORD_LOST_NS, text));
}

static void unreachable(struct coordinator *c, size_t i, uint64_t now_ns)
{
    if (c->agents[i].salvage) {
        coord_forget(c, i);
        return;
    }
    char why[sizeof c->agents[i].info.problem];
    snprintf(why, sizeof why, "%s", c->agents[i].info.problem);
    char text[UNITS_TEXT], all[400];
    snprintf(all, sizeof all, "it cannot be reached within %s: %.200s",
             units_format_duration(c->cfg.patience.wait_agents_ns, text),
             why[0] != '\0' ? why : "it does not answer");
    coord_not_there(c, i, COORD_LOST, now_ns, all);
}

/* No answer to a dial, or none to HELLO. */
static void again(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    if (a->info.state <= COORD_GREETING && a->attempt_ns != NS_NEVER)
        snprintf(a->info.problem, sizeof a->info.problem, "it does not answer");
    coord_dial(c, i, now_ns);
}

/* Who cannot be reached cannot answer either: until it is back or lost nothing is held against it.
 * After Ctrl-C nobody is waited for. */
static void late_state(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    if (a->info.late_since_ns != 0 && a->info.state >= COORD_ARMED && !c->interrupted) {
        a->deadline_ns = clock_add(now_ns, NS_PER_SEC);
        return;
    }
    a->deadline_ns = NS_NEVER;
    if (when_late[a->info.state] != NULL)
        when_late[a->info.state](c, i, now_ns);
}

/* In this order: what ends an agent comes before what asks it for something. */
static const struct {
    size_t when; /* offset in struct coord_agent */
    void (*act)(struct coordinator *c, size_t i, uint64_t now_ns);
} timers[] = {
    {offsetof(struct coord_agent, give_up_ns), unreachable},
    {offsetof(struct coord_agent, silence_ns), silent},
    {offsetof(struct coord_agent, deadline_ns), late_state},
    {offsetof(struct coord_agent, quiet_ns), coord_quiet},
    {offsetof(struct coord_agent, deaf_ns), coord_deaf},
    {offsetof(struct coord_agent, attempt_ns), again},
    {offsetof(struct coord_agent, redial_ns), again},
    {offsetof(struct coord_agent, hello_ns), coord_hello},
    {offsetof(struct coord_agent, repeat_ns), coord_repeat},
    {offsetof(struct coord_agent, reshare_ns), coord_reshare_repeat},
    {offsetof(struct coord_agent, resend_ns), coord_resend},
    {offsetof(struct coord_agent, ping_ns), coord_ping},
};

static uint64_t timer_at(const struct coord_agent *a, size_t k)
{
    return *(const uint64_t *)(const void *)((const char *)a + timers[k].when);
}

static void tick(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    for (size_t k = 0; k < sizeof timers / sizeof timers[0]; k++)
        if ((!coord_terminal(a) || a->salvage) && now_ns >= timer_at(a, k))
            timers[k].act(c, i, now_ns);
    coord_touch(a);
}

/* For the timers that hold silence against an agent. */
void coord_overslept(struct coordinator *c, uint64_t now_ns)
{
    uint64_t soon = clock_add(now_ns, COORD_OVERSLEPT_NS);
    for (size_t i = 0; i < c->n; i++) {
        struct coord_agent *a = &c->agents[i];
        uint64_t *against[] = {&a->silence_ns, &a->deadline_ns, &a->quiet_ns, &a->deaf_ns,
                               &a->attempt_ns};
        for (size_t k = 0; k < sizeof against / sizeof against[0]; k++)
            if (*against[k] < soon)
                *against[k] = soon;
        coord_touch(a);
    }
}

/* --- the earliest ----------------------------------------------------------------------------- */

#define GROUP 32 /* agents; of a thousand that makes 32 groups of 32 */

static size_t groups(const struct coordinator *c)
{
    return (c->n + GROUP - 1) / GROUP;
}

static size_t group_end(const struct coordinator *c, size_t g)
{
    return (g + 1) * GROUP < c->n ? (g + 1) * GROUP : c->n;
}

void coord_timers_new(struct coordinator *c)
{
    c->due_ns = mem_calloc(c->n, sizeof *c->due_ns);
    c->group_ns = mem_calloc(groups(c), sizeof *c->group_ns);
    for (size_t i = 0; i < c->n; i++) {
        c->agents[i].due_ns = &c->due_ns[i];
        c->agents[i].group_ns = &c->group_ns[i / GROUP];
    }
}

void coord_timers_free(struct coordinator *c)
{
    mem_free(c->due_ns);
    mem_free(c->group_ns);
}

void coord_touch(struct coord_agent *a)
{
    *a->due_ns = *a->group_ns = 0;
}

void coord_tick(struct coordinator *c, uint64_t now_ns)
{
    for (size_t g = 0; g < groups(c) && c->phase != PHASE_OVER; g++)
        for (size_t i = g * GROUP; c->group_ns[g] <= now_ns && i < group_end(c, g); i++)
            if (c->due_ns[i] <= now_ns && c->phase != PHASE_OVER)
                tick(c, i, now_ns);
}

static uint64_t next_timer(const struct coord_agent *a)
{
    uint64_t next = NS_NEVER;
    if (coord_terminal(a) && !a->salvage)
        return NS_NEVER;
    for (size_t k = 0; k < sizeof timers / sizeof timers[0]; k++)
        next = timer_at(a, k) < next ? timer_at(a, k) : next;
    return next;
}

#ifndef NDEBUG
/* Who forgot to say so? */
static bool in_time(const struct coordinator *c, size_t g)
{
    for (size_t i = g * GROUP; i < group_end(c, g); i++)
        if (c->due_ns[i] > next_timer(&c->agents[i]) || c->group_ns[g] > c->due_ns[i])
            return false;
    return true;
}
#endif

void coord_settle(struct coordinator *c)
{
    for (size_t g = 0; g < groups(c); g++) {
        assert(in_time(c, g));
        if (c->group_ns[g] != 0)
            continue;
        uint64_t next = NS_NEVER;
        for (size_t i = g * GROUP; i < group_end(c, g); i++) {
            if (c->due_ns[i] == 0)
                c->due_ns[i] = next_timer(&c->agents[i]);
            next = c->due_ns[i] < next ? c->due_ns[i] : next;
        }
        c->group_ns[g] = next;
    }
}

uint64_t coord_next(const struct coordinator *c)
{
    uint64_t next = NS_NEVER;
    for (size_t g = 0; g < groups(c); g++)
        next = c->group_ns[g] < next ? c->group_ns[g] : next;
    return next;
}
