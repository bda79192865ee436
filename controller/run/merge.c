/* SPDX-License-Identifier: MIT */
#include "controller/run/merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/run/blocks.h"
#include "controller/run/merge_row.h"
#include "controller/run/outlier.h"
#include "controller/run/stalls.h"

/* Rows this far behind the last closed one are packed, or done with when every agent is this far
 * beyond them. */
#define ROWS_HOT 16

/* Intervals that one snapshot may cover or leave out: an agent's lease ends long before. */
#define SLOTS_MAX 4096

struct agent_sum {
    struct snapshot *total;
    uint64_t last_seq;
    size_t next_slot;  /* slots below are reported */
    uint64_t last_row; /* slot + 1 of the last snapshot's end, 0 = none: whose gauge may change */
    uint64_t backlog;
    bool gone;
    bool checked;
    char problem[256];
};

/* Lines of the result. */
struct lines {
    size_t n, cap;
    struct result_interval *rows;
};

struct merge {
    uint64_t interval_ns;
    size_t n_agents;
    struct agent_sum *agents;
    struct lines done; /* of the slots below `settled`: nobody reports them any more */
    uint64_t every_ns; /* 0 = no groups */
    struct lines groups;
    struct merge_row *group; /* the last one, not yet among them; NULL = none */
    struct blocks *blocks;
    size_t settled;
    size_t n_slots, cap_slots; /* slots known, and how many fit from `settled` on */
    struct merge_row **slots;  /* from `settled` on; several may share a row; NULL = nothing yet */
    size_t closed;             /* slots below are closed */
    size_t lagging;            /* agents that have not reported slot `closed` and may still do so */
    bool stored;               /* nobody waits for an interval */
    struct stalls *stalls;
    struct outliers *outliers;
    merge_view_fn closed_fn, settled_fn;
    void *closed_arg, *settled_arg;
    merge_snapshot_fn snapshot_fn;
    void *snapshot_arg;
};

struct merge *merge_new(size_t n_agents, uint64_t interval_ns)
{
    struct merge *m = mem_calloc(1, sizeof *m);
    m->interval_ns = interval_ns > 0 ? interval_ns : NS_PER_SEC;
    m->n_agents = m->lagging = n_agents;
    m->agents = mem_calloc(n_agents, sizeof *m->agents);
    for (size_t i = 0; i < n_agents; i++)
        m->agents[i].total = snapshot_new();
    m->stalls = stalls_new(n_agents, m->interval_ns);
    m->outliers = outliers_new(n_agents, m->interval_ns);
    m->blocks = blocks_new();
    return m;
}

static struct merge_row **slot(const struct merge *m, size_t k)
{
    return &m->slots[k - m->settled];
}

static void free_rows(struct merge *m)
{
    for (size_t k = m->settled; k < m->n_slots; k++) {
        struct merge_row *row = *slot(m, k);
        if (row != NULL && row->last == k)
            merge_row_free(row);
    }
    mem_free(m->slots);
}

void merge_free(struct merge *m)
{
    if (m == NULL)
        return;
    free_rows(m);
    for (size_t i = 0; i < m->n_agents; i++)
        snapshot_free(m->agents[i].total);
    stalls_free(m->stalls);
    outliers_free(m->outliers);
    merge_row_free(m->group);
    blocks_free(m->blocks);
    mem_free(m->groups.rows);
    mem_free(m->done.rows);
    mem_free(m->agents);
    mem_free(m);
}

void merge_stored(struct merge *m, size_t first_slot)
{
    m->stored = true;
    m->settled = m->closed = m->n_slots = first_slot;
    for (size_t i = 0; i < m->n_agents; i++)
        m->agents[i].next_slot = first_slot;
}

void merge_on_interval(struct merge *m, merge_view_fn fn, void *arg)
{
    m->closed_fn = fn;
    m->closed_arg = arg;
}

void merge_on_settled(struct merge *m, merge_view_fn fn, void *arg)
{
    m->settled_fn = fn;
    m->settled_arg = arg;
}

void merge_on_snapshot(struct merge *m, merge_snapshot_fn fn, void *arg)
{
    m->snapshot_fn = fn;
    m->snapshot_arg = arg;
}

void merge_every(struct merge *m, uint64_t every_ns)
{
    m->every_ns = every_ns;
}

