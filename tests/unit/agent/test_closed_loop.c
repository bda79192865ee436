/* SPDX-License-Identifier: MIT */
/* The engine without a rate: every connection sends again as soon as it has its answer. */
#include "agent/engine/engine.h"

#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/engine_rig.h"

#define MS NS_PER_MS
#define T0 RIG_T0

/* Answers after a random time; at most one request a connection is pending. */
struct server {
    uint64_t rng, max_ns;
    struct {
        uint64_t tag, at_ns;
    } pending[64];
    size_t n;
};

static void answer(struct rig *r, uint64_t tag, uint64_t sent_ns)
{
    struct server *s = r->arg;
    CHECK_MUST(s->n < 64);
    s->pending[s->n].tag = tag;
    s->pending[s->n++].at_ns = sent_ns + 1 + check_below(&s->rng, s->max_ns);
}

static size_t earliest(const struct server *s)
{
    size_t best = 0;
    for (size_t i = 1; i < s->n; i++)
        if (s->pending[i].at_ns < s->pending[best].at_ns)
            best = i;
    return best;
}

/* Until the engine has ended, or up to `limit`. Every idle connection must be at work. */
static void run(struct rig *r, uint32_t connections, uint64_t limit)
{
    struct server *s = r->arg;
    uint64_t now = T0;
    engine_pump(r->engine, T0);
    while (engine_phase(r->engine) != ENGINE_ENDED && now <= limit) {
        if (engine_phase(r->engine) == ENGINE_SENDING)
            CHECK_MUST(engine_in_flight(r->engine) == connections);
        size_t i = earliest(s);
        uint64_t wake = engine_wake(r->engine);
        bool answered = s->n > 0 && s->pending[i].at_ns <= wake;
        uint64_t at = answered ? s->pending[i].at_ns : wake;
        now = at > now ? at : now;
        if (now > limit)
            return;
        if (answered) {
            uint64_t tag = s->pending[i].tag;
            s->pending[i] = s->pending[--s->n];
            rig_complete(r, tag, now);
        }
        engine_pump(r->engine, now);
    }
}

static struct rig *start(const struct rig_config *cfg, struct server *s, uint64_t *rng)
{
    *s = (struct server){.rng = check_random(rng), .max_ns = 1 + check_below(rng, 20 * MS)};
    struct rig *r = rig_new(cfg);
    r->arg = s;
    r->answer = answer;
    return r;
}

START_TEST(test_sends_exactly_n)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 100; round++) {
        struct server s;
        struct rig_config cfg = {.rate = {0, 1},
                                 .duration_ns = NS_NEVER,
                                 .requests = 20 + check_below(&rng, 500),
                                 .connections = 1 + (uint32_t)check_below(&rng, 20),
                                 .timeout_ns = NS_PER_SEC,
                                 .capacity = 600};
        struct rig *r = start(&cfg, &s, &rng);
        run(r, cfg.connections, NS_NEVER - 1);
        rig_close(r);
        ck_assert_uint_eq(r->part->rows[0].counters.scheduled, cfg.requests);
        ck_assert_uint_eq(r->part->rows[0].counters.ok, cfg.requests);
        rig_free(r);
    }
}
END_TEST

/* Nothing is sent at or after the end, nothing is owed to what was not sent. */
START_TEST(test_ends_with_the_time)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 100; round++) {
        struct server s;
        struct rig_config cfg = {.rate = {0, 1},
                                 .duration_ns = 1 + check_below(&rng, 300 * MS),
                                 .requests = UINT64_MAX,
                                 .connections = 1 + (uint32_t)check_below(&rng, 20),
                                 .timeout_ns = NS_PER_SEC,
                                 .capacity = 4000};
        struct rig *r = start(&cfg, &s, &rng);
        s.max_ns += 2 * MS; /* bounds the number of requests */
        run(r, cfg.connections, NS_NEVER - 1);
        rig_close(r);
        const struct counters *c = &r->part->rows[0].counters;
        ck_assert_uint_eq(c->scheduled, c->sent);
        ck_assert_uint_eq(c->ok, c->sent);
        ck_assert_uint_eq(c->waited + c->late, 0);
        ck_assert_uint_lt(r->last_sent_ns, T0 + cfg.duration_ns);
        rig_free(r);
    }
}
END_TEST

START_TEST(test_stop_closes_the_ledger)
{
    uint64_t rng = check_seed();
    struct server s;
    struct rig_config cfg = {.rate = {0, 1},
                             .duration_ns = NS_NEVER,
                             .requests = UINT64_MAX,
                             .connections = 7,
                             .timeout_ns = NS_PER_SEC,
                             .capacity = 100000};
    struct rig *r = start(&cfg, &s, &rng);
    s.max_ns = 5 * MS;
    run(r, cfg.connections, T0 + 100 * MS);
    engine_stop(r->engine, T0 + 100 * MS, 0);
    rig_close(r);
    ck_assert_uint_eq(r->part->rows[0].counters.unfinished, 7);
    ck_assert_uint_eq(counters_unsent(&r->part->rows[0].counters), 0);
    rig_free(r);
}
END_TEST

/* Stopped at its start, before the first send: nothing was due. */
START_TEST(test_stop_at_t0_schedules_nothing)
{
    uint64_t rng = check_seed();
    struct server s;
    struct rig_config cfg = {.rate = {0, 1},
                             .duration_ns = NS_NEVER,
                             .requests = UINT64_MAX,
                             .connections = 7,
                             .timeout_ns = NS_PER_SEC,
                             .capacity = 100};
    struct rig *r = start(&cfg, &s, &rng);
    engine_stop(r->engine, T0, 0);
    rig_close(r);
    ck_assert_uint_eq(r->part->rows[0].counters.scheduled, 0);
    rig_free(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("closed_loop");
    TCase *tc = tcase_create("closed_loop");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test_sends_exactly_n);
    tcase_add_test(tc, test_ends_with_the_time);
    tcase_add_test(tc, test_stop_closes_the_ledger);
    tcase_add_test(tc, test_stop_at_t0_schedules_nothing);
    suite_add_tcase(s, tc);
    return check_main(s);
}
