/* SPDX-License-Identifier: MIT */
#include "agent/engine/engine.h"
#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/engine_rig.h"

/* The engine against any server, any settings, any stop: the ledger holds. */

#define MS      NS_PER_MS
#define T0      RIG_T0
#define ROUNDS  500
#define PENDING 2048 /* every request of a run */

/* A server without rules: answers after a random time, or never. */
struct chaos {
    uint64_t rng;
    uint64_t silent; /* one of so many never comes */
    uint64_t max_ns; /* service time */
    struct {
        uint64_t tag, at_ns;
    } pending[PENDING];
    size_t n;
};

static void answer_randomly(struct rig *r, uint64_t tag, uint64_t sent_ns)
{
    struct chaos *c = r->arg;
    if (check_below(&c->rng, c->silent) == 0)
        return;
    uint64_t service = check_below(&c->rng, 4) == 0 ? c->max_ns : c->max_ns / 20 + 1;
    CHECK_MUST(c->n < PENDING);
    c->pending[c->n].tag = tag;
    c->pending[c->n++].at_ns = sent_ns + check_below(&c->rng, service);
}

static size_t next_answer(const struct chaos *c)
{
    size_t best = 0;
    for (size_t i = 1; i < c->n; i++)
        if (c->pending[i].at_ns < c->pending[best].at_ns)
            best = i;
    return best;
}

/* One step: the earlier of the engine's wake and the server's next answer. */
static uint64_t chaos_step(struct rig *r, uint64_t now, uint64_t limit)
{
    struct chaos *c = r->arg;
    size_t i = next_answer(c);
    uint64_t wake = engine_wake(r->engine);
    bool answer = c->n > 0 && c->pending[i].at_ns < wake;
    uint64_t at = answer ? c->pending[i].at_ns : wake;
    if (at > limit)
        return limit + 1;
    if (at > now)
        now = at;
    if (answer) {
        uint64_t tag = c->pending[i].tag;
        c->pending[i] = c->pending[--c->n];
        rig_complete(r, tag, now);
    }
    engine_pump(r->engine, now);
    return now;
}

static struct rig_config random_config(uint64_t *rng)
{
    return (struct rig_config){
        .rate = {1 + check_below(rng, 3000), 1 + check_below(rng, 3)},
        .duration_ns = check_below(rng, 3) == 0 ? NS_NEVER : 1 + check_below(rng, 800 * MS),
        .requests = 1 + check_below(rng, 2000),
        .connections = 1 + (uint32_t)check_below(rng, 20),
        .timeout_ns = 1 + check_below(rng, 200 * MS),
        .reconnect_ns = check_below(rng, 2) * check_below(rng, 20 * MS),
        .quantum_ns = check_below(rng, 2) * check_below(rng, 3 * MS),
        .capacity = 2000,
    };
}

struct ending {
    uint64_t stop_ns; /* 0 = none */
    bool draining;    /* the stop came when everything was sent or given up */
};

/* Runs to the end, or to a random stop. */
static struct ending chaos_run(struct rig *r, uint64_t *rng, uint64_t timeout_ns)
{
    uint64_t stop = check_below(rng, 2) == 0 ? 0 : T0 - 10 * MS + check_below(rng, 900 * MS);
    uint64_t drain = check_below(rng, 3) * check_below(rng, 100 * MS);
    uint64_t now = T0 - NS_PER_SEC, limit = stop == 0 ? NS_NEVER - 1 : stop;
    while (engine_phase(r->engine) != ENGINE_ENDED && (now = chaos_step(r, now, limit)) <= limit)
        ;
    if (engine_phase(r->engine) == ENGINE_ENDED)
        return (struct ending){0};
    struct ending end = {stop, engine_phase(r->engine) == ENGINE_DRAINING};
    engine_stop(r->engine, stop, drain);
    limit = stop + (drain < timeout_ns ? drain : timeout_ns);
    now = stop;
    while (engine_phase(r->engine) != ENGINE_ENDED) {
        now = chaos_step(r, now, limit);
        CHECK_MUST(now <= limit);
    }
    return end;
}

static void check_end(const struct rig *r, const struct rig_config *cfg, struct ending end)
{
    bool cut = end.stop_ns != 0 && !end.draining;
    struct schedule s;
    struct share all = {1, 0, 1, 1, 0};
    const struct counters *c = &r->part->rows[0].counters;
    ck_assert_int_eq(schedule_init(&s, &cfg->rate, &all, cfg->duration_ns, cfg->requests, NULL),
                     ERR_OK);
    uint64_t due = s.count;
    if (cut)
        due = end.stop_ns < T0 ? 0 : schedule_due_until(&s, end.stop_ns - T0);
    CHECK_MUST(c->scheduled == due);
    CHECK_MUST((cut ? c->unsent_no_connection : c->unsent_stopped) == 0);
    ck_assert(end.stop_ns != 0 || c->unfinished == 0);
    /* The driver was on time, so nothing was late by our fault: at most below a quantum. */
    CHECK_MUST(c->late == 0 && r->part->hists[HIST_SEND_LAG].max <= cfg->quantum_ns);
    for (uint64_t i = 0; i < r->sent; i++)
        CHECK_MUST(r->requests[i].due_ns == T0 + schedule_due(&s, i));
}

START_TEST(test_ledger_holds_for_any_server)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < ROUNDS; round++) {
        struct rig_config cfg = random_config(&rng);
        struct rig *r = rig_new(&cfg);
        struct chaos c = {.rng = check_random(&rng),
                          .silent = 1 + check_below(&rng, 30),
                          .max_ns = 1 + check_below(&rng, 300 * MS)};
        r->arg = &c;
        r->answer = answer_randomly;
        struct ending end = chaos_run(r, &rng, cfg.timeout_ns);
        rig_close(r);
        check_end(r, &cfg, end);
        rig_free(r);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("engine_chaos");
    TCase *tc = tcase_create("chaos");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test_ledger_holds_for_any_server);
    suite_add_tcase(s, tc);
    return check_main(s);
}
