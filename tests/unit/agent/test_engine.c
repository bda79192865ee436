/* SPDX-License-Identifier: MIT */
#include "agent/engine/engine.h"

#include <inttypes.h>

#include "agent/client/client_null.h"
#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/engine_rig.h"

#define MS NS_PER_MS
#define T0 RIG_T0

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

/* --- phases ----------------------------------------------------------------------------------- */

START_TEST(test_phases_in_order)
{
    struct rig_config cfg = config(3);
    struct rig *r = rig_new(&cfg);
    struct engine *e = r->engine;
    ck_assert_int_eq(engine_phase(e), ENGINE_WAITING);
    ck_assert_uint_eq(engine_wake(e), T0);
    ck_assert_uint_eq(engine_connected(e), 3);
    engine_pump(e, T0 - 1);
    ck_assert_int_eq(engine_phase(e), ENGINE_WAITING);
    engine_start(e, T0 + NS_PER_SEC); /* too late to change it */
    engine_pump(e, T0);
    ck_assert_int_eq(engine_phase(e), ENGINE_SENDING);
    ck_assert_uint_eq(engine_in_flight(e), 1);
    ck_assert_uint_eq(engine_wake(e), T0 + 10 * MS);
    ck_assert_uint_eq(engine_due(e), T0 + 10 * MS);
    rig_run(r, T0 + 5 * NS_PER_SEC);
    ck_assert_int_eq(engine_phase(e), ENGINE_ENDED);
    ck_assert_uint_eq(engine_due(e), NS_NEVER);
    rig_close(r);
    rig_free(r);
}
END_TEST

START_TEST(test_free_in_any_phase)
{
    struct rig_config cfg = config(2);
    for (uint64_t at = T0 - 2 * MS; at < T0 + 2 * NS_PER_SEC; at += 200 * MS) {
        struct rig *r = rig_new(&cfg);
        rig_run(r, at);
        rig_free(r);
    }
}
END_TEST

START_TEST(test_no_connections_is_refused)
{
    struct rig_config cfg = config(1);
    struct rig *r = rig_new(&cfg);
    struct engine_config ec = {.ops = client_null_ops(), .recorder = r->recorder};
    struct engine *e;
    struct errmsg msg = {{0}};
    ck_assert_int_eq(engine_new(&ec, &e, &msg), ERR_INVALID);
    ck_assert_str_ne(msg.text, "");
    rig_free(r);
}
END_TEST

/* --- end of run ------------------------------------------------------------------------------- */

static void answer_at_once(struct rig *r, uint64_t tag, uint64_t sent_ns)
{
    rig_complete(r, tag, sent_ns);
}

START_TEST(test_ends_when_all_is_done)
{
    struct rig_config cfg = config(1);
    struct rig *r = rig_new(&cfg);
    r->answer = answer_at_once;
    rig_run(r, T0 + 990 * MS);
    ck_assert_int_eq(engine_phase(r->engine), ENGINE_ENDED);
    rig_close(r);
    ck_assert_uint_eq(r->part->counters.ok, 100);
    ck_assert_uint_eq(r->part->counters.waited, 0);
    ck_assert_uint_eq(r->part->hists[HIST_CORRECTED].max, 0);
    rig_free(r);
}
END_TEST

/* One connection, a silent server, each request takes the whole timeout: sends at 0, 300, 600, 900
 * and 1200 ms; at T + timeout = 1300 ms the rest is given up, and the last one gets its timeout. */
START_TEST(test_backlog_is_sent_until_duration_plus_timeout)
{
    struct rig_config cfg = config(1);
    struct rig *r = rig_new(&cfg);
    rig_run(r, T0 + 1299 * MS);
    ck_assert_int_eq(engine_phase(r->engine), ENGINE_SENDING);
    ck_assert_uint_eq(r->sent, 5);
    rig_run(r, T0 + 1499 * MS);
    ck_assert_int_eq(engine_phase(r->engine), ENGINE_DRAINING);
    rig_run(r, T0 + 1500 * MS);
    rig_close(r);
    ck_assert_uint_eq(r->part->counters.scheduled, 100);
    ck_assert_uint_eq(r->part->counters.sent, 5);
    ck_assert_uint_eq(r->part->counters.timeouts, 5);
    ck_assert_uint_eq(r->part->counters.unsent_no_connection, 95);
    ck_assert_uint_eq(r->part->censored_age_ns, 1460 * MS); /* due at 40, timed out at 1500 */
    rig_free(r);
}
END_TEST

