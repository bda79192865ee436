/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "common/units.h"
#include "controller/run/coordinator_impl.h"

/* What happens when an agent's deadline passes without the answer. Every wait ends here. */

static void late_dial(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    if (a->redial_ns == NS_NEVER) /* an attempt was under way */
        snprintf(a->info.problem, sizeof a->info.problem, "it does not answer");
    coord_dial(c, i, now_ns);
}

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
    coord_fail(c, i, COORD_LOST, now_ns, "its final results did not come after it was stopped");
}

static void (*const when_late[COORD_STATES])(struct coordinator *, size_t, uint64_t) = {
    [COORD_DIALING] = late_dial,   [COORD_GREETING] = late_dial, [COORD_PREPARING] = late_prepare,
    [COORD_PROBING] = late_probe,  [COORD_ARMED] = late_start,   [COORD_RUNNING] = late_end,
    [COORD_STOPPING] = late_final,
};

static void silent(struct coordinator *c, size_t i, uint64_t now_ns)
{
    char text[UNITS_TEXT];
    coord_fail(c, i, COORD_LOST, now_ns, "nothing was heard of it for %s",
               units_format_duration(c->cfg.lease_ns, text));
}

static void unreachable(struct coordinator *c, size_t i, uint64_t now_ns)
{
    char why[sizeof c->agents[i].info.problem];
    snprintf(why, sizeof why, "%s", c->agents[i].info.problem);
    coord_fail(c, i, COORD_LOST, now_ns, "it cannot be reached within 10 s: %.200s",
               why[0] != '\0' ? why : "it does not answer");
}

void coord_tick(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    if (!coord_terminal(a) && now_ns >= a->give_up_ns)
        unreachable(c, i, now_ns);
    if (!coord_terminal(a) && now_ns >= a->silence_ns)
        silent(c, i, now_ns);
    if (!coord_terminal(a) && (now_ns >= a->deadline_ns || now_ns >= a->redial_ns)) {
        a->deadline_ns = NS_NEVER;
        if (when_late[a->info.state] != NULL)
            when_late[a->info.state](c, i, now_ns);
    }
    if (!coord_terminal(a) && now_ns >= a->repeat_ns)
        coord_repeat(c, i, now_ns);
    if (!coord_terminal(a) && now_ns >= a->resend_ns)
        coord_resend(c, i, now_ns);
    if (!coord_terminal(a) && now_ns >= a->ping_ns)
        coord_ping(c, i, now_ns);
}

uint64_t coord_next(const struct coord_agent *a)
{
    if (coord_terminal(a))
        return NS_NEVER;
    const uint64_t all[] = {a->deadline_ns, a->repeat_ns,  a->ping_ns,  a->silence_ns,
                            a->redial_ns,   a->give_up_ns, a->resend_ns};
    uint64_t next = NS_NEVER;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        next = all[i] < next ? all[i] : next;
    return next;
}
