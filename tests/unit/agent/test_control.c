/* SPDX-License-Identifier: MIT */
#include "agent/service/control.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/control_rig.h"

START_TEST(test_whole_run)
{
    struct control_rig *w = control_rig_new();
    control_rig_running(w);
    control_rig_snapshot(w);
    ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 1);
    control_rig_snapshot(w);
    control_rig_end(w);
    ck_assert_int_eq(control_state(w->control), AGENT_ENDED);
    ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 2);
    ck_assert_uint_eq(w->sent[MSG_FINAL], 1);
    ck_assert_uint_eq(w->last.final.last_seq, 2);
    ck_assert_uint_eq(w->last.final.reason, END_FINISHED);
    control_rig_simple(w, &control_rig_conns[0], MSG_BYE);
    ck_assert_int_eq(control_state(w->control), AGENT_IDLE);
    ck_assert_uint_eq(w->frees, 1);
    control_rig_hello(w, &control_rig_conns[1], 2); /* free for the next one */
    ck_assert_uint_eq(w->sent[MSG_WELCOME], 2);
    control_rig_free(w);
}
END_TEST

START_TEST(test_version_mismatch_prints_both)
{
    struct control_rig *w = control_rig_new();
    struct msg m = {.type = MSG_HELLO};
    m.hello.version_min = m.hello.version_max = 99;
    snprintf(m.hello.build, sizeof m.hello.build, "9.9.9");
    control_rig_hear(w, &control_rig_conns[0], &m);
    ck_assert_uint_eq(w->last.refuse.code, REFUSE_VERSION);
    ck_assert_ptr_nonnull(strstr(w->last.refuse.text, "9.9.9"));
    ck_assert_ptr_nonnull(strstr(w->last.refuse.text, HAMMER_VERSION));
    ck_assert_int_eq(control_state(w->control), AGENT_IDLE);
    control_rig_free(w);
}
END_TEST

START_TEST(test_commands_are_idempotent)
{
    struct control_rig *w = control_rig_new();
    control_rig_prepared(w);
    control_rig_prepare(w, &control_rig_conns[0], 5);
    ck_assert_uint_eq(w->prepares, 1);
    ck_assert_uint_eq(w->sent[MSG_PREPARED], 2);
    uint64_t at = w->now_ns + NS_PER_SEC;
    control_rig_arm(w, 6, at);
    control_rig_arm(w, 6, at);
    ck_assert_uint_eq(w->arms, 1);
    ck_assert_uint_eq(w->sent[MSG_ARMED], 2);
    struct run_info info = {.started_ns = at};
    control_rig_tell(w, RUN_STARTED, &info);
    control_rig_arm(w, 6, at);
    ck_assert_uint_eq(w->arms, 1);
    ck_assert_uint_eq(w->sent[MSG_STARTED], 2);
    control_rig_simple(w, &control_rig_conns[0], MSG_STOP);
    control_rig_simple(w, &control_rig_conns[0], MSG_STOP);
    control_rig_end(w);
    ck_assert_uint_eq(w->last.final.reason, END_STOPPED);
    control_rig_simple(w, &control_rig_conns[0], MSG_STOP);
    ck_assert_uint_eq(w->sent[MSG_FINAL], 2);
    control_rig_free(w);
}
END_TEST

START_TEST(test_command_zero_is_not_taken_for_done)
{
    struct control_rig *w = control_rig_new();
    control_rig_hello(w, &control_rig_conns[0], 1);
    control_rig_prepare(w, &control_rig_conns[0], 0);
    ck_assert_int_eq(w->last.type, MSG_ERROR);
    ck_assert_uint_eq(w->sent[MSG_PREPARED] + w->prepares, 0);
    ck_assert_int_eq(control_state(w->control), AGENT_HELD);
    control_rig_free(w);
}
END_TEST

START_TEST(test_late_arm_is_refused_not_late)
{
    struct control_rig *w = control_rig_new();
    control_rig_prepared(w);
    control_rig_arm(w, 6, w->now_ns - 1);
    ck_assert_int_eq(w->last.type, MSG_ERROR);
    ck_assert_uint_eq(w->last.error.code, REFUSE_LATE);
    ck_assert_uint_eq(w->arms, 0);
    control_rig_free(w);
}
END_TEST