START_TEST(test_in_flight_gets_its_timeout_at_the_end)
{
    struct rig_config cfg = config(200);
    struct rig *r = rig_new(&cfg);
    rig_run(r, T0 + 990 * MS);
    ck_assert_uint_eq(r->sent, 100);
    ck_assert_int_eq(engine_phase(r->engine), ENGINE_DRAINING);
    ck_assert(rig_complete(r, 99, T0 + 1289 * MS));
    rig_run(r, T0 + 1290 * MS);
    rig_close(r);
    ck_assert_uint_eq(r->part->counters.ok, 1);
    ck_assert_uint_eq(r->part->counters.timeouts, 99);
    ck_assert_uint_eq(r->part->counters.unfinished, 0);
    rig_free(r);
}
END_TEST

START_TEST(test_request_limit_ends_the_run)
{
    struct rig_config cfg = config(1);
    cfg.duration_ns = NS_NEVER;
    cfg.requests = 7;
    struct rig *r = rig_new(&cfg);
    rig_run(r, T0 + 370 * MS); /* 7/R + timeout */
    rig_run(r, T0 + 600 * MS);
    rig_close(r);
    ck_assert_uint_eq(r->part->counters.scheduled, 7);
    ck_assert_uint_eq(r->part->counters.sent, 2);
    ck_assert_uint_eq(r->part->counters.unsent_no_connection, 5);
    rig_free(r);
}
END_TEST

START_TEST(test_empty_shard_ends_at_t0)
{
    struct rig_config cfg = config(1);
    cfg.requests = 0;
    struct rig *r = rig_new(&cfg);
    engine_pump(r->engine, T0);
    rig_close(r);
    ck_assert_uint_eq(r->part->counters.scheduled, 0);
    rig_free(r);
}
END_TEST

START_TEST(test_stop_counts_what_was_due)
{
    struct rig_config cfg = config(2);
    struct rig *r = rig_new(&cfg);
    rig_run(r, T0 + 45 * MS);
    /* Due at 0 .. 90 and, at this very instant, 100: eleven. Two are in flight. */
    engine_stop(r->engine, T0 + 100 * MS, 0);
    rig_close(r);
    ck_assert_uint_eq(r->part->counters.scheduled, 11);
    ck_assert_uint_eq(r->part->counters.unsent_stopped, 9);
    ck_assert_uint_eq(r->part->counters.unfinished, 2);
    ck_assert_uint_eq(r->part->censored_age_ns, 100 * MS);
    ck_assert_uint_eq(r->part->n_errors, 0);
    ck_assert(!rig_complete(r, 0, T0 + 101 * MS));
    engine_stop(r->engine, T0 + 200 * MS, MS);
    engine_pump(r->engine, T0 + 200 * MS);
    ck_assert_int_eq(engine_phase(r->engine), ENGINE_ENDED);
    rig_free(r);
}
END_TEST

START_TEST(test_stop_drains_what_is_in_flight)
{
    struct rig_config cfg = config(2);
    struct rig *r = rig_new(&cfg);
    rig_run(r, T0 + 45 * MS);
    engine_stop(r->engine, T0 + 50 * MS, 100 * MS);
    ck_assert_int_eq(engine_phase(r->engine), ENGINE_DRAINING);
    ck_assert(rig_complete(r, 0, T0 + 60 * MS));
    rig_run(r, T0 + 149 * MS);
    ck_assert_int_eq(engine_phase(r->engine), ENGINE_DRAINING);
    ck_assert_uint_eq(r->sent, 2); /* the free connection takes nothing more */
    rig_run(r, T0 + 150 * MS);
    rig_close(r);
    ck_assert_uint_eq(r->part->counters.ok, 1);
    ck_assert_uint_eq(r->part->counters.unfinished, 1);
    ck_assert_uint_eq(r->part->counters.unsent_stopped, 4);
    rig_free(r);
}
END_TEST

