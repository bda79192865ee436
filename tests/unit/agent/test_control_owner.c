/* SPDX-License-Identifier: MIT */
#include "agent/service/control.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/control_rig.h"

/* Who holds the agent, what becomes of a run whose owner goes, who gets it next. */

START_TEST(test_busy_names_the_holder)
{
    struct control_rig *w = control_rig_new();
    control_rig_hello(w, &control_rig_conns[0], 1);
    w->now_ns += 2 * NS_PER_SEC;
    control_rig_hello(w, &control_rig_conns[1], 2);
    ck_assert_int_eq(w->last.type, MSG_REFUSE);
    ck_assert_uint_eq(w->last.refuse.code, REFUSE_BUSY);
    ck_assert_str_eq(w->last.refuse.holder, "perf@host1:1");
    ck_assert_uint_ge(w->last.refuse.held_ms, 2000);
    ck_assert_uint_le(w->last.refuse.lease_left_ms, 8000);
    ck_assert_uint_eq(w->closes, 1);
    ck_assert(control_is_owner(w->control, &control_rig_conns[0]));
    control_rig_free(w);
}
END_TEST

/* Nothing may be sent on a connection after it was closed: its memory is gone. */
START_TEST(test_an_owner_refused_is_no_owner)
{
    for (int way = 0; way < 2; way++) {
        struct control_rig *w = control_rig_new();
        control_rig_running(w);
        w->blocked = true;
        control_rig_snapshot(w);
        w->blocked = false;
        struct msg m = {.type = MSG_HELLO};
        m.hello.version_min = m.hello.version_max = way == 0 ? 99 : MSG_VERSION_MAX;
        m.hello.owner[0] = 2;
        control_rig_hear(w, &control_rig_conns[0], &m);
        ck_assert_int_eq(w->last.type, MSG_REFUSE);
        ck_assert_uint_eq(w->closes, 1);
        ck_assert_int_eq(control_state(w->control), AGENT_IDLE);
        ck_assert(!control_is_owner(w->control, &control_rig_conns[0]));
        ck_assert_uint_eq(w->frees, 1);
        control_tick(w->control, w->now_ns);
        ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 0);
        control_rig_free(w);
    }
}
END_TEST

/* A load without an owner must not go on, whichever way the owner went; what it did is kept. */
START_TEST(test_lost_owner_ends_the_load)
{
    for (int way = 0; way < 2; way++) {
        struct control_rig *w = control_rig_new();
        control_rig_running(w);
        control_rig_snapshot(w);
        uint64_t at = control_deadline(w->control);
        ck_assert_uint_le(at, w->now_ns + 10 * NS_PER_SEC);
        if (way == 0)
            control_gone(w->control, &control_rig_conns[0], w->now_ns);
        control_rig_snapshot(w);
        control_tick(w->control, at - 1);
        ck_assert_int_eq(control_state(w->control), AGENT_RUNNING);
        ck_assert_uint_eq(w->halts, 0);
        control_tick(w->control, at);
        ck_assert_int_eq(control_state(w->control), AGENT_DRAINING);
        ck_assert_uint_eq(w->halts, 1);
        ck_assert_uint_eq(w->closes, way == 0 ? 0 : 1);
        w->now_ns = at;
        control_rig_end(w);
        ck_assert_int_eq(control_state(w->control), AGENT_ENDED);
        ck_assert_uint_eq(w->sent[MSG_FINAL], 0);
        ck_assert_uint_eq(w->frees, 0);
        control_rig_hello(w, &control_rig_conns[1],
                          1); /* on another connection, with everything still there */
        ck_assert_int_eq(w->sent[MSG_WELCOME], 2);
        control_tick(w->control, w->now_ns);
        ck_assert_uint_eq(w->sent[MSG_FINAL], 1);
        ck_assert_uint_eq(w->last.final.reason, END_LEASE);
        ck_assert_uint_eq(w->last.final.last_seq, 2);
        control_rig_simple(w, &control_rig_conns[1], MSG_BYE);
        ck_assert_int_eq(control_state(w->control), AGENT_IDLE);
        control_rig_free(w);
    }
}
END_TEST

