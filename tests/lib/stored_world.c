/* SPDX-License-Identifier: MIT */
#include "tests/lib/stored_world.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/store/recording_plan.h"
#include "tests/lib/check_main.h"

static void make_plan(struct recording *r, uint64_t rate)
{
    struct plan p;
    struct errmsg msg = {{0}};
    plan_defaults(&p);
    p.url = mem_strdup("http://127.0.0.1:8080/");
    p.n_stages = 2;
    for (uint32_t i = 0; i < 2; i++)
        p.stages[i] = (struct stage){2 * NS_PER_SEC, {rate, 1}, {rate, 1}};
    p.interval_ns = STORED_INTERVAL;
    for (int i = 0; i < 2; i++) {
        struct plan_entry *e = plan_add_entry(&p);
        e->name = mem_strdup(i == 0 ? "login" : "cart");
        e->url = mem_strdup("http://127.0.0.1:8080/x");
    }
    ck_assert_msg(plan_check(&p, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_int_eq(recording_take_plan(r, &p, NULL), ERR_OK);
    plan_clear(&p);
}

static void fill_series(struct snapshot *s, uint64_t *rng, uint32_t stage, const char *name)
{
    struct series *one = snapshot_series(s, stage, name);
    uint64_t n = 5 + check_below(rng, 20), failed = check_below(rng, 3);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t v = 100000 + (check_random(rng) >> (40 + check_below(rng, 10)));
        hist_record(series_hist(one, HIST_CORRECTED), v, 1);
        hist_record(series_hist(one, HIST_UNCORRECTED), v - 1000, 1);
    }
    struct counters c = {.scheduled = n + failed,
                         .sent = n + failed,
                         .completed = n,
                         .ok = n,
                         .timeouts = failed,
                         .bytes_in = n * 100};
    counters_add(&one->counters, &c);
    s->status[200] += n;
}

static struct snapshot *make_snapshot(uint64_t *rng, uint64_t slot)
{
    struct snapshot *s = snapshot_new();
    uint32_t stage = slot < STORED_SLOTS / 2 ? 0 : 1;
    s->seq = slot + 1;
    s->intervals = 1;
    s->from_ns = slot * STORED_INTERVAL;
    s->to_ns = s->from_ns + STORED_INTERVAL;
    s->cpu_ns = check_below(rng, 1000000);
    s->backlog = check_below(rng, 5);
    if (slot == 0) {
        struct series *first = snapshot_series(s, 0, "login");
        first->counters.connects = 10;
    }
    fill_series(s, rng, stage, "login");
    fill_series(s, rng, stage, "cart");
    hist_record(series_hist(snapshot_series(s, 0, "login"), HIST_SEND_LAG), 5000, 3);
    return s;
}

static void add_row(struct stored_world *w, size_t agent, const struct snapshot *s)
{
    struct stored_row *row = &w->rows[w->n_rows++];
    row->agent = agent;
    row->seq = s->seq;
    ck_assert_int_eq(snapshot_encode(s, &row->bytes, &row->len), ERR_OK);
}

static struct recording *make_recording(unsigned number, size_t agents, uint64_t rate, bool shared)
{
    struct recording *r = mem_calloc(1, sizeof *r);
    snprintf(r->run_id, sizeof r->run_id, "%08x%024x", number * 0x1234567u, number);
    snprintf(r->name, sizeof r->name, "run");
    r->started_wall_ns = UINT64_C(1764547200) * NS_PER_SEC + number * NS_PER_SEC;
    r->ended_wall_ns = r->started_wall_ns + 4 * NS_PER_SEC;
    r->interval_ns = STORED_INTERVAL;
    snprintf(r->status, sizeof r->status, "valid");
    r->n_agents = agents;
    r->agents = mem_calloc(agents, sizeof *r->agents);
    for (size_t i = 0; i < agents; i++) {
        struct result_agent *a = &r->agents[i];
        snprintf(a->name, sizeof a->name, "%c", (int)('a' + i));
        snprintf(a->address, sizeof a->address, "10.0.%u.%zu:7400", shared ? 0 : number, i);
        a->state = RESULT_DONE;
        a->weight = a->threads = 1;
        a->connections = 10;
        a->started = a->checked = a->same_clock = true;
    }
    make_plan(r, rate);
    return r;
}

void stored_world_make(struct stored_world *w, uint64_t *rng, unsigned number, size_t agents,
                       bool shared)
{
    struct snapshot *sums[STORED_AGENTS];
    *w = (struct stored_world){.recording = make_recording(number, agents, 100, shared)};
    for (size_t i = 0; i < agents; i++) {
        sums[i] = snapshot_new();
        sums[i]->cumulative = true;
    }
    for (uint64_t slot = 0; slot < STORED_SLOTS; slot++)
        for (size_t i = 0; i < agents; i++) {
            struct snapshot *s = make_snapshot(rng, slot);
            ck_assert_int_eq(snapshot_add(sums[i], s, true), ERR_OK);
            add_row(w, i, s);
            snapshot_free(s);
        }
    for (size_t i = 0; i < agents; i++) {
        add_row(w, i, sums[i]);
        snapshot_free(sums[i]);
    }
}

void stored_world_part(struct stored_world *part, const struct stored_world *w, unsigned number,
                       size_t first, size_t n)
{
    *part = (struct stored_world){.recording = make_recording(number, n, 100, false)};
    for (size_t i = 0; i < n; i++)
        part->recording->agents[i] = w->recording->agents[first + i];
    for (size_t i = 0; i < w->n_rows; i++) {
        const struct stored_row *from = &w->rows[i];
        if (from->agent < first || from->agent >= first + n)
            continue;
        part->rows[part->n_rows++] = (struct stored_row){
            from->agent - first, from->seq, mem_dup(from->bytes, from->len), from->len};
    }
}

void stored_world_clear(struct stored_world *w)
{
    for (size_t i = 0; i < w->n_rows; i++)
        mem_free(w->rows[i].bytes);
    recording_free(w->recording);
    *w = (struct stored_world){0};
}

static enum err rows_of(void *arg, store_row_fn fn, void *fn_arg, struct errmsg *msg)
{
    const struct stored_world *w = arg;
    enum err e = ERR_OK;
    for (size_t i = 0; i < w->n_rows && e == ERR_OK; i++) {
        const struct store_row row = {.agent = w->rows[i].agent,
                                      .seq = w->rows[i].seq,
                                      .bytes = w->rows[i].bytes,
                                      .len = w->rows[i].len};
        e = fn(fn_arg, &row, msg);
    }
    return e;
}

struct replay_source stored_world_source(struct stored_world *w)
{
    return (struct replay_source){.recording = w->recording, .rows = rows_of, .arg = w};
}
