/* SPDX-License-Identifier: MIT */
#include "controller/run/abort_watch.h"

#include <stdio.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/units.h"

struct abort_watch {
    const struct condition_list *conditions;
    uint64_t interval_ns, begin_ns, planned_ns;
    uint64_t *since_ns;        /* of each condition: it holds since then; NS_NEVER = it does not */
    struct snapshot *total;    /* of what is closed, and late */
    struct snapshot **pending; /* by slot of the interval grid, from `closed` on; may be NULL */
    size_t closed, n_pending;  /* slots */
    uint64_t end_ns;           /* of the last closed interval */
    char reason[CONDITION_TEXT + CONDITION_SAID + 160];
};

struct abort_watch *abort_watch_new(const struct condition_list *conditions, uint64_t interval_ns,
                                    uint64_t begin_ns, uint64_t planned_ns)
{
    struct abort_watch *w = mem_calloc(1, sizeof *w);
    w->conditions = conditions;
    w->interval_ns = interval_ns;
    w->begin_ns = begin_ns;
    w->planned_ns = planned_ns;
    w->since_ns = mem_calloc(conditions->n + 1, sizeof *w->since_ns);
    for (size_t i = 0; i < conditions->n; i++)
        w->since_ns[i] = NS_NEVER;
    w->total = snapshot_new();
    return w;
}

void abort_watch_free(struct abort_watch *w)
{
    if (w == NULL)
        return;
    for (size_t i = 0; i < w->n_pending; i++)
        snapshot_free(w->pending[i]);
    snapshot_free(w->total);
    mem_free(w->pending);
    mem_free(w->since_ns);
    mem_free(w);
}

/* The merge has taken the snapshot: its slot is near, and what does not fit did not fit there. */
static struct snapshot *place(struct abort_watch *w, const struct snapshot *s)
{
    size_t slot = (size_t)((s->from_ns + w->interval_ns / 2) / w->interval_ns);
    slot += s->intervals > 1 ? s->intervals - 1 : 0;
    if (slot < w->closed)
        return w->total;
    size_t i = slot - w->closed;
    if (i >= w->n_pending) {
        w->pending = mem_realloc(w->pending, i + 1, sizeof(struct snapshot *));
        while (w->n_pending <= i)
            w->pending[w->n_pending++] = NULL;
    }
    if (w->pending[i] == NULL)
        w->pending[i] = snapshot_new();
    return w->pending[i];
}

void abort_watch_add(struct abort_watch *w, const struct snapshot *s)
{
    if (w->reason[0] == '\0')
        (void)!snapshot_add(place(w, s), s, false);
}

/* Takes the slots out that are closed with this one. */
static struct snapshot *take(struct abort_watch *w, size_t closed)
{
    struct snapshot *sum = snapshot_new();
    size_t n = closed > w->closed ? closed - w->closed : 0;
    for (size_t i = 0; i < n && i < w->n_pending; i++) {
        if (w->pending[i] != NULL)
            (void)!snapshot_add(sum, w->pending[i], false);
        snapshot_free(w->pending[i]);
    }
    size_t left = w->n_pending > n ? w->n_pending - n : 0;
    for (size_t i = 0; i < left; i++)
        w->pending[i] = w->pending[i + n];
    w->n_pending = left;
    w->closed += n;
    return sum;
}

static void meet(struct abort_watch *w, const struct condition *c, const struct condition_figure *f)
{
    char at[UNITS_TEXT], said[CONDITION_SAID];
    snprintf(w->reason, sizeof w->reason, "%s was met %s after the start: %s%s", c->text,
             units_format_latency(w->end_ns, at), condition_say(c, f, said),
             c->for_ns > 0 ? " in the last interval" : "");
}

/* A rate is of the time in which something was due, and counts. */
static bool measure(const struct abort_watch *w, const struct condition *c,
                    const struct snapshot *s, uint64_t from_ns, struct condition_figure *f)
{
    uint64_t to_ns = w->end_ns < w->planned_ns ? w->end_ns : w->planned_ns;
    return condition_measure(c, s, from_ns > w->begin_ns ? from_ns : w->begin_ns, to_ns, f);
}

static bool so_far(struct abort_watch *w, const struct condition *c)
{
    struct condition_figure f;
    if (!measure(w, c, w->total, 0, &f) || !condition_holds(c, &f))
        return false;
    meet(w, c, &f);
    return true;
}

static bool lasting(struct abort_watch *w, size_t i, const struct snapshot *s, uint64_t from_ns)
{
    const struct condition *c = &w->conditions->items[i];
    uint64_t *since_ns = &w->since_ns[i];
    struct condition_figure f;
    if (!measure(w, c, s, from_ns, &f))
        return false;
    if (!condition_holds(c, &f)) {
        *since_ns = NS_NEVER;
        return false;
    }
    if (*since_ns == NS_NEVER)
        *since_ns = from_ns;
    if (w->end_ns - *since_ns < c->for_ns)
        return false;
    meet(w, c, &f);
    return true;
}

bool abort_watch_closed(struct abort_watch *w, const struct result_interval *row)
{
    if (w->reason[0] != '\0')
        return false;
    struct snapshot *s = take(w, (size_t)(row->from_ns / w->interval_ns) + row->slots);
    (void)!snapshot_add(w->total, s, false);
    w->end_ns = row->to_ns;
    bool met = false;
    for (size_t i = 0; i < w->conditions->n && !met; i++) {
        if (w->conditions->items[i].for_ns > 0)
            met = lasting(w, i, s, row->from_ns);
        else
            met = so_far(w, &w->conditions->items[i]);
    }
    snapshot_free(s);
    return met;
}

bool abort_watch_end(struct abort_watch *w)
{
    bool met = w->reason[0] != '\0';
    for (size_t i = 0; i < w->conditions->n && !met; i++)
        if (w->conditions->items[i].for_ns == 0)
            met = so_far(w, &w->conditions->items[i]);
    return met;
}

const char *abort_watch_reason(const struct abort_watch *w)
{
    return w->reason;
}