START_TEST(test_refused_plan_says_why_twice)
{
    struct control_rig *w = control_rig_new();
    w->prepare_answer = ERR_REFUSED;
    control_rig_hello(w, &control_rig_conns[0], 1);
    control_rig_prepare(w, &control_rig_conns[0], 5);
    control_rig_prepare(w, &control_rig_conns[0], 5);
    ck_assert_uint_eq(w->sent[MSG_ERROR], 2);
    ck_assert_uint_eq(w->prepares, 1);
    ck_assert_str_eq(w->last.error.text, "cannot do it");
    w->prepare_answer = ERR_OK;
    control_rig_prepare(w, &control_rig_conns[0], 6); /* another try is another command */
    ck_assert_int_eq(control_state(w->control), AGENT_PREPARING);
    control_rig_free(w);
}
END_TEST

START_TEST(test_broken_plan_is_refused)
{
    struct control_rig *w = control_rig_new();
    control_rig_hello(w, &control_rig_conns[0], 1);
    struct msg m = {.type = MSG_PREPARE};
    m.prepare.command = 1;
    m.prepare.plan = (struct wire_blob){(const uint8_t *)"junk", 4};
    control_rig_hear(w, &control_rig_conns[0], &m);
    ck_assert_int_eq(w->last.type, MSG_ERROR);
    ck_assert_int_eq(control_state(w->control), AGENT_HELD);
    ck_assert_uint_eq(w->prepares, 0);
    control_rig_free(w);
}
END_TEST

START_TEST(test_blocked_link_keeps_snapshots)
{
    struct control_rig *w = control_rig_new();
    control_rig_running(w);
    w->blocked = true;
    control_rig_snapshot(w);
    control_rig_snapshot(w);
    ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 0);
    ck_assert_uint_le(control_deadline(w->control), w->now_ns + NS_PER_SEC);
    w->blocked = false;
    control_tick(w->control, w->now_ns);
    ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 2);
    struct msg m = {.type = MSG_ACK, .ack = {.ack_seq = 1, .resend = 1}};
    control_rig_hear(w, &control_rig_conns[0], &m);
    ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 3);
    ck_assert_uint_eq(w->last.snapshot.seq, 2);
    control_rig_free(w);
}
END_TEST

START_TEST(test_a_ping_acknowledges)
{
    struct control_rig *w = control_rig_new();
    control_rig_running(w);
    for (int i = 0; i < 601; i++) /* one more than the outbox keeps: it waits */
        control_rig_snapshot(w);
    ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 600);
    struct msg m = {.type = MSG_PING, .ping = {.ack_seq = 600}};
    control_rig_hear(w, &control_rig_conns[0], &m);
    ck_assert_uint_eq(w->sent[MSG_PONG], 1);
    ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 601);
    control_rig_free(w);
}
END_TEST

START_TEST(test_stop_before_the_run_is_answered)
{
    struct control_rig *w = control_rig_new();
    control_rig_hello(w, &control_rig_conns[0], 1);
    control_rig_simple(w, &control_rig_conns[0], MSG_STOP);
    ck_assert_int_eq(w->last.type, MSG_FINAL);
    ck_assert_uint_eq(w->last.final.last_seq, 0);
    control_rig_free(w);
}
END_TEST

START_TEST(test_shutdown_halts_and_delivers)
{
    struct control_rig *w = control_rig_new();
    control_rig_running(w);
    ck_assert(!control_shutdown(w->control, w->now_ns));
    ck_assert_uint_eq(w->halts, 1);
    control_rig_hello(w, &control_rig_conns[0],
                      1); /* the owner may ask again, a new controller comes too late */
    ck_assert_int_eq(w->last.type, MSG_WELCOME);
    control_rig_hello(w, &control_rig_conns[1], 2);
    ck_assert_int_eq(w->last.type, MSG_REFUSE);
    control_rig_end(w);
    ck_assert(control_shutdown(w->control, w->now_ns));
    ck_assert_uint_eq(w->sent[MSG_FINAL], 1);
    ck_assert_uint_eq(w->last.final.reason, END_ERROR); /* not the run was stopped: this agent */
    control_rig_free(w);
}
END_TEST