static struct merge_row *row_at(struct merge *m, size_t k)
{
    size_t need = k + 1 - m->settled;
    if (need > m->cap_slots) {
        m->cap_slots = need + m->cap_slots / 2;
        m->slots = mem_realloc(m->slots, m->cap_slots, sizeof(struct merge_row *));
    }
    while (m->n_slots <= k)
        *slot(m, m->n_slots++) = NULL;
    if (*slot(m, k) == NULL)
        *slot(m, k) = merge_row_new(k, m->interval_ns, m->n_agents);
    return *slot(m, k);
}

/* The one row that covers slots first..last; what is there already is joined into it. */
static enum err row_over(struct merge *m, size_t first, size_t last, struct merge_row **out)
{
    struct merge_row *row = row_at(m, first);
    enum err e = ERR_OK;
    for (size_t k = first + 1; k <= last && e == ERR_OK; k++) {
        struct merge_row *other = row_at(m, k);
        if (other == row)
            continue;
        size_t end = other->last;
        e = merge_row_join(row, other);
        for (size_t j = k; j <= end; j++)
            *slot(m, j) = row;
    }
    *out = row;
    return e;
}

static bool lags(const struct merge *m, const struct agent_sum *a)
{
    return !a->gone && a->next_slot <= m->closed;
}

static void keep_line(struct lines *l, struct merge_row *row)
{
    if (l->n == l->cap) {
        l->cap = l->cap == 0 ? 64 : l->cap + l->cap / 2;
        l->rows = mem_realloc(l->rows, l->cap, sizeof *l->rows);
    }
    merge_row_figures(row);
    l->rows[l->n++] = row->out;
}

static void end_group(struct merge *m)
{
    if (m->group != NULL)
        keep_line(&m->groups, m->group);
    merge_row_free(m->group);
    m->group = NULL;
}

/* A row over the border of two groups belongs to the one it begins in. Takes the row. */
static void add_to_group(struct merge *m, struct merge_row *row)
{
    struct merge_row *g = m->group;
    if (g != NULL && g->out.from_ns / m->every_ns == row->out.from_ns / m->every_ns) {
        enum err e = merge_row_join(g, row);
        (void)e; /* the sums of the run are larger, and they were added */
        return;
    }
    end_group(m);
    m->group = row;
}

static void show_settled(void *arg, const struct merge_view *v)
{
    struct merge *m = arg;
    blocks_add(m->blocks, v);
    if (m->settled_fn != NULL)
        m->settled_fn(m->settled_arg, v);
}

static void keep_done(struct merge *m, struct merge_row *row)
{
    merge_row_show(row, show_settled, m);
    keep_line(&m->done, row);
    if (m->every_ns > 0)
        add_to_group(m, row);
    else
        merge_row_free(row);
}

/* Slots below are closed and reported by all that may still report. */
static size_t reported_by_all(const struct merge *m)
{
    size_t all = m->closed;
    for (size_t i = 0; i < m->n_agents; i++)
        if (!m->agents[i].gone && m->agents[i].next_slot < all)
            all = m->agents[i].next_slot;
    return all;
}

/* Of rows that nobody will add to only the figures are kept: a run has any number of them. */
static void settle(struct merge *m, size_t limit)
{
    size_t to = m->settled;
    while (to < limit && (*slot(m, to))->last < limit) {
        struct merge_row *row = *slot(m, to);
        to = row->last + 1;
        keep_done(m, row);
    }
    if (to == m->settled)
        return;
    memmove(m->slots, slot(m, to), (m->n_slots - to) * sizeof(struct merge_row *));
    m->settled = to;
}

/* Behind it nobody has reported anything: rows that only the waiting has opened. How many there are
 * says when somebody gave up, not what the run was like. */
static size_t reported_by_any(const struct merge *m)
{
    size_t most = m->settled;
    for (size_t i = 0; i < m->n_agents; i++)
        if (m->agents[i].next_slot > most)
            most = m->agents[i].next_slot;
    return most;
}

static void close_slot(struct merge *m)
{
    size_t k = m->closed++;
    m->lagging = 0;
    for (size_t i = 0; i < m->n_agents; i++)
        m->lagging += lags(m, &m->agents[i]);
    struct merge_row *row = row_at(m, k);
    if (row->last == k)
        merge_row_show(row, m->closed_fn, m->closed_arg);
    size_t all = reported_by_all(m), any = reported_by_any(m);
    size_t limit = all > ROWS_HOT ? all - ROWS_HOT : 0;
    settle(m, limit < any ? limit : any);
    if (k >= m->settled + ROWS_HOT && (*slot(m, k - ROWS_HOT))->last == k - ROWS_HOT)
        merge_row_pack(*slot(m, k - ROWS_HOT));
}

