/* SPDX-License-Identifier: MIT */
#include "controller/run/merge_row.h"

#include <math.h>

#include "common/hist_codec.h"
#include "common/mem.h"

/* The kinds a timeline row needs; the others only exist in the totals. */
enum {
    ROW_CORRECTED,
    ROW_UNCORRECTED,
    ROW_SEND_LAG,
    ROW_RECEIVE
};

static const enum hist_kind row_kinds[MERGE_ROW_HISTS] = {
    [ROW_CORRECTED] = HIST_CORRECTED,
    [ROW_UNCORRECTED] = HIST_UNCORRECTED,
    [ROW_SEND_LAG] = HIST_SEND_LAG,
    [ROW_RECEIVE] = HIST_RECEIVE,
};

struct merge_row *merge_row_new(size_t slot, uint64_t interval_ns, size_t n_agents)
{
    struct merge_row *r = mem_calloc(1, sizeof *r);
    r->first = r->last = slot;
    r->interval_ns = interval_ns;
    r->agent_words = (n_agents + 63) / 64;
    r->agents = mem_calloc(r->agent_words + 1, sizeof *r->agents);
    r->out.from_ns = slot * interval_ns;
    r->out.to_ns = (slot + 1) * interval_ns;
    r->out.slots = 1;
    return r;
}

static void drop_hists(struct merge_row *r)
{
    for (size_t i = 0; i < MERGE_ROW_HISTS; i++) {
        hist_free(r->hists[i]);
        mem_free(r->packs[i].bytes);
        r->hists[i] = NULL;
        r->packs[i] = (struct merge_pack){0};
    }
}

void merge_row_free(struct merge_row *r)
{
    if (r == NULL)
        return;
    drop_hists(r);
    mem_free(r->agents);
    mem_free(r);
}

static void pack_one(struct merge_pack *p, struct hist **h)
{
    if (*h != NULL && hist_count(*h) > 0) {
        size_t cap = hist_encode_max(*h);
        uint8_t *bytes = mem_calloc(cap, 1);
        if (hist_encode(*h, bytes, cap, &p->len) != ERR_OK) {
            mem_free(bytes); /* cannot happen with the stated bound; the row stays as it is */
            return;
        }
        p->bytes = mem_realloc(bytes, p->len, 1);
        p->min = hist_min(*h);
        p->max = hist_max(*h);
        p->saturated = hist_saturated(*h);
        hist_sum128(*h, &p->sum_hi, &p->sum_lo);
    }
    hist_free(*h);
    *h = NULL;
}

static enum err unpack_one(struct merge_pack *p, struct hist **h)
{
    if (p->bytes == NULL)
        return ERR_OK;
    struct hist_exact exact = {p->min, p->max, p->sum_hi, p->sum_lo, p->saturated};
    *h = hist_new_default();
    enum err e = hist_decode_exact(p->bytes, p->len, &exact, *h);
    mem_free(p->bytes);
    *p = (struct merge_pack){0};
    return e;
}

static enum err unpack(struct merge_row *r)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < MERGE_ROW_HISTS && e == ERR_OK && r->packed; i++)
        if (r->hists[i] == NULL)
            e = unpack_one(&r->packs[i], &r->hists[i]);
    if (e == ERR_OK)
        r->packed = false;
    return e;
}

void merge_row_pack(struct merge_row *r)
{
    if (r->packed)
        return;
    merge_row_figures(r);
    for (size_t i = 0; i < MERGE_ROW_HISTS; i++)
        pack_one(&r->packs[i], &r->hists[i]);
    r->packed = true;
}

static enum err add_hist(struct hist **into, const struct hist *from)
{
    if (from == NULL)
        return ERR_OK;
    if (*into == NULL)
        *into = hist_new_default();
    return hist_add(*into, from);
}

static enum err add_series(struct merge_row *r, const struct series *s)
{
    const struct counters *c = &s->counters;
    if (s->stage == SERIES_STAGE_WARMUP) {
        r->out.warmup.sent += c->sent;
        r->out.warmup.completed += c->completed;
        r->out.warmup.errors += c->http_errors + counters_failed(c) + c->timeouts;
        return ERR_OK;
    }
    r->out.sent += c->sent;
    r->out.completed += c->completed;
    r->out.errors += c->http_errors + counters_failed(c) + c->timeouts;
    enum err e = ERR_OK;
    for (size_t i = 0; i < MERGE_ROW_HISTS && e == ERR_OK; i++)
        e = add_hist(&r->hists[i], s->hists[row_kinds[i]]);
    return e;
}

static void mark_agent(struct merge_row *r, size_t agent)
{
    uint64_t bit = UINT64_C(1) << (agent % 64);
    if ((r->agents[agent / 64] & bit) == 0)
        r->out.agents_reporting++;
    r->agents[agent / 64] |= bit;
}

