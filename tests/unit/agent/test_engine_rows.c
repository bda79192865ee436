/* SPDX-License-Identifier: MIT */
/* Figures by stage, request name and warm-up, and what becomes of requests when every connection is
 * busy: for any server the rows together are what one row would have been. */
#include "agent/client/client_null.h"
#include "agent/engine/engine.h"
#include "common/clock.h"
#include "common/mem.h"
#include "proto/snapshot.h"
#include "tests/lib/check_main.h"
#include "tests/lib/engine_rig.h"

#define MS      NS_PER_MS
#define T0      RIG_T0
#define ROUNDS  300
#define PENDING 4096

/* --- a server whose answers depend on the request alone, so that two runs are the same ----------
 */

struct server {
    uint64_t seed, silent, max_ns;
    uint32_t most; /* connections that there may be */
    struct {
        uint64_t tag, at_ns;
    } pending[PENDING];
    size_t n;
};

static void answer_by_tag(struct rig *r, uint64_t tag, uint64_t sent_ns)
{
    struct server *s = r->arg;
    uint64_t rng = s->seed + tag;
    if (check_below(&rng, s->silent) == 0)
        return;
    CHECK_MUST(s->n < PENDING);
    s->pending[s->n].tag = tag;
    s->pending[s->n++].at_ns = sent_ns + check_below(&rng, s->max_ns);
}

static size_t next_answer(const struct server *s)
{
    size_t best = 0;
    for (size_t i = 1; i < s->n; i++)
        if (s->pending[i].at_ns < s->pending[best].at_ns)
            best = i;
    return best;
}

/* Until the end, or a stop. */
static void serve(struct rig *r, uint64_t stop_ns)
{
    struct server *s = r->arg;
    uint64_t now = T0 - NS_PER_SEC;
    bool stopped = false;
    while (engine_phase(r->engine) != ENGINE_ENDED) {
        size_t i = next_answer(s);
        uint64_t wake = engine_wake(r->engine);
        bool answer = s->n > 0 && s->pending[i].at_ns < wake;
        uint64_t at = answer ? s->pending[i].at_ns : wake;
        if (!stopped && at > stop_ns) {
            stopped = true;
            engine_stop(r->engine, stop_ns, 20 * MS);
            continue;
        }
        now = at > now ? at : now;
        if (answer) {
            uint64_t tag = s->pending[i].tag;
            s->pending[i] = s->pending[--s->n];
            rig_complete(r, tag, now);
        }
        engine_pump(r->engine, now);
        CHECK_MUST(engine_connected(r->engine) <= s->most);
    }
}

/* --- random loads ------------------------------------------------------------------------------
 */

static struct request requests[5] = {
    {.name = 0}, {.name = 1}, {.name = 0}, {.name = 2}, {.name = 1}};
static char *names[] = {"login", "search", "pay"};
static const struct reqset three = {.n = 5,
                                    .requests = requests,
                                    .pick = {.order = PLAN_ORDER_SEQUENTIAL, .n = 5},
                                    .n_names = 3,
                                    .names = names};

static void random_stages(uint64_t *rng, struct plan *p)
{
    p->n_stages = 1 + (uint32_t)check_below(rng, 5);
    p->duration_ns = 0;
    for (uint32_t i = 0; i < p->n_stages; i++) {
        p->stages[i] = (struct stage){.duration_ns = 1 + check_below(rng, 200 * MS),
                                      .from = {1 + check_below(rng, 3000), 1},
                                      .to = {1 + check_below(rng, 3000), 1}};
        p->duration_ns += p->stages[i].duration_ns;
    }
    p->rate = plan_stages_peak(p);
}

static struct plan random_plan(uint64_t *rng)
{
    struct plan p;
    plan_defaults(&p);
    p.rate = (struct rate){check_below(rng, 8) == 0 ? 0 : 1 + check_below(rng, 3000), 1};
    p.duration_ns = 1 + check_below(rng, 600 * MS);
    p.requests = 1 + check_below(rng, 2000);
    if (check_below(rng, 2) == 0)
        random_stages(rng, &p);
    if (check_below(rng, 4) == 0 && p.rate.num > 0)
        p.arrivals = PLAN_POISSON;
    p.warmup_ns = check_below(rng, 2) * check_below(rng, p.duration_ns);
    if (p.rate.num > 0)
        p.on_full = (uint32_t)check_below(rng, 3);
    return p;
}

struct trial {
    struct plan plan;
    struct rig_config cfg;
    struct server server;
    uint64_t stop_ns;
};