static void close_ready(struct merge *m)
{
    while (m->lagging == 0 && m->closed < m->n_slots)
        close_slot(m);
}

static bool anyone_left(const struct merge *m)
{
    for (size_t i = 0; i < m->n_agents; i++)
        if (!m->agents[i].gone)
            return true;
    return false;
}

void merge_tick(struct merge *m, uint64_t t_ns, uint64_t grace_ns)
{
    if (!anyone_left(m))
        return;
    while (clock_add((m->closed + 1) * m->interval_ns, grace_ns) < t_ns)
        close_slot(m);
}

void merge_gone(struct merge *m, size_t agent)
{
    m->lagging -= lags(m, &m->agents[agent]);
    m->agents[agent].gone = true;
    close_ready(m);
}

static size_t first_slot(const struct merge *m, const struct snapshot *s)
{
    return (size_t)((s->from_ns + m->interval_ns / 2) / m->interval_ns);
}

static enum err check_order(const struct merge *m, const struct agent_sum *a,
                            const struct snapshot *s, struct errmsg *msg)
{
    if (a->gone)
        return errmsg_set(msg, ERR_STATE, "snapshot %" PRIu64 " after the agent's end", s->seq);
    if (s->cumulative || s->seq != a->last_seq + 1)
        return errmsg_set(msg, ERR_CORRUPT, "snapshot %" PRIu64 " after snapshot %" PRIu64, s->seq,
                          a->last_seq);
    if (s->to_ns < s->from_ns || s->intervals > SLOTS_MAX ||
        s->from_ns / m->interval_ns > a->next_slot + SLOTS_MAX)
        return errmsg_set(msg, ERR_CORRUPT,
                          "snapshot %" PRIu64 " claims the interval %" PRIu64 "..%" PRIu64
                          " ns, which does not follow the one before",
                          s->seq, s->from_ns, s->to_ns);
    if (first_slot(m, s) < m->settled)
        return errmsg_set(msg, ERR_CORRUPT,
                          "snapshot %" PRIu64 " begins at %" PRIu64
                          " ns, long before what its agent has already reported",
                          s->seq, s->from_ns);
    return ERR_OK;
}

static enum err add_to_row(struct merge *m, size_t agent, const struct snapshot *s)
{
    struct agent_sum *a = &m->agents[agent];
    size_t first = first_slot(m, s);
    size_t last = first + (s->intervals > 1 ? s->intervals - 1 : 0);
    struct merge_row *row;
    enum err e = row_over(m, first, last, &row);
    bool late = first < m->closed;
    uint64_t replaces = 0;
    if (a->last_row > m->settled && *slot(m, a->last_row - 1) == row)
        replaces = a->backlog;
    if (e == ERR_OK)
        e = merge_row_add(row, agent, s, replaces);
    if (late && !m->stored)
        row->out.agents_late++;
    a->last_row = last + 1;
    a->backlog = s->backlog;
    m->lagging -= lags(m, a);
    if (last + 1 > a->next_slot)
        a->next_slot = last + 1;
    m->lagging += lags(m, a);
    return e;
}

/* What the agent has seen of the target. */
static void watch(struct merge *m, size_t agent, const struct snapshot *s)
{
    struct counters c = snapshot_counters(s);
    struct stall_fact f = {.from_ns = s->from_ns,
                           .to_ns = s->to_ns,
                           .intervals = s->intervals,
                           .due = c.scheduled,
                           .completed = c.completed,
                           .lost = counters_failed(&c) + c.timeouts,
                           .waiting = s->backlog + s->in_flight};
    for (size_t i = 0; i < s->n_series; i++) {
        const struct hist *h = s->series[i].hists[HIST_CORRECTED];
        if (h == NULL || hist_count(h) == 0)
            h = s->series[i].hists[HIST_UNCORRECTED]; /* a closed loop has no other */
        if (h != NULL && hist_count(h) > 0 && hist_max(h) > f.max_ns)
            f.max_ns = hist_max(h);
        if (s->series[i].stage != SERIES_STAGE_WARMUP)
            outliers_add(m->outliers, agent, s->from_ns, h);
    }
    stalls_add(m->stalls, agent, &f);
}

