/* SPDX-License-Identifier: MIT */
/* A request left late: because of us, or because no connection was free for it? */
#include "agent/engine/engine.h"

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

START_TEST(test_busy_connections_make_it_wait)
{
    struct rig_config cfg = config(1);
    struct rig *r = rig_new(&cfg);
    rig_run(r, T0 + 25 * MS); /* 0 in flight; 1 and 2 wait */
    ck_assert(rig_complete(r, 0, T0 + 25 * MS));
    ck_assert_uint_eq(r->requests[1].sent_ns, T0 + 25 * MS); /* at once, without a pump */
    ck_assert(rig_complete(r, 1, T0 + 26 * MS));
    ck_assert(rig_complete(r, 2, T0 + 27 * MS));
    rig_run(r, T0 + 30 * MS); /* 3 finds an idle connection */
    engine_stop(r->engine, T0 + 31 * MS, 0);
    rig_close(r);
    ck_assert_uint_eq(r->part->rows[0].counters.waited, 2);
    ck_assert_uint_eq(r->part->rows[0].counters.late, 0);
    ck_assert_uint_eq(r->part->hists[HIST_WAIT].max, 15 * MS);
    ck_assert_uint_eq(r->part->hists[HIST_SEND_LAG].max, 0);
    rig_free(r);
}
END_TEST

/* Due at the instant the only connection becomes free: it did not wait. */
START_TEST(test_free_at_the_due_instant_is_no_wait)
{
    struct rig_config cfg = config(1);
    struct rig *r = rig_new(&cfg);
    rig_run(r, T0 + 9 * MS);
    ck_assert(rig_complete(r, 0, T0 + 10 * MS));
    ck_assert_uint_eq(r->requests[1].sent_ns, T0 + 10 * MS);
    engine_stop(r->engine, T0 + 11 * MS, 0);
    rig_close(r);
    ck_assert_uint_eq(r->part->rows[0].counters.waited, 0);
    rig_free(r);
}
END_TEST

START_TEST(test_a_sleeping_engine_blames_itself)
{
    struct rig_config cfg = config(5);
    struct rig *r = rig_new(&cfg);
    engine_pump(r->engine, T0);
    engine_pump(r->engine, T0 + 35 * MS); /* 1, 2, 3 are 25, 15 and 5 ms late, with idle ones */
    engine_stop(r->engine, T0 + 36 * MS, 0);
    rig_close(r);
    ck_assert_uint_eq(r->part->rows[0].counters.waited, 0);
    ck_assert_uint_eq(r->part->rows[0].counters.late, 3);
    ck_assert_uint_eq(r->part->hists[HIST_SEND_LAG].max, 25 * MS);
    rig_free(r);
}
END_TEST

START_TEST(test_reconnecting_is_waiting)
{
    struct rig_config cfg = config(1);
    cfg.reconnect_ns = 50 * MS;
    struct rig *r = rig_new(&cfg);
    rig_run(r, T0 + 349 * MS);
    ck_assert_uint_eq(r->sent, 1);
    ck_assert_uint_eq(engine_connected(r->engine), 0);
    rig_run(r, T0 + 350 * MS);
    ck_assert_uint_eq(r->sent, 2);
    engine_stop(r->engine, T0 + 351 * MS, 0);
    rig_close(r);
    ck_assert_uint_eq(r->part->rows[0].counters.waited, 1);
    ck_assert_uint_eq(r->part->rows[0].counters.connects, 2);
    rig_free(r);
}
END_TEST

/* The only connection dies while it is idle, a request becomes due, and the new connection is the
 * first thing that is heard of since: there was none for that request, so its delay is not ours. */
START_TEST(test_a_lost_connection_is_not_idle)
{
    struct rig_config cfg = config(1);
    cfg.reconnect_ns = 13 * MS;
    struct rig *r = rig_new(&cfg);
    rig_run(r, T0 + 1 * MS);
    ck_assert(rig_complete(r, 0, T0 + 2 * MS));
    ck_assert(client_null_lose(engine_client(r->engine), T0 + 5 * MS));
    ck_assert(!client_null_lose(engine_client(r->engine), T0 + 5 * MS));
    rig_run(r, T0 + 18 * MS);
    ck_assert_uint_eq(r->requests[1].sent_ns, T0 + 18 * MS);
    engine_stop(r->engine, T0 + 19 * MS, 0);
    rig_close(r);
    ck_assert_uint_eq(r->part->rows[0].counters.waited, 1);
    ck_assert_uint_eq(r->part->hists[HIST_WAIT].max, 8 * MS);
    ck_assert_uint_eq(r->part->hists[HIST_SEND_LAG].max, 0);
    rig_free(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("engine_blame");
    TCase *tc = tcase_create("blame");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test_busy_connections_make_it_wait);
    tcase_add_test(tc, test_free_at_the_due_instant_is_no_wait);
    tcase_add_test(tc, test_a_sleeping_engine_blames_itself);
    tcase_add_test(tc, test_reconnecting_is_waiting);
    tcase_add_test(tc, test_a_lost_connection_is_not_idle);
    suite_add_tcase(s, tc);
    return check_main(s);
}