/* Nor is a connection opened after a stop: the first to time out stays closed. */
START_TEST(test_a_drain_is_at_most_the_timeout)
{
    struct rig_config cfg = config(2);
    cfg.reconnect_ns = MS;
    struct rig *r = rig_new(&cfg);
    rig_run(r, T0 + 45 * MS);
    engine_stop(r->engine, T0 + 50 * MS, NS_NEVER);
    rig_run(r, T0 + 310 * MS);
    rig_close(r);
    ck_assert_uint_eq(r->part->counters.timeouts, 2);
    ck_assert_uint_eq(r->part->counters.connects, 2);
    rig_free(r);
}
END_TEST

START_TEST(test_of_two_stops_the_earlier_end_counts)
{
    struct rig_config cfg = config(2);
    struct rig *r = rig_new(&cfg);
    rig_run(r, T0 + 45 * MS);
    engine_stop(r->engine, T0 + 50 * MS, 100 * MS);
    engine_stop(r->engine, T0 + 60 * MS, 200 * MS);
    rig_run(r, T0 + 70 * MS);
    engine_stop(r->engine, T0 + 80 * MS, 10 * MS);
    rig_run(r, T0 + 90 * MS);
    rig_close(r);
    ck_assert_uint_eq(r->part->counters.unfinished, 2);
    rig_free(r);
}
END_TEST

START_TEST(test_stop_before_t0_schedules_nothing)
{
    struct rig_config cfg = config(2);
    struct rig *r = rig_new(&cfg);
    engine_stop(r->engine, T0 - 1, NS_PER_SEC);
    rig_close(r);
    ck_assert_uint_eq(r->part->counters.scheduled, 0);
    ck_assert_uint_eq(r->part->counters.connects, 2);
    rig_free(r);
}
END_TEST

START_TEST(test_stop_at_t0_without_a_pump)
{
    struct rig_config cfg = config(2);
    struct rig *r = rig_new(&cfg);
    engine_stop(r->engine, T0, NS_PER_SEC);
    rig_close(r);
    ck_assert_uint_eq(r->part->counters.scheduled, 1);
    ck_assert_uint_eq(r->part->counters.unsent_stopped, 1);
    rig_free(r);
}
END_TEST

static uint64_t fake_ns;
static uint64_t fake_clock(void)
{
    return fake_ns += NS_PER_US;
}

/* A burst on a real clock: each send has its own stamp. */
START_TEST(test_each_send_has_a_fresh_stamp)
{
    struct rig_config cfg = config(8);
    cfg.now = fake_clock;
    struct rig *r = rig_new(&cfg);
    fake_ns = T0 + 25 * MS;
    engine_pump(r->engine, fake_ns);
    ck_assert_uint_eq(r->sent, 3);
    for (uint64_t i = 0; i < 3; i++)
        ck_assert_uint_eq(r->requests[i].sent_ns, T0 + 25 * MS + (i + 1) * NS_PER_US);
    engine_stop(r->engine, T0 + 26 * MS, 0);
    rig_close(r);
    rig_free(r);
}
END_TEST

/* The drain begins with a fresh stamp too, or the last requests would be called unfinished. */
START_TEST(test_the_last_send_gets_its_whole_timeout)
{
    struct rig_config cfg = config(100);
    cfg.now = fake_clock;
    struct rig *r = rig_new(&cfg);
    fake_ns = T0 + 990 * MS;
    engine_pump(r->engine, fake_ns);
    ck_assert_uint_eq(r->sent, 100);
    ck_assert_int_eq(engine_phase(r->engine), ENGINE_DRAINING);
    rig_run(r, T0 + 2000 * MS);
    rig_close(r);
    ck_assert_uint_eq(r->part->counters.timeouts, 100);
    ck_assert_uint_eq(r->part->counters.unfinished, 0);
    rig_free(r);
}
END_TEST

/* --- backlog ---------------------------------------------------------------------------------- */

