/* SPDX-License-Identifier: MIT */
#include "agent/engine/pacer.h"

#include <inttypes.h>

#include "common/clock.h"

void pacer_init(struct pacer *p, const struct schedule *s, uint64_t quantum_ns)
{
    *p = (struct pacer){.schedule = *s,
                        .t0_ns = NS_NEVER,
                        .next_ns = NS_NEVER,
                        .end_ns = NS_NEVER,
                        .quantum_ns = quantum_ns,
                        .closed = schedule_is_closed(s)};
}

static uint64_t round_up(uint64_t ns, uint64_t quantum_ns)
{
    uint64_t over_ns = quantum_ns > 0 ? ns % quantum_ns : 0;
    return over_ns > 0 ? clock_add(ns, quantum_ns - over_ns) : ns;
}

static void find_next(struct pacer *p)
{
    p->next_ns = NS_NEVER;
    if (p->due < p->schedule.count)
        p->next_ns =
            clock_add(p->t0_ns, round_up(schedule_due(&p->schedule, p->due), p->quantum_ns));
}

static uint64_t end_of(const struct pacer *p)
{
    uint64_t total = schedule_total(&p->schedule), end = NS_NEVER;
    if (total != UINT64_MAX && !p->closed)
        end = schedule_due_at(&p->schedule, total);
    if (end > p->schedule.duration_ns)
        end = p->schedule.duration_ns;
    return clock_add(p->t0_ns, end);
}

void pacer_start(struct pacer *p, uint64_t t0_ns)
{
    p->t0_ns = t0_ns;
    p->end_ns = end_of(p);
    find_next(p);
}

/* How many of the slots up to `until` count as prompt, see pacer.h. */
static uint64_t prompt_until(const struct pacer *p, uint64_t until, uint64_t now_ns, uint64_t idle)
{
    uint64_t prompt = clock_add(p->due, idle);
    uint64_t since = now_ns - p->t0_ns, late_ns = PACER_LATE_NS + p->quantum_ns;
    if (prompt < until && since > late_ns) {
        uint64_t overlooked = schedule_due_until(&p->schedule, since - late_ns - 1);
        if (overlooked > prompt)
            prompt = overlooked;
    }
    return prompt < until ? prompt : until;
}

static uint64_t advance_closed(struct pacer *p, uint64_t now_ns, uint64_t idle)
{
    uint64_t backlog = pacer_backlog(p), left = p->schedule.count - p->due;
    if (p->next_ns == NS_NEVER || now_ns >= p->end_ns || idle <= backlog)
        return 0;
    uint64_t n = idle - backlog < left ? idle - backlog : left;
    p->due += n;
    p->prompt = p->open = p->due;
    return n;
}

/* Are there slots to be sent in front of dropped ones? If not, the dropped ones are behind us. */
static bool keep_hole(struct pacer *p)
{
    if (pacer_backlog(p) > 0)
        return p->open < p->due;
    p->sent = p->open = p->due;
    return false;
}

uint64_t pacer_advance(struct pacer *p, uint64_t now_ns, uint64_t idle)
{
    if (p->closed)
        return advance_closed(p, now_ns, idle);
    if (now_ns < p->next_ns || p->next_ns == NS_NEVER)
        return 0;
    bool hole = p->drop && keep_hole(p);
    uint64_t backlog = pacer_backlog(p);
    if (hole && idle > backlog)
        return 0; /* a prompt one has no place behind dropped ones: those in front are sent first */
    uint64_t until = schedule_due_until(&p->schedule, now_ns - p->t0_ns);
    /* Prompt slots come before waiting ones in the backlog: behind a waiting one a slot waits. */
    bool behind_waiting = backlog > 0 && p->prompt < p->due;
    if (idle > backlog && !behind_waiting)
        p->prompt = prompt_until(p, until, now_ns, idle - backlog);
    uint64_t n = until - p->due;
    p->due = until;
    if (!hole)
        p->open = until;
    find_next(p);
    return n;
}

enum err pacer_reshare(struct pacer *p, uint64_t from, const struct share *share, uint64_t now_ns,
                       struct errmsg *msg)
{
    struct schedule next = p->schedule;
    enum err e = schedule_reshare(&next, from, share, msg);
    if (e != ERR_OK)
        return e;
    uint64_t due_ns = clock_add(p->t0_ns, schedule_due_at(&next, from));
    if (p->t0_ns != NS_NEVER && now_ns >= due_ns)
        return errmsg_set(msg, ERR_STATE, "index %" PRIu64 " was due %" PRIu64 " ms ago", from,
                          (now_ns - due_ns) / NS_PER_MS);
    p->schedule = next;
    if (p->next_ns != NS_NEVER || p->due < next.count)
        find_next(p);
    return ERR_OK;
}

uint64_t pacer_backlog(const struct pacer *p)
{
    return p->open - p->sent;
}

struct pacer_slot pacer_oldest(const struct pacer *p)
{
    uint64_t tag = schedule_index(&p->schedule, p->sent);
    return (struct pacer_slot){
        .tag = tag,
        .due_ns = p->closed ? NS_NEVER : clock_add(p->t0_ns, schedule_due_at(&p->schedule, tag)),
        .waiting = p->sent >= p->prompt,
    };
}

void pacer_sent(struct pacer *p)
{
    p->sent++;
}

bool pacer_exhausted(const struct pacer *p)
{
    return p->due == p->schedule.count && p->sent == p->open;
}

struct pacer_range pacer_shed(struct pacer *p)
{
    uint64_t keep = p->prompt < p->open ? p->prompt : p->open;
    if (keep < p->sent)
        keep = p->sent;
    uint64_t from = keep > p->shed ? keep : p->shed;
    p->open = keep;
    p->shed = p->due;
    return (struct pacer_range){from, p->due - from};
}

uint64_t pacer_wake(const struct pacer *p, uint64_t idle)
{
    if (idle == 0)
        return NS_NEVER;
    return pacer_backlog(p) > 0 ? p->t0_ns : p->next_ns;
}

uint64_t pacer_end(const struct pacer *p)
{
    return p->end_ns;
}

void pacer_exact(struct pacer *p)
{
    p->quantum_ns = 0;
    if (p->next_ns != NS_NEVER)
        find_next(p);
}

struct pacer_range pacer_close(struct pacer *p)
{
    struct pacer_range rest = {p->sent, pacer_backlog(p)};
    p->sent = p->open = p->due;
    p->next_ns = NS_NEVER;
    return rest;
}

uint64_t pacer_due(const struct pacer *p, uint64_t slot, uint64_t *tag)
{
    *tag = schedule_index(&p->schedule, slot);
    return clock_add(p->t0_ns, schedule_due_at(&p->schedule, *tag));
}

uint64_t pacer_slots_before(const struct pacer *p, uint64_t ns)
{
    return ns == 0 ? 0 : schedule_due_until(&p->schedule, ns - 1);
}
