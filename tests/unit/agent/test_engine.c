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
    ck_assert_uint_eq(r->part->rows[0].counters.ok, 100);
    ck_assert_uint_eq(r->part->rows[0].counters.waited, 0);
    ck_assert_uint_eq(r->part->rows[0].corrected.max, 0);
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
    ck_assert_uint_eq(r->part->rows[0].counters.scheduled, 100);
    ck_assert_uint_eq(r->part->rows[0].counters.sent, 5);
    ck_assert_uint_eq(r->part->rows[0].counters.timeouts, 5);
    ck_assert_uint_eq(r->part->rows[0].counters.unsent_no_connection, 95);
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
    ck_assert_uint_eq(r->part->rows[0].counters.ok, 1);
    ck_assert_uint_eq(r->part->rows[0].counters.timeouts, 99);
    ck_assert_uint_eq(r->part->rows[0].counters.unfinished, 0);
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
    ck_assert_uint_eq(r->part->rows[0].counters.scheduled, 7);
    ck_assert_uint_eq(r->part->rows[0].counters.sent, 2);
    ck_assert_uint_eq(r->part->rows[0].counters.unsent_no_connection, 5);
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
    ck_assert_uint_eq(r->part->rows[0].counters.scheduled, 0);
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
    ck_assert_uint_eq(r->part->rows[0].counters.scheduled, 11);
    ck_assert_uint_eq(r->part->rows[0].counters.unsent_stopped, 9);
    ck_assert_uint_eq(r->part->rows[0].counters.unfinished, 2);
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
    ck_assert_uint_eq(r->part->rows[0].counters.ok, 1);
    ck_assert_uint_eq(r->part->rows[0].counters.unfinished, 1);
    ck_assert_uint_eq(r->part->rows[0].counters.unsent_stopped, 4);
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
    ck_assert_uint_eq(r->part->rows[0].counters.timeouts, 2);
    ck_assert_uint_eq(r->part->rows[0].counters.connects, 2);
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
    ck_assert_uint_eq(r->part->rows[0].counters.unfinished, 2);
    rig_free(r);
}
END_TEST

START_TEST(test_stop_before_t0_schedules_nothing)
{
    struct rig_config cfg = config(2);
    struct rig *r = rig_new(&cfg);
    engine_stop(r->engine, T0 - 1, NS_PER_SEC);
    rig_close(r);
    ck_assert_uint_eq(r->part->rows[0].counters.scheduled, 0);
    ck_assert_uint_eq(r->part->rows[0].counters.connects, 2);
    rig_free(r);
}
END_TEST

START_TEST(test_stop_at_t0_without_a_pump)
{
    struct rig_config cfg = config(2);
    struct rig *r = rig_new(&cfg);
    engine_stop(r->engine, T0, NS_PER_SEC);
    rig_close(r);
    ck_assert_uint_eq(r->part->rows[0].counters.scheduled, 1);
    ck_assert_uint_eq(r->part->rows[0].counters.unsent_stopped, 1);
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
    ck_assert_uint_eq(r->part->rows[0].counters.timeouts, 100);
    ck_assert_uint_eq(r->part->rows[0].counters.unfinished, 0);
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
    ck_assert_uint_eq(r->part->rows[0].counters.scheduled, UINT64_C(18000000003));
    ck_assert_uint_eq(r->part->rows[0].counters.unsent_stopped, UINT64_C(18000000003) - 504);
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
    ck_assert_uint_eq(r->part->rows[0].counters.ok, 200000);
    /* The only connection was idle all the time: this was our own sleep. */
    ck_assert_uint_ge(r->part->rows[0].counters.late, 199000);
    rig_free(r);
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
    suite_add_tcase(s, tc);
    suite_add_tcase(s, end_of_run());
    return check_main(s);
}
