/* SPDX-License-Identifier: MIT */
/* Single requests go when there is room, behind the snapshots; only the final one waits for them,
 * and not for long. */
#include "agent/service/run_dump.h"
#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/control_rig.h"

#define RING 65536u

static struct control_rig *rig;
static struct run_dump *dump;

static void setup(void)
{
    dump = run_dump_new(1, RING, series_map_one());
    rig = control_rig_new();
    rig->dump = dump;
    control_rig_running(rig);
    ck_assert_uint_le(control_deadline(rig->control), rig->now_ns); /* at once, and then... */
    control_tick(rig->control, rig->now_ns);
}

static void teardown(void)
{
    control_rig_free(rig);
    run_dump_free(dump);
}

static void record(uint64_t n)
{
    struct client_result res = {.outcome = OUTCOME_OK, .status = 200};
    for (uint64_t i = 0; i < n; i++, res.tag++)
        dump_ring_result(run_dump_ring(dump, 0), &res);
}

/* Lets the clock go on to the next instant at which there is work. */
static void next_tick(void)
{
    uint64_t at_ns = control_deadline(rig->control);
    if (at_ns > rig->now_ns)
        rig->now_ns = at_ns;
    control_tick(rig->control, rig->now_ns);
}

static uint64_t rows(void)
{
    uint64_t n, dropped;
    run_dump_totals(dump, &n, &dropped);
    return n;
}

START_TEST(test_looked_for_every_50_ms)
{
    uint64_t from_ns = rig->now_ns;
    ck_assert_uint_eq(control_deadline(rig->control), from_ns + 50 * NS_PER_MS);
    record(10);
    control_rig_simple(rig, &control_rig_conns[0], MSG_PING); /* not on every occasion */
    ck_assert_uint_eq(rig->sent[MSG_REQUESTS], 0);
    next_tick();
    ck_assert_uint_eq(rig->sent[MSG_REQUESTS], 1);
    ck_assert_uint_eq(rows(), 10);
    next_tick();
    ck_assert_uint_eq(rig->sent[MSG_REQUESTS], 1); /* none without rows */
    ck_assert_uint_ge(rig->now_ns - from_ns, 100 * NS_PER_MS);
}
END_TEST

START_TEST(test_no_room_then_room)
{
    uint64_t from_ns = rig->now_ns;
    record(20000); /* more than one message */
    rig->no_room = true;
    next_tick();
    next_tick();
    ck_assert_uint_eq(rig->sent[MSG_REQUESTS], 0);
    ck_assert_uint_le(rig->now_ns - from_ns, 61 * NS_PER_MS); /* soon again */
    control_rig_snapshot(rig);
    ck_assert_uint_eq(rig->sent[MSG_SNAPSHOT], 1); /* they do not stand in its way */
    rig->no_room = false;
    next_tick();
    ck_assert_uint_gt(rig->sent[MSG_REQUESTS], 1);
    ck_assert_uint_eq(rows(), 20000);
}
END_TEST

START_TEST(test_snapshots_first)
{
    record(10);
    rig->blocked = true;
    control_rig_snapshot(rig);
    next_tick();
    rig->blocked = false;
    rig->now_ns += NS_PER_SEC;
    control_tick(rig->control, rig->now_ns);
    ck_assert_uint_eq(rig->sent[MSG_SNAPSHOT], 1);
    ck_assert_int_eq(rig->last.type, MSG_REQUESTS); /* after it */
}
END_TEST

START_TEST(test_the_final_one_comes_last)
{
    record(20000);
    control_rig_end(rig);
    ck_assert_uint_gt(rig->sent[MSG_REQUESTS], 1);
    ck_assert_int_eq(rig->last.type, MSG_FINAL);
    ck_assert_uint_eq(rig->last.final.rows, 20000);
    ck_assert_uint_eq(rig->last.final.rows_dropped, 0);
    uint64_t at_ns = control_deadline(rig->control);
    ck_assert_msg(at_ns > rig->now_ns + NS_PER_SEC, "it goes on looking");
}
END_TEST

START_TEST(test_it_does_not_wait_for_long)
{
    uint64_t from_ns = rig->now_ns;
    record(300);
    next_tick();
    record(1000);
    rig->no_room = true;
    control_rig_end(rig);
    ck_assert_uint_eq(rig->sent[MSG_FINAL], 0);
    for (int i = 0; i < 1000 && rig->sent[MSG_FINAL] == 0; i++)
        next_tick();
    ck_assert_uint_eq(rig->sent[MSG_FINAL], 1);
    ck_assert_uint_ge(rig->now_ns - from_ns, 500 * NS_PER_MS);
    ck_assert_uint_le(rig->now_ns - from_ns, 600 * NS_PER_MS);
    ck_assert_uint_eq(rig->last.final.rows, 300);
    ck_assert_uint_eq(rig->last.final.rows_dropped, 1000);
    rig->no_room = false; /* said again, it says the same */
    control_rig_simple(rig, &control_rig_conns[0], MSG_STOP);
    ck_assert_uint_eq(rig->sent[MSG_FINAL], 2);
    ck_assert_uint_eq(rig->last.final.rows_dropped, 1000);
    ck_assert_uint_eq(rig->sent[MSG_REQUESTS], 1);
}
END_TEST

/* While the owner is away the ring keeps what it has room for. */
START_TEST(test_the_owner_comes_back)
{
    control_gone(rig->control, &control_rig_conns[0], rig->now_ns);
    record(RING + 7);
    for (int i = 0; i < 20; i++)
        next_tick();
    ck_assert_uint_eq(rows(), 0);
    control_rig_end(rig);
    rig->now_ns += 2 * NS_PER_SEC;
    control_rig_hello(rig, &control_rig_conns[1], 1);
    for (int i = 0; i < 10 && rig->sent[MSG_FINAL] == 0; i++)
        next_tick();
    ck_assert_int_eq(rig->last.type, MSG_FINAL);
    ck_assert_uint_eq(rig->last.final.rows, RING);
    ck_assert_uint_eq(rig->last.final.rows_dropped, 7);
}
END_TEST

START_TEST(test_without)
{
    rig->dump = NULL; /* a run that wants none */
    control_rig_end(rig);
    ck_assert_uint_eq(rig->sent[MSG_REQUESTS], 0);
    ck_assert_int_eq(rig->last.type, MSG_FINAL);
    ck_assert_uint_eq(rig->last.final.rows + rig->last.final.rows_dropped, 0);
    rig->dump = dump;
}
END_TEST

int main(void)
{
    Suite *s = suite_create("control_dump");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_looked_for_every_50_ms);
    tcase_add_test(t, test_no_room_then_room);
    tcase_add_test(t, test_snapshots_first);
    tcase_add_test(t, test_the_final_one_comes_last);
    tcase_add_test(t, test_it_does_not_wait_for_long);
    tcase_add_test(t, test_the_owner_comes_back);
    tcase_add_test(t, test_without);
    return check_main(s);
}