/* A server that hangs for an hour at 5M/s: 18 billion wait, and nothing takes longer for it. */
START_TEST(test_backlog_of_billions)
{
    struct rig_config cfg = {.rate = {5000000, 1},
                             .duration_ns = NS_NEVER,
                             .requests = UINT64_MAX,
                             .connections = 4,
                             .timeout_ns = NS_NEVER,
                             .capacity = 1000};
    struct rig *r = rig_new(&cfg);
    engine_pump(r->engine, T0);
    uint64_t hour = T0 + 3600 * NS_PER_SEC;
    engine_pump(r->engine, hour);
    for (uint64_t i = 0; i < 500; i++)
        CHECK_MUST(rig_complete(r, i, hour + i));
    ck_assert_uint_eq(r->sent, 504);
    ck_assert_uint_gt(engine_backlog(r->engine), UINT64_C(17999999000));
    engine_stop(r->engine, hour + 500, 0);
    rig_close(r);
    ck_assert_uint_eq(r->part->counters.scheduled, UINT64_C(18000000003));
    ck_assert_uint_eq(r->part->counters.unsent_stopped, UINT64_C(18000000003) - 504);
    rig_free(r);
}
END_TEST

/* A server that answers inside the send, with an endless backlog: the work of one pump is bounded
 * and so is the stack. */
START_TEST(test_work_per_pump_is_bounded)
{
    struct rig_config cfg = {.rate = {200000, 1},
                             .duration_ns = NS_PER_SEC,
                             .requests = UINT64_MAX,
                             .connections = 1,
                             .timeout_ns = 10 * NS_PER_SEC,
                             .capacity = 200000};
    struct rig *r = rig_new(&cfg);
    r->answer = answer_at_once;
    uint64_t now = T0 + NS_PER_SEC;
    while (engine_phase(r->engine) != ENGINE_ENDED) {
        uint64_t before = r->sent;
        engine_pump(r->engine, now);
        CHECK_MUST(r->sent - before <= 1024);
        CHECK_MUST(r->sent > before || engine_phase(r->engine) == ENGINE_ENDED);
        CHECK_MUST(engine_phase(r->engine) == ENGINE_ENDED || engine_wake(r->engine) <= now);
    }
    rig_close(r);
    ck_assert_uint_eq(r->part->counters.ok, 200000);
    /* The only connection was idle all the time: this was our own sleep. */
    ck_assert_uint_ge(r->part->counters.late, 199000);
    rig_free(r);
}
END_TEST

/* --- any server ------------------------------------------------------------------------------- */

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
    const struct counters *c = &r->part->counters;
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

static TCase *end_of_run(void)
{
    TCase *tc = tcase_create("end of run");
    tcase_add_test(tc, test_ends_when_all_is_done);
    tcase_add_test(tc, test_backlog_is_sent_until_duration_plus_timeout);
    tcase_add_test(tc, test_in_flight_gets_its_timeout_at_the_end);
    tcase_add_test(tc, test_request_limit_ends_the_run);
    tcase_add_test(tc, test_empty_shard_ends_at_t0);
    tcase_add_test(tc, test_stop_counts_what_was_due);
    tcase_add_test(tc, test_stop_drains_what_is_in_flight);
    tcase_add_test(tc, test_a_drain_is_at_most_the_timeout);
    tcase_add_test(tc, test_of_two_stops_the_earlier_end_counts);
    tcase_add_test(tc, test_stop_before_t0_schedules_nothing);
    tcase_add_test(tc, test_stop_at_t0_without_a_pump);
    return tc;
}

int main(void)
{
    Suite *s = suite_create("engine");
    TCase *tc = tcase_create("engine");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test_phases_in_order);
    tcase_add_test(tc, test_free_in_any_phase);
    tcase_add_test(tc, test_no_connections_is_refused);
    tcase_add_test(tc, test_each_send_has_a_fresh_stamp);
    tcase_add_test(tc, test_the_last_send_gets_its_whole_timeout);
    tcase_add_test(tc, test_backlog_of_billions);
    tcase_add_test(tc, test_work_per_pump_is_bounded);
    tcase_add_test(tc, test_ledger_holds_for_any_server);
    suite_add_tcase(s, tc);
    suite_add_tcase(s, end_of_run());
    return check_main(s);
}