/* The end is the grid's, or the last agent's where all of them ended earlier. */
static void update_end(struct merge_row *r, uint64_t to_ns, bool first_report)
{
    uint64_t grid = (r->last + 1) * r->interval_ns;
    if (to_ns < r->out.from_ns)
        to_ns = r->out.from_ns;
    if (to_ns > grid)
        to_ns = grid;
    if (first_report || to_ns > r->out.to_ns)
        r->out.to_ns = to_ns;
}

enum err merge_row_add(struct merge_row *r, size_t agent, const struct snapshot *s,
                       uint64_t replaces_backlog)
{
    bool was_packed = r->packed;
    enum err e = unpack(r);
    update_end(r, s->to_ns, r->out.agents_reporting == 0);
    mark_agent(r, agent);
    r->out.backlog += s->backlog;
    r->out.backlog -= replaces_backlog < r->out.backlog ? replaces_backlog : r->out.backlog;
    if (s->cpu_busy_ppm > r->out.cpu_busy_ppm)
        r->out.cpu_busy_ppm = s->cpu_busy_ppm;
    for (size_t i = 0; i < s->n_series && e == ERR_OK; i++)
        e = add_series(r, &s->series[i]);
    if (was_packed)
        merge_row_pack(r);
    return e;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

enum err merge_row_join(struct merge_row *r, struct merge_row *from)
{
    enum err e = unpack(r);
    if (e == ERR_OK)
        e = unpack(from);
    for (size_t i = 0; i < MERGE_ROW_HISTS && e == ERR_OK; i++)
        e = add_hist(&r->hists[i], from->hists[i]);
    bool empty = r->out.agents_reporting == 0;
    if (from->last > r->last)
        r->last = from->last;
    r->out.slots = (uint32_t)(r->last - r->first + 1);
    r->out.agents_late =
        r->out.agents_late > from->out.agents_late ? r->out.agents_late : from->out.agents_late;
    if (empty || from->out.agents_reporting > 0)
        r->out.to_ns = empty ? from->out.to_ns : larger(r->out.to_ns, from->out.to_ns);
    r->out.sent += from->out.sent;
    r->out.completed += from->out.completed;
    r->out.errors += from->out.errors;
    r->out.warmup.sent += from->out.warmup.sent;
    r->out.warmup.completed += from->out.warmup.completed;
    r->out.warmup.errors += from->out.warmup.errors;
    r->out.backlog = larger(r->out.backlog, from->out.backlog);
    r->out.cpu_busy_ppm = larger(r->out.cpu_busy_ppm, from->out.cpu_busy_ppm);
    r->out.agents_reporting = 0;
    for (size_t w = 0; w < r->agent_words; w++) {
        r->agents[w] |= from->agents[w];
        r->out.agents_reporting += (uint32_t)__builtin_popcountll(r->agents[w]);
    }
    merge_row_free(from);
    return e;
}

/* A bucket's upper edge may lie above the exact maximum. */
static uint64_t percentile(const struct hist *h, double p)
{
    uint64_t value = hist_value_at_percentile(h, p), max = hist_max(h);
    return value < max ? value : max;
}

static void latency_figures(struct result_latency *l, const struct hist *h)
{
    *l = (struct result_latency){0};
    if (h == NULL || hist_count(h) == 0)
        return;
    l->count = hist_count(h);
    l->min = hist_min(h);
    l->mean = (uint64_t)llround(hist_mean_exact(h));
    l->max = hist_max(h);
    l->p50 = percentile(h, 50);
    l->p99 = percentile(h, 99);
}

static uint64_t without_slowest(const struct hist *h)
{
    if (h == NULL || hist_count(h) < 2)
        return 0;
    uint64_t rank = hist_rank(99, hist_count(h)), last = hist_count(h) - 1;
    return hist_value_at_rank(h, rank < last ? rank : last);
}

void merge_row_figures(struct merge_row *r)
{
    if (r->packed)
        return;
    const struct hist *send = r->hists[ROW_SEND_LAG], *receive = r->hists[ROW_RECEIVE];
    latency_figures(&r->out.corrected, r->hists[ROW_CORRECTED]);
    latency_figures(&r->out.uncorrected, r->hists[ROW_UNCORRECTED]);
    r->out.send_lag_p99 = send != NULL ? percentile(send, 99) : 0;
    r->out.receive_p99 = receive != NULL ? percentile(receive, 99) : 0;
    r->out.send_lag_judged = without_slowest(send);
    r->out.receive_judged = without_slowest(receive);
}

void merge_row_show(struct merge_row *r, merge_view_fn fn, void *arg)
{
    if (unpack(r) != ERR_OK)
        return; /* cannot happen: packed by ourselves */
    merge_row_figures(r);
    struct merge_view v = {.row = &r->out,
                           .corrected = r->hists[ROW_CORRECTED],
                           .uncorrected = r->hists[ROW_UNCORRECTED],
                           .send_lag = r->hists[ROW_SEND_LAG],
                           .receive = r->hists[ROW_RECEIVE]};
    if (fn != NULL)
        fn(arg, &v);
}