START_TEST(test_a_cut_shorter_than_the_lease_loses_nothing)
{
    struct control_rig *w = control_rig_new();
    control_rig_running(w);
    control_rig_snapshot(w);
    control_gone(w->control, &control_rig_conns[0], w->now_ns);
    control_rig_snapshot(w);
    ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 1);
    w->now_ns += 5 * NS_PER_SEC;
    control_rig_hello(w, &control_rig_conns[1], 1);
    ck_assert_int_eq(w->last.type, MSG_WELCOME);
    ck_assert_int_eq(w->last.welcome.state, AGENT_RUNNING);
    ck_assert_uint_eq(w->last.welcome.last_seq, 2);
    ck_assert_uint_ne(w->last.welcome.started_ns, 0);
    ck_assert_uint_eq(strlen(w->last.welcome.run), 32);
    control_tick(w->control, w->now_ns);
    ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 3); /* both again: nothing was acknowledged */
    ck_assert_uint_ge(w->leased_until_ns, w->now_ns + 10 * NS_PER_SEC);
    ck_assert_uint_eq(w->halts + w->frees, 0);
    control_rig_hello(w, &control_rig_conns[2],
                      1); /* half-open connections: the newest one counts */
    ck_assert_uint_eq(w->closes, 1);
    ck_assert(control_is_owner(w->control, &control_rig_conns[2]));
    control_rig_free(w);
}
END_TEST

static void become_orphan(struct control_rig *w)
{
    control_rig_running(w);
    control_rig_snapshot(w);
    control_gone(w->control, &control_rig_conns[0], w->now_ns);
    w->now_ns = control_deadline(w->control);
    control_tick(w->control, w->now_ns);
    control_rig_end(w);
}

START_TEST(test_results_are_kept_and_given_up_by_force_only)
{
    struct control_rig *w = control_rig_new();
    become_orphan(w);
    w->now_ns += 60 * NS_PER_SEC;
    control_rig_hello(w, &control_rig_conns[1], 2);
    ck_assert_int_eq(w->last.type, MSG_REFUSE);
    ck_assert_uint_eq(w->last.refuse.code, REFUSE_BUSY);
    ck_assert_uint_eq(w->last.refuse.orphan, 1);
    ck_assert_uint_eq(w->last.refuse.lease_left_ms, 0);
    ck_assert_uint_eq(strlen(w->last.refuse.run), 32);
    struct msg m = {.type = MSG_HELLO};
    m.hello.version_min = m.hello.version_max = MSG_VERSION_MIN;
    m.hello.owner[0] = 3;
    m.hello.force = 1;
    control_rig_hear(w, &control_rig_conns[2], &m);
    ck_assert_int_eq(w->last.type, MSG_WELCOME);
    ck_assert_int_eq(w->last.welcome.state, AGENT_HELD);
    ck_assert_str_eq(w->last.welcome.run, "");
    ck_assert_uint_eq(w->frees, 1);
    m.hello.owner[0] = 4; /* a living lease is never broken */
    control_rig_hear(w, &control_rig_conns[3], &m);
    ck_assert_int_eq(w->last.type, MSG_REFUSE);
    ck_assert_uint_eq(w->last.refuse.orphan, 0);
    control_rig_free(w);
}
END_TEST

START_TEST(test_results_are_kept_ten_minutes)
{
    struct control_rig *w = control_rig_new();
    become_orphan(w);
    uint64_t at = control_deadline(w->control);
    ck_assert_uint_eq(at, w->now_ns + 600 * NS_PER_SEC);
    control_tick(w->control, at - 1);
    ck_assert_int_eq(control_state(w->control), AGENT_ENDED);
    control_tick(w->control, at);
    ck_assert_int_eq(control_state(w->control), AGENT_IDLE);
    ck_assert_uint_eq(w->frees, 1);
    ck_assert_uint_eq(control_deadline(w->control), NS_NEVER);
    control_rig_free(w);
}
END_TEST

/* Before anything was sent there is nothing to keep. */
START_TEST(test_what_never_started_is_not_kept)
{
    struct control_rig *w = control_rig_new();
    control_rig_prepared(w);
    control_gone(w->control, &control_rig_conns[0], w->now_ns);
    ck_assert_int_eq(control_state(w->control), AGENT_PREPARED);
    control_tick(w->control, control_deadline(w->control));
    ck_assert_int_eq(control_state(w->control), AGENT_IDLE);
    control_rig_hello(w, &control_rig_conns[1], 2);
    control_gone(w->control, &control_rig_conns[1], w->now_ns);
    ck_assert_int_eq(control_state(w->control), AGENT_IDLE);
    control_rig_free(w);
}
END_TEST