static void random_trial(uint64_t *rng, struct trial *t)
{
    *t = (struct trial){.plan = random_plan(rng)};
    t->cfg = (struct rig_config){.plan = &t->plan,
                                 .connections = 1 + (uint32_t)check_below(rng, 20),
                                 .timeout_ns = 1 + check_below(rng, 100 * MS),
                                 .reconnect_ns = check_below(rng, 2) * check_below(rng, 20 * MS),
                                 .drop = t->plan.on_full == PLAN_DROP,
                                 .from_send = check_below(rng, 4) == 0,
                                 .capacity = 8000};
    t->server.most = t->cfg.connections;
    if (t->plan.on_full == PLAN_GROW)
        t->server.most = t->cfg.rules.max_connections =
            t->cfg.connections + (uint32_t)check_below(rng, 30);
    if (t->plan.rate.num == 0 && check_below(rng, 2) == 0) {
        t->cfg.rules.think_min_ns = check_below(rng, 10 * MS);
        t->cfg.rules.think_max_ns = t->cfg.rules.think_min_ns + 1 + check_below(rng, 10 * MS);
    }
    t->server.seed = check_random(rng);
    t->server.silent = 1 + check_below(rng, 30);
    t->server.max_ns = 1 + check_below(rng, 50 * MS);
    t->stop_ns = check_below(rng, 2) ? NS_NEVER - 1 : T0 + check_below(rng, 600 * MS);
}

static struct rig *run(struct trial *t, const struct series_map *series)
{
    t->cfg.series = series;
    struct rig *r = rig_new(&t->cfg);
    t->server.n = 0;
    r->arg = &t->server;
    r->answer = answer_by_tag;
    serve(r, t->stop_ns);
    rig_close(r);
    return r;
}

static void check_same_hist(const struct rig *rows, const struct hist_rec *one, size_t offset)
{
    struct hist *sum = hist_new_default(), *whole = hist_new_default();
    for (uint32_t i = 0; i < rows->part->series->n; i++)
        hist_rec_add_to((const void *)((const char *)&rows->part->rows[i] + offset), sum);
    hist_rec_add_to(one, whole);
    ck_assert(hist_equal(sum, whole));
    hist_free(sum);
    hist_free(whole);
}

/* Each request is in the row that its index and its due time say. */
static void check_rows(const struct rig *r, const struct plan *p, const struct series_map *m)
{
    uint64_t sent[SNAPSHOT_SERIES_MAX] = {0};
    for (uint64_t i = 0; i < r->next; i++) {
        const struct rig_request *q = &r->requests[i];
        if (q->sent_ns == UINT64_MAX)
            continue;
        uint64_t ns = q->due_ns - T0;
        uint32_t name = m->n_names > 1 ? requests[i % 5].name : 0;
        bool warm = ns < p->warmup_ns;
        sent[warm ? m->warmup : (uint32_t)plan_stage_at(p, ns) * m->n_names + name]++;
    }
    for (uint32_t i = 0; i < m->n; i++)
        ck_assert_uint_eq(r->part->rows[i].counters.sent, sent[i]);
}

START_TEST(test_rows_are_what_one_row_would_have_been)
{
    uint64_t rng = check_seed();
    struct trial *t = mem_calloc(1, sizeof *t);
    for (int round = 0; round < ROUNDS; round++) {
        struct series_map m;
        random_trial(&rng, t);
        const struct reqset *set = check_below(&rng, 2) ? &three : NULL;
        ck_assert_int_eq(series_map_init(&m, &t->plan, set, NULL), ERR_OK);
        struct rig *one = run(t, NULL), *rows = run(t, &m);
        struct counters a = rig_counters(one), b = rig_counters(rows);
        ck_assert(counters_equal(&a, &b));
        check_same_hist(rows, &one->part->rows[0].corrected, offsetof(struct part_row, corrected));
        check_same_hist(rows, &one->part->rows[0].uncorrected,
                        offsetof(struct part_row, uncorrected));
        check_rows(rows, &t->plan, &m);
        ck_assert(b.waited == 0 || !t->cfg.drop);
        ck_assert(b.unsent_dropped == 0 || t->cfg.drop);
        rig_free(one);
        rig_free(rows);
    }
    mem_free(t);
}
END_TEST

/* --- one thing at a time ------------------------------------------------------------------------
 */