static void reshare(struct control_rig *w, uint64_t command)
{
    struct msg m = {.type = MSG_RESHARE};
    m.reshare = (struct msg_reshare){
        .command = command, .from_index = 500, .total = 4, .first = 1, .weight = 3};
    control_rig_hear(w, &control_rig_conns[0], &m);
}

START_TEST(test_a_new_share_is_taken_once_and_confirmed_as_often_as_asked)
{
    struct control_rig *w = control_rig_new();
    control_rig_running(w);
    reshare(w, 9);
    reshare(w, 9);
    ck_assert_uint_eq(w->reshares, 1);
    ck_assert_uint_eq(w->reshare_from, 500);
    ck_assert_uint_eq(w->reshare.total * 100 + w->reshare.first * 10 + w->reshare.weight, 413);
    ck_assert_uint_eq(w->sent[MSG_RESHARED], 0); /* the workers have not said so yet */
    reshare(w, 10);
    ck_assert_uint_eq(w->last.reshared.command, 10);
    ck_assert_str_ne(w->last.reshared.problem, "");
    struct run_info info = {0};
    control_rig_tell(w, RUN_RESHARED, &info);
    reshare(w, 9);
    ck_assert_uint_eq(w->reshares, 1);
    ck_assert_uint_eq(w->sent[MSG_RESHARED], 3);
    ck_assert_uint_eq(w->last.reshared.command, 9);
    ck_assert_str_eq(w->last.reshared.problem, "");
    reshare(w, 11);
    snprintf(info.problem, sizeof info.problem, "too late");
    control_rig_tell(w, RUN_RESHARED, &info);
    reshare(w, 11);
    ck_assert_uint_eq(w->reshares, 2);
    ck_assert_str_eq(w->last.reshared.problem, "too late");
    control_rig_free(w);
}
END_TEST

START_TEST(test_a_new_share_that_cannot_be_says_why)
{
    struct control_rig *w = control_rig_new();
    control_rig_prepared(w);
    reshare(w, 9);
    ck_assert_int_eq(w->last.type, MSG_RESHARED);
    ck_assert_str_ne(w->last.reshared.problem, "");
    ck_assert_uint_eq(w->reshares, 0);
    control_rig_arm(w, 6, w->now_ns + NS_PER_SEC);
    w->reshare_answer = ERR_REFUSED;
    reshare(w, 10);
    reshare(w, 10);
    ck_assert_uint_eq(w->reshares, 1);
    ck_assert_uint_eq(w->sent[MSG_RESHARED], 3);
    ck_assert_str_eq(w->last.reshared.problem, "cannot take it over");
    w->reshare_answer = ERR_OK;
    reshare(w, 0);
    ck_assert_uint_eq(w->reshares, 1);
    ck_assert_str_ne(w->last.reshared.problem, "");
    control_rig_free(w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("control");
    TCase *t = tcase_create("control");
    tcase_add_test(t, test_whole_run);
    tcase_add_test(t, test_version_mismatch_prints_both);
    tcase_add_test(t, test_commands_are_idempotent);
    tcase_add_test(t, test_command_zero_is_not_taken_for_done);
    tcase_add_test(t, test_late_arm_is_refused_not_late);
    tcase_add_test(t, test_refused_plan_says_why_twice);
    tcase_add_test(t, test_broken_plan_is_refused);
    tcase_add_test(t, test_blocked_link_keeps_snapshots);
    tcase_add_test(t, test_a_ping_acknowledges);
    tcase_add_test(t, test_stop_before_the_run_is_answered);
    tcase_add_test(t, test_shutdown_halts_and_delivers);
    tcase_add_test(t, test_a_new_share_is_taken_once_and_confirmed_as_often_as_asked);
    tcase_add_test(t, test_a_new_share_that_cannot_be_says_why);
    suite_add_tcase(s, t);
    return check_main(s);
}