enum err merge_add(struct merge *m, size_t agent, const struct snapshot *s, struct errmsg *msg)
{
    struct agent_sum *a = &m->agents[agent];
    enum err e = check_order(m, a, s, msg);
    if (e != ERR_OK)
        return e;
    e = snapshot_add(a->total, s, true);
    if (e == ERR_OK)
        e = add_to_row(m, agent, s);
    if (e != ERR_OK)
        return errmsg_set(msg, e, "snapshot %" PRIu64 " cannot be added: %s", s->seq, err_str(e));
    a->last_seq = s->seq;
    watch(m, agent, s);
    if (m->snapshot_fn != NULL)
        m->snapshot_fn(m->snapshot_arg, s);
    close_ready(m);
    return ERR_OK;
}

enum err merge_final(struct merge *m, size_t agent, const struct snapshot *s, struct errmsg *msg)
{
    struct agent_sum *a = &m->agents[agent];
    struct errmsg why = {{0}};
    enum err e = ERR_OK;
    if (!s->cumulative)
        e = errmsg_set(&why, ERR_CORRUPT, "the final snapshot is not a cumulative one");
    else if (!snapshot_same_data(a->total, s, &why))
        e = ERR_CORRUPT;
    a->checked = e == ERR_OK;
    if (e != ERR_OK) {
        snprintf(a->problem, sizeof a->problem,
                 "its totals differ from the sum of its intervals: %.180s", why.text);
        errmsg_set(msg, e, "%s", a->problem);
    }
    merge_gone(m, agent);
    return e;
}

static size_t give_lines(struct lines *from, struct result_interval **to)
{
    size_t n = from->n;
    mem_free(*to);
    *to = from->rows;
    *from = (struct lines){0};
    return n;
}

/* The result takes what is done. */
static void drop_unreported(struct merge *m)
{
    for (size_t any = reported_by_any(m); m->n_slots > any; m->n_slots--)
        merge_row_free(*slot(m, m->n_slots - 1)); /* of one slot each: nothing was added */
}

static void finish_rows(struct merge *m, struct result *into)
{
    drop_unreported(m);
    settle(m, m->n_slots);
    end_group(m);
    into->n_intervals = give_lines(&m->done, &into->intervals);
    if (into->n_intervals > 0)
        into->end_ns = into->intervals[into->n_intervals - 1].to_ns;
    into->every_ns = m->every_ns;
    into->n_groups = give_lines(&m->groups, &into->groups);
    blocks_free(into->blocks);
    into->blocks = m->blocks;
    m->blocks = NULL;
}

/* With the agents' totals in place. */
static void finish_watch(struct merge *m, struct result *into)
{
    uint64_t *usual_ns = mem_calloc(m->n_agents + 1, sizeof *usual_ns);
    struct outlier *outliers = mem_calloc(m->n_agents + 1, sizeof *outliers);
    for (size_t i = 0; i < m->n_agents; i++) {
        struct hist *h = snapshot_hist(into->agents[i].total, HIST_UNCORRECTED);
        usual_ns[i] = hist_value_at_percentile(h, 50);
        hist_free(h);
    }
    mem_free(into->stalls);
    into->stalls = stalls_list(m->stalls, usual_ns, &into->n_stalls);
    into->stalls_dropped = stalls_dropped(m->stalls);
    outliers_find(m->outliers, outliers);
    for (size_t i = 0; i < m->n_agents; i++)
        into->agents[i].outlier = outliers[i];
    mem_free(usual_ns);
    mem_free(outliers);
    outliers_free(m->outliers); /* the report takes the memory */
    m->outliers = NULL;
}

void merge_finish(struct merge *m, struct result *into)
{
    for (size_t i = 0; i < m->n_agents; i++)
        m->agents[i].gone = true;
    m->lagging = 0;
    close_ready(m);
    for (size_t i = 0; i < m->n_agents; i++) {
        struct agent_sum *a = &m->agents[i];
        struct result_agent *r = &into->agents[i];
        bool added = snapshot_add(into->total, a->total, false) == ERR_OK;
        r->checked = a->checked && added;
        if (r->problem[0] == '\0')
            snprintf(r->problem, sizeof r->problem, "%s", a->problem);
        snapshot_free(r->total);
        snapshot_free(r->warmup);
        r->total = a->total;
        r->warmup = snapshot_split_warmup(r->total);
        a->total = NULL;
    }
    into->warmup = snapshot_split_warmup(into->total);
    finish_watch(m, into);
    finish_rows(m, into);
}
