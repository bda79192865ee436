/* SPDX-License-Identifier: MIT */
#include "controller/report/slices.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/report/figures.h"

uint64_t slices_errors(const struct counters *c)
{
    return c->http_errors + counters_failed(c) + c->timeouts;
}

bool slices_any(const struct result *r, enum slice_by by)
{
    bool stages = r->plan != NULL && r->plan->n_stages > 0, names = false;
    const struct snapshot *s = r->total;
    for (size_t i = 0; i < s->n_series; i++)
        names = names || s->series[i].name[0] != '\0';
    return by == SLICE_STAGE ? stages : by == SLICE_NAME ? names : stages && names;
}

/* --- order ------------------------------------------------------------------------------------ */

/* Place of the name in the plan: its first request; those it does not know come last. */
static size_t place_of(const struct plan *p, const char *name)
{
    size_t n = p != NULL ? p->n_entries : 0;
    for (size_t i = 0; i < n; i++) {
        struct plan_request request;
        plan_request_at(p, i, &request);
        if (strcmp(request.name, name) == 0)
            return i;
    }
    return SIZE_MAX;
}

static bool goes_before(const struct slice *a, const struct slice *b)
{
    if (a->stage != b->stage)
        return a->stage < b->stage;
    return a->place != b->place ? a->place < b->place : strcmp(a->name, b->name) < 0;
}

static void sort(struct slices *all)
{
    for (size_t i = 1; i < all->n; i++) {
        struct slice one = all->items[i];
        size_t at = i;
        for (; at > 0 && goes_before(&one, &all->items[at - 1]); at--)
            all->items[at] = all->items[at - 1];
        all->items[at] = one;
    }
}

/* --- sums ------------------------------------------------------------------------------------- */

static struct slice *slice_for(struct slices *all, uint32_t stage, const char *name)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i].stage == stage && strcmp(all->items[i].name, name) == 0)
            return &all->items[i];
    struct slice *one = &all->items[all->n++];
    *one = (struct slice){.stage = stage,
                          .name = name,
                          .corrected = hist_new_default(),
                          .uncorrected = hist_new_default()};
    return one;
}

static void add_hist(struct hist *into, const struct hist *h)
{
    if (h != NULL && hist_add(into, h) != ERR_OK)
        return; /* cannot happen: 64 x SNAPSHOT_COUNT_MAX is below 2^64 */
}

/* --- rates ------------------------------------------------------------------------------------ */

void slices_stage_bounds(const struct result *r, uint32_t stage, uint64_t *from_ns, uint64_t *to_ns)
{
    const struct plan *p = r->plan;
    *from_ns = 0;
    *to_ns = figures_elapsed_ns(r);
    if (p == NULL || stage >= p->n_stages)
        return;
    for (uint32_t i = 0; i < stage; i++)
        *from_ns += p->stages[i].duration_ns;
    *to_ns = *from_ns + p->stages[stage].duration_ns;
}

/* What there was of the stage: not the warm-up, and nothing after the run was cut short. */
static void measured_bounds(const struct result *r, uint32_t stage, uint64_t *from_ns,
                            uint64_t *to_ns)
{
    uint64_t begin, end;
    figures_bounds(r, &begin, &end);
    slices_stage_bounds(r, stage, from_ns, to_ns);
    if (*from_ns < begin)
        *from_ns = begin;
    if (*to_ns > end)
        *to_ns = end;
    if (*to_ns < *from_ns)
        *to_ns = *from_ns;
}

static double per_second(uint64_t n, uint64_t ns)
{
    return ns > 0 ? (double)n * (double)NS_PER_SEC / (double)ns : 0;
}

/* A stage's target is the plan's; what share of it a name has is what was due under it. */
static void set_rates(const struct result *r, struct slice *s, enum slice_by by, bool whole)
{
    uint64_t from, to;
    measured_bounds(r, by == SLICE_NAME ? UINT32_MAX : s->stage, &from, &to);
    s->ns = to - from;
    s->achieved = per_second(s->c.completed, s->ns);
    if (figures_closed_loop(r) || !whole)
        return;
    s->target =
        per_second(by == SLICE_STAGE ? figures_due(r->plan, from, to) : s->c.scheduled, s->ns);
}

struct slices slices_of(const struct result *r, const struct snapshot *s, enum slice_by by)
{
    struct slices all = {.items = mem_calloc(s->n_series + 1, sizeof *all.items)};
    for (size_t i = 0; i < s->n_series; i++) {
        const struct series *series = &s->series[i];
        struct slice *one = slice_for(&all, by == SLICE_NAME ? 0 : series->stage,
                                      by == SLICE_STAGE ? "" : series->name);
        counters_add(&one->c, &series->counters);
        add_hist(one->corrected, series->hists[HIST_CORRECTED]);
        add_hist(one->uncorrected, series->hists[HIST_UNCORRECTED]);
    }
    for (size_t i = 0; i < all.n; i++) {
        set_rates(r, &all.items[i], by, s == r->total && r->view.agent[0] == '\0');
        all.items[i].place = by == SLICE_STAGE ? 0 : place_of(r->plan, all.items[i].name);
    }
    sort(&all);
    return all;
}

void slices_clear(struct slices *s)
{
    for (size_t i = 0; i < s->n; i++) {
        hist_free(s->items[i].corrected);
        hist_free(s->items[i].uncorrected);
    }
    mem_free(s->items);
    *s = (struct slices){0};
}
