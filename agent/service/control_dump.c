/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "agent/service/control_impl.h"
#include "agent/service/run_dump.h"
#include "common/clock.h"
#include "common/log.h"

/* Single requests: sent while there is room and time, and counted where there is not. Nothing waits
 * for them but the final snapshot, and that not for long. */

#define DUMP_EVERY_NS                                                                              \
    (50 * NS_PER_MS)                  /* a ring holds what a worker does in that time many times   \
                                       */
#define DUMP_BUSY_NS (10 * NS_PER_MS) /* when there was more than a message took, or no room */
#define DUMP_WAIT_NS (500 * NS_PER_MS)

static struct run_dump *dump_of(const struct control *c)
{
    return c->run != NULL && c->cfg.run->dump != NULL ? c->cfg.run->dump(c->run) : NULL;
}

void control_dump_begin(struct control *c)
{
    if (dump_of(c) != NULL)
        c->dump_at_ns = c->cfg.now(c->cfg.arg);
}

/* True = all that there is now has left. */
static bool send_all(struct control *c, struct run_dump *d)
{
    struct msg m = {.type = MSG_REQUESTS};
    while (c->owner.conn != NULL && run_dump_next(d, &m.requests)) {
        if (!c->cfg.send(c->cfg.arg, c->owner.conn, &m))
            return false;
        run_dump_sent(d);
        if (!run_dump_busy(d)) /* the few that have come meanwhile can wait */
            return true;
    }
    return c->owner.conn != NULL;
}

void control_dump(struct control *c)
{
    uint64_t now_ns = c->cfg.now(c->cfg.arg);
    struct run_dump *d = dump_of(c);
    if (now_ns < c->dump_at_ns || d == NULL)
        return;
    c->dump_at_ns = NS_NEVER; /* sending may come back to us */
    bool all = send_all(c, d);
    c->dump_at_ns = clock_add(now_ns, all && !run_dump_busy(d) ? DUMP_EVERY_NS : DUMP_BUSY_NS);
}

bool control_dump_over(struct control *c, struct msg_final *f)
{
    uint64_t now_ns = c->cfg.now(c->cfg.arg);
    struct run_dump *d = dump_of(c);
    struct msg_requests m;
    if (d == NULL)
        return true;
    c->dump_at_ns = NS_NEVER;
    if (c->dump_by_ns == 0)
        c->dump_by_ns = clock_add(now_ns, DUMP_WAIT_NS);
    bool all = send_all(c, d) && !run_dump_next(d, &m);
    if (!all && now_ns < c->dump_by_ns)
        return false;
    run_dump_give_up(d);
    run_dump_totals(d, &f->rows, &f->rows_dropped);
    if (!all)
        log_warn(c->owner.name, "%" PRIu64 " rows of single requests were not sent in time",
                 f->rows_dropped);
    return true;
}
