/* SPDX-License-Identifier: MIT */
#include "agent/engine/spin.h"

#include "common/clock.h"

#define FIRST_NS  UINT64_C(50000) /* until wake-ups have been seen */
#define LEAST_NS  UINT64_C(2000)
#define MARGIN_NS UINT64_C(2000) /* so close to the due time no socket is looked at */

bool spin_has_cores(uint32_t workers, uint32_t allowed, uint32_t online, bool server_here)
{
    uint32_t taken = server_here ? 1 : 0;
    uint32_t spare = online > taken ? online - taken : 0;
    return workers <= allowed && workers <= spare;
}

void spin_init(struct spin *s, uint64_t setting_ns, uint64_t gap_ns, uint64_t now_ns)
{
    *s = (struct spin){
        .setting_ns = setting_ns,
        .gap_ns = gap_ns,
        .want_ns = FIRST_NS,
        .credit_ns = SPIN_CREDIT_NS,
        .paid_ns = now_ns,
        .due_ns = NS_NEVER,
        .begin_ns = NS_NEVER,
        .polled_ns = now_ns,
    };
}

/* --- auto ------------------------------------------------------------------------------------- */

static void earn(struct spin *s, uint64_t now_ns)
{
    uint64_t earned = clock_elapsed(s->paid_ns, now_ns) / SPIN_SHARE;
    if (earned == 0)
        return; /* not to lose the rest of the division */
    s->credit_ns += earned;
    if (s->credit_ns > SPIN_CREDIT_NS)
        s->credit_ns = SPIN_CREDIT_NS;
    s->paid_ns = now_ns;
}

static uint64_t auto_length(struct spin *s, uint64_t now_ns)
{
    earn(s, now_ns);
    if (now_ns < s->hold_ns || s->gap_ns < s->want_ns)
        return 0;
    return s->want_ns * s->credit_ns / SPIN_CREDIT_NS;
}

/* Finds the 95th percentile: one step up weighs 19 steps down. */
static void learn(struct spin *s, uint64_t late_ns)
{
    uint64_t step = s->want_ns / 160 + 1;
    if (late_ns > s->want_ns)
        s->want_ns += 19 * step;
    else
        s->want_ns -= step;
    if (s->want_ns > SPIN_AUTO_MAX_NS)
        s->want_ns = SPIN_AUTO_MAX_NS;
    if (s->want_ns < LEAST_NS)
        s->want_ns = LEAST_NS;
}

static void spend(struct spin *s, uint64_t ns)
{
    s->spent_ns += ns;
    s->credit_ns -= ns < s->credit_ns ? ns : s->credit_ns;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* The length is settled once for each due time. */
static void note_due(struct spin *s, uint64_t now_ns, uint64_t due_ns)
{
    if (due_ns == s->due_ns)
        return;
    uint64_t length_ns = s->setting_ns == SPIN_AUTO ? auto_length(s, now_ns) : s->setting_ns;
    s->due_ns = due_ns;
    s->begin_ns = length_ns == 0 ? NS_NEVER : clock_elapsed(length_ns, due_ns);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

struct spin_step spin_next(struct spin *s, uint64_t now_ns, uint64_t due_ns, uint64_t wake_ns)
{
    uint64_t until_ns = sooner(due_ns, wake_ns), begin_ns = NS_NEVER;
    if (until_ns <= now_ns)
        return (struct spin_step){SPIN_POLL, now_ns};
    if (due_ns != NS_NEVER) {
        note_due(s, now_ns, due_ns);
        begin_ns = s->begin_ns;
    }
    if (now_ns < begin_ns)
        return (struct spin_step){SPIN_SLEEP, sooner(until_ns, begin_ns)};
    uint64_t unseen_ns = clock_elapsed(s->polled_ns, now_ns);
    bool close = until_ns - now_ns < MARGIN_NS;
    if (unseen_ns >= 2 * SPIN_POLL_NS || (unseen_ns >= SPIN_POLL_NS && !close))
        return (struct spin_step){SPIN_POLL, until_ns};
    if (unseen_ns < SPIN_POLL_NS)
        until_ns = sooner(until_ns, s->polled_ns + SPIN_POLL_NS);
    return (struct spin_step){SPIN_WATCH, until_ns};
}

void spin_slept(struct spin *s, uint64_t asked_ns, uint64_t now_ns)
{
    s->polled_ns = now_ns;
    if (s->setting_ns == SPIN_AUTO && now_ns >= asked_ns) /* else an event ended it, no timer */
        learn(s, now_ns - asked_ns);
}

void spin_polled(struct spin *s, const struct spin_step *step, uint64_t from_ns, uint64_t to_ns)
{
    s->polled_ns = to_ns;
    if (step->until_ns > from_ns) /* else work was overdue, and nobody waited */
        spend(s, sooner(clock_elapsed(from_ns, to_ns), SPIN_POLL_MAX_NS));
}

void spin_watched(struct spin *s, uint64_t from_ns, uint64_t to_ns, uint64_t jump_ns)
{
    uint64_t ns = clock_elapsed(from_ns, to_ns);
    if (jump_ns > SPIN_JUMP_NS) {
        ns -= sooner(jump_ns, ns); /* others ran */
        s->hold_ns = to_ns + SPIN_HOLD_NS;
    }
    spend(s, ns);
}