/* 100 requests a second for one second, timeout 300 ms. */
static struct rig_config config(uint32_t connections)
{
    return (struct rig_config){.rate = {100, 1},
                               .duration_ns = NS_PER_SEC,
                               .requests = UINT64_MAX,
                               .connections = connections,
                               .timeout_ns = 300 * MS,
                               .capacity = 1000};
}

/* Two connections, a silent server: each is taken at once and free again after the timeout. */
START_TEST(test_drop_sends_on_time_or_never)
{
    struct rig_config cfg = config(2);
    cfg.drop = true;
    struct rig *r = rig_new(&cfg);
    rig_run(r, T0 + 95 * MS);
    ck_assert_uint_eq(r->sent, 2);
    ck_assert_uint_eq(engine_backlog(r->engine), 0);
    rig_run(r, T0 + 2 * NS_PER_SEC);
    rig_close(r);
    struct counters c = rig_counters(r);
    ck_assert_uint_eq(c.scheduled, 100);
    ck_assert_uint_eq(c.sent, 8); /* 0 10, 310 320, 620 630, 930 940 */
    ck_assert_uint_eq(c.unsent_dropped, 92);
    ck_assert_uint_eq(c.limit_ns, 0);
    ck_assert_uint_eq(r->requests[30].sent_ns, UINT64_MAX); /* free at that instant, not before */
    ck_assert_uint_eq(r->requests[31].sent_ns, T0 + 310 * MS);
    rig_free(r);
}
END_TEST

/* Slept through 5 while connections were idle: our fault, so that all leave, late as they are. What
 * becomes due while those wait finds no connection. */
START_TEST(test_drop_after_a_nap)
{
    struct rig_config cfg = config(2);
    struct part *p;
    struct recorder *rec = recorder_new(0, series_map_one());
    struct engine *e;
    struct share all = {1, 0, 1, 1, 0};
    struct engine_config ec = {.ops = client_null_ops(),
                               .env = {.connections = 2},
                               .recorder = rec,
                               .timeout_ns = cfg.timeout_ns,
                               .drop = true};
    ck_assert_int_eq(
        schedule_init(&ec.schedule, &cfg.rate, &all, cfg.duration_ns, UINT64_MAX, NULL), ERR_OK);
    ck_assert_int_eq(engine_new(&ec, &e, NULL), ERR_OK);
    engine_open(e, T0 - MS);
    engine_start(e, T0);
    engine_pump(e, T0 + 45 * MS);
    ck_assert_uint_eq(engine_in_flight(e), 2);
    ck_assert_uint_eq(engine_backlog(e), 3);
    engine_pump(e, T0 + 65 * MS); /* 50 and 60 */
    ck_assert_uint_eq(engine_backlog(e), 3);
    for (uint64_t tag = 0; tag < 5; tag++)
        ck_assert(client_null_complete(engine_client(e), tag, 200, T0 + 66 * MS));
    ck_assert_uint_eq(engine_in_flight(e), 0);
    engine_pump(e, T0 + 70 * MS);
    ck_assert_uint_eq(engine_in_flight(e), 1);
    engine_stop(e, T0 + 71 * MS, 0);
    p = recorder_take(rec, true);
    ck_assert_uint_eq(p->rows[0].counters.sent, 6);
    ck_assert_uint_eq(p->rows[0].counters.late, 5);
    ck_assert_uint_eq(p->rows[0].counters.waited, 0);
    ck_assert_uint_eq(p->rows[0].counters.unsent_dropped, 2);
    ck_assert_uint_eq(p->rows[0].counters.unsent_stopped, 0);
    engine_free(e);
    recorder_free(rec);
}
END_TEST

/* As many as are needed, no more than allowed; what is beyond them waits. */
START_TEST(test_grow_opens_what_it_needs)
{
    struct rig_config cfg = config(2);
    cfg.rules.max_connections = 5;
    struct rig *r = rig_new(&cfg);
    ck_assert_uint_eq(engine_connected(r->engine), 2);
    rig_run(r, T0 + 25 * MS);
    ck_assert_uint_eq(engine_connected(r->engine), 3);
    ck_assert(rig_complete(r, 0, T0 + 26 * MS)); /* is there before a cold one */
    rig_run(r, T0 + 35 * MS);
    ck_assert_uint_eq(engine_connected(r->engine), 3);
    rig_run(r, T0 + 95 * MS);
    ck_assert_uint_eq(r->sent, 6);
    ck_assert_uint_eq(engine_connected(r->engine), 5);
    ck_assert_uint_eq(engine_backlog(r->engine), 4);
    engine_stop(r->engine, T0 + 100 * MS, 0);
    rig_close(r);
    ck_assert_uint_eq(rig_counters(r).connects, 5);
    ck_assert_uint_eq(rig_counters(r).limit_ns, 40 * MS); /* from 60 to 100 */
    rig_free(r);
}
END_TEST