/* The workers hold a lease of their own, a little longer than the agent's: each frame of the owner
 * renews it, and when it ran out all the same the run did not just finish. */
START_TEST(test_the_load_has_its_own_lease)
{
    struct control_rig *w = control_rig_new();
    control_rig_prepared(w);
    ck_assert_uint_gt(w->leased_until_ns, control_deadline(w->control));
    control_rig_arm(w, 6, w->now_ns + NS_PER_SEC);
    uint64_t before = w->leased_until_ns;
    w->now_ns += NS_PER_SEC;
    control_rig_simple(w, &control_rig_conns[0], MSG_PING);
    ck_assert_uint_gt(w->leased_until_ns, before);
    control_rig_simple(w, &control_rig_conns[2], MSG_PING); /* not the owner */
    ck_assert_uint_le(w->leased_until_ns, w->now_ns + 11 * NS_PER_SEC);
    struct run_info info = {.snapshot = snapshot_new(), .lease_lost = true};
    info.snapshot->cumulative = true;
    control_rig_tell(w, RUN_ENDED, &info);
    ck_assert_int_eq(w->last.type, MSG_FINAL);
    ck_assert_uint_eq(w->last.final.reason, END_LEASE);
    ck_assert_str_ne(w->last.final.text, "");
    control_rig_free(w);
}
END_TEST

START_TEST(test_strangers_are_dropped)
{
    struct control_rig *w = control_rig_new();
    control_rig_running(w);
    for (int t = MSG_WELCOME; t <= MSG_TYPE_MAX; t++)
        if (t != MSG_HALT)
            control_rig_simple(w, &control_rig_conns[2], (enum msg_type)t);
    ck_assert_uint_eq(w->closes, MSG_TYPE_MAX - MSG_WELCOME);
    ck_assert_int_eq(control_state(w->control), AGENT_RUNNING);
    ck_assert_uint_eq(w->halts + w->frees, 0);
    control_gone(w->control, &control_rig_conns[2], w->now_ns);
    ck_assert_int_eq(control_state(w->control), AGENT_RUNNING);
    control_rig_free(w);
}
END_TEST

START_TEST(test_owner_resumes_on_a_new_connection)
{
    struct control_rig *w = control_rig_new();
    control_rig_running(w);
    control_rig_snapshot(w);
    control_rig_hello(w, &control_rig_conns[1], 1);
    ck_assert(control_is_owner(w->control, &control_rig_conns[1]));
    ck_assert_int_eq(control_state(w->control), AGENT_RUNNING);
    control_tick(w->control, w->now_ns);
    ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 2); /* nothing was acknowledged: sent again */
    control_gone(w->control, &control_rig_conns[0], w->now_ns);
    ck_assert_int_eq(control_state(w->control), AGENT_RUNNING);
    control_rig_free(w);
}
END_TEST

/* After SIGSTOP what has arrived meanwhile may be read before any timer. */
START_TEST(test_a_lease_that_was_slept_through_is_over)
{
    for (int way = 0; way < 2; way++) {
        struct control_rig *w = control_rig_new();
        control_rig_running(w);
        w->now_ns += 30 * NS_PER_SEC;
        if (way == 0)
            control_rig_simple(w, &control_rig_conns[0], MSG_PING);
        else
            control_rig_hello(w, &control_rig_conns[1], 1);
        ck_assert_uint_eq(w->halts, 1);
        ck_assert_uint_eq(w->sent[MSG_PONG], 0);
        ck_assert_uint_eq(w->closes, 1);
        ck_assert_int_eq(control_state(w->control), AGENT_DRAINING);
        ck_assert(way == 0 || control_is_owner(w->control, &control_rig_conns[1]));
        control_rig_end(w);
        if (way == 0)
            control_rig_hello(w, &control_rig_conns[1], 1);
        control_tick(w->control, w->now_ns);
        ck_assert_int_eq(w->last.type, MSG_FINAL);
        ck_assert_uint_eq(w->last.final.reason, END_LEASE);
        control_rig_free(w);
    }
}
END_TEST