/* One connection: requests are due at 0 10 20 .., the first answer comes at 35, the second at 36,
 * and so on: at the limit from 10 to 38, when the last of the four is sent. */
START_TEST(test_time_at_the_limit)
{
    struct rig_config cfg = config(1);
    struct rig *r = rig_new(&cfg);
    rig_run(r, T0 + 35 * MS);
    engine_collect(r->engine, T0 + 35 * MS);
    for (uint64_t i = 0; i < 4; i++)
        ck_assert(rig_complete(r, i, T0 + (35 + i) * MS));
    rig_run(r, T0 + 39 * MS);
    engine_stop(r->engine, T0 + 39 * MS, 0);
    rig_close(r);
    ck_assert_uint_eq(rig_counters(r).sent, 4);
    ck_assert_uint_eq(rig_counters(r).limit_ns, 27 * MS); /* the fourth left at 37 */
    rig_free(r);
}
END_TEST

static void answer_at_once(struct rig *r, uint64_t tag, uint64_t sent_ns)
{
    rig_complete(r, tag, sent_ns);
}

/* Nothing of the warm-up is anywhere but in its row. */
START_TEST(test_the_warmup_is_apart)
{
    struct series_map m;
    struct plan p;
    plan_defaults(&p);
    p.rate = (struct rate){100, 1};
    p.duration_ns = NS_PER_SEC;
    p.warmup_ns = 300 * MS;
    ck_assert_int_eq(series_map_init(&m, &p, NULL, NULL), ERR_OK);
    struct rig_config cfg = config(2);
    cfg.plan = &p;
    cfg.series = &m;
    struct rig *r = rig_new(&cfg);
    rig_run(r, T0 + 315 * MS); /* 0 and 10 time out at 300 and 310, 20 .. 310 wait */
    r->answer = answer_at_once;
    rig_run(r, T0 + 2 * NS_PER_SEC);
    rig_close(r);
    const struct counters *warm = &r->part->rows[m.warmup].counters,
                          *c = &r->part->rows[0].counters;
    ck_assert_uint_eq(warm->scheduled, 30);
    ck_assert_uint_eq(warm->timeouts, 4); /* 0 10, then 20 30 */
    ck_assert_uint_eq(c->scheduled, 70);
    ck_assert_uint_eq(c->timeouts, 0);
    ck_assert_uint_eq(r->part->status[200], c->ok);
    ck_assert_uint_eq(r->part->n_errors, 0);
    ck_assert_uint_eq(c->connects, 6);
    ck_assert_uint_gt(warm->limit_ns, 200 * MS);
    struct snapshot *s = snapshot_new();
    ck_assert_int_eq(part_add_to(r->part, s), ERR_OK);
    ck_assert_uint_eq(s->n_series, 2);
    ck_assert_uint_eq(s->series[0].stage, 0);
    ck_assert_uint_eq(s->series[1].stage, SERIES_STAGE_WARMUP);
    ck_assert(counters_equal(&s->series[1].counters, warm));
    snapshot_free(s);
    rig_free(r);
}
END_TEST

/* Each connection rests between 5 and 10 ms after each response. */
START_TEST(test_thinking_connections_rest)
{
    struct rig_config cfg = config(4);
    cfg.rate = (struct rate){0, 1};
    cfg.rules.think_min_ns = 5 * MS;
    cfg.rules.think_max_ns = 10 * MS;
    struct rig *r = rig_new(&cfg);
    r->answer = answer_at_once;
    rig_run(r, T0 + 3 * NS_PER_SEC);
    rig_close(r);
    ck_assert_uint_ge(r->sent, 4 * 100);
    ck_assert_uint_le(r->sent, 4 * 201);
    rig_free(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("engine_rows");
    TCase *tc = tcase_create("rows");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test_rows_are_what_one_row_would_have_been);
    tcase_add_test(tc, test_drop_sends_on_time_or_never);
    tcase_add_test(tc, test_drop_after_a_nap);
    tcase_add_test(tc, test_grow_opens_what_it_needs);
    tcase_add_test(tc, test_time_at_the_limit);
    tcase_add_test(tc, test_the_warmup_is_apart);
    tcase_add_test(tc, test_thinking_connections_rest);
    suite_add_tcase(s, tc);
    return check_main(s);
}