static void halt(struct control_rig *w, void *conn, const char *run)
{
    struct msg m = {.type = MSG_HALT};
    snprintf(m.halt.run, sizeof m.halt.run, "%s", run);
    snprintf(m.halt.controller, sizeof m.halt.controller, "ann@host2:7");
    snprintf(m.halt.reason, sizeof m.halt.reason, "the server burns");
    control_rig_hear(w, conn, &m);
}

/* Anybody who may connect may end a load; its results go to its owner all the same. */
START_TEST(test_halt_ends_the_run_whoever_holds_it)
{
    static const char *const prefixes[] = {"", "00", "00000000000000000000000000000000"};
    for (int way = 0; way < 3; way++) {
        struct control_rig *w = control_rig_new();
        control_rig_running(w);
        halt(w, &control_rig_conns[way == 0 ? 0 : 2], prefixes[way]);
        ck_assert_int_eq(w->last.type, MSG_INFO);
        ck_assert_int_eq(w->last.info.state, AGENT_DRAINING);
        ck_assert_str_eq(w->last.info.problem, "");
        ck_assert_str_eq(w->last.info.holder, "perf@host1:1");
        ck_assert_uint_eq(w->halts, 1);
        ck_assert_uint_eq(w->closes, 0);
        control_rig_end(w);
        ck_assert_int_eq(w->last.type, MSG_FINAL);
        ck_assert_uint_eq(w->last.final.reason, END_STOPPED);
        ck_assert_str_eq(w->last.final.text, "halted by ann@host2:7: the server burns");
        ck_assert(control_is_owner(w->control, &control_rig_conns[0]));
        control_rig_free(w);
    }
}
END_TEST

START_TEST(test_halt_of_what_does_not_run_changes_nothing)
{
    struct control_rig *w = control_rig_new();
    halt(w, &control_rig_conns[2], "");
    ck_assert_int_eq(w->last.type, MSG_INFO);
    ck_assert_str_ne(w->last.info.problem, "");
    ck_assert_int_eq(w->last.info.state, AGENT_IDLE);
    control_rig_running(w);
    halt(w, &control_rig_conns[2], "07");
    ck_assert_str_eq(w->last.info.problem, "another run is under way");
    ck_assert_int_eq(control_state(w->control), AGENT_RUNNING);
    ck_assert_uint_eq(w->halts, 0);
    control_gone(w->control, &control_rig_conns[0], w->now_ns);
    w->now_ns = control_deadline(w->control);
    control_tick(w->control, w->now_ns);
    control_rig_end(w);
    halt(w, &control_rig_conns[2], ""); /* what is kept stays kept */
    ck_assert_uint_eq(w->last.info.orphan, 1);
    ck_assert_int_eq(control_state(w->control), AGENT_ENDED);
    ck_assert_uint_eq(w->frees, 0);
    control_rig_hello(w, &control_rig_conns[1], 1);
    control_tick(w->control, w->now_ns);
    ck_assert_uint_eq(w->last.final.reason, END_LEASE);
    ck_assert_str_eq(w->last.final.text, "its controller fell silent");
    control_rig_free(w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("control_owner");
    TCase *t = tcase_create("control_owner");
    tcase_add_test(t, test_busy_names_the_holder);
    tcase_add_test(t, test_an_owner_refused_is_no_owner);
    tcase_add_test(t, test_lost_owner_ends_the_load);
    tcase_add_test(t, test_a_cut_shorter_than_the_lease_loses_nothing);
    tcase_add_test(t, test_results_are_kept_and_given_up_by_force_only);
    tcase_add_test(t, test_results_are_kept_ten_minutes);
    tcase_add_test(t, test_what_never_started_is_not_kept);
    tcase_add_test(t, test_the_load_has_its_own_lease);
    tcase_add_test(t, test_strangers_are_dropped);
    tcase_add_test(t, test_owner_resumes_on_a_new_connection);
    tcase_add_test(t, test_a_lease_that_was_slept_through_is_over);
    tcase_add_test(t, test_halt_ends_the_run_whoever_holds_it);
    tcase_add_test(t, test_halt_of_what_does_not_run_changes_nothing);
    suite_add_tcase(s, t);
    return check_main(s);
}
