/* SPDX-License-Identifier: MIT */
#include "agent/service/control.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

/* A scripted run: remembers what it was told; the test says when its events happen. */
struct run {
    run_fn fn;
    void *arg;
};

struct world {
    struct control *control;
    struct run *run;
    enum err prepare_answer;
    unsigned prepares, arms, halts, frees;
    uint64_t now_ns, armed_at_ns, drain_ns, leased_until_ns;
    struct msg last; /* last message sent, blobs not valid */
    unsigned sent[MSG_TYPE_MAX + 1];
    unsigned closes;
    bool blocked; /* the link takes nothing */
    struct policy policy;
};

static struct world *the_world; /* run_ops carry no argument of their own */

static enum err fake_prepare(const struct run_env *env, const struct plan *plan,
                             const struct plan_part *part, run_fn fn, void *arg, struct run **out,
                             struct errmsg *msg)
{
    (void)env, (void)plan, (void)part;
    struct world *w = the_world;
    w->prepares++;
    if (w->prepare_answer != ERR_OK)
        return errmsg_set(msg, w->prepare_answer, "cannot do it");
    w->run = mem_calloc(1, sizeof *w->run);
    *w->run = (struct run){fn, arg};
    *out = w->run;
    return ERR_OK;
}

static void fake_arm(struct run *r, uint64_t t0_ns)
{
    (void)r;
    the_world->arms++;
    the_world->armed_at_ns = t0_ns;
}

static void fake_halt(struct run *r, uint64_t drain_ns)
{
    (void)r;
    the_world->halts++;
    the_world->drain_ns = drain_ns;
}

static void fake_lease(struct run *r, uint64_t until_ns)
{
    (void)r;
    the_world->leased_until_ns = until_ns;
}

static void fake_free(struct run *r)
{
    the_world->frees++;
    the_world->run = NULL;
    mem_free(r);
}

static const struct run_ops fake_ops = {.prepare = fake_prepare,
                                        .arm = fake_arm,
                                        .halt = fake_halt,
                                        .lease = fake_lease,
                                        .free = fake_free};

static bool on_send(void *arg, void *conn, const struct msg *m)
{
    (void)conn;
    struct world *w = arg;
    if (w->blocked)
        return false;
    w->last = *m;
    w->sent[m->type]++;
    return true;
}

static void on_close(void *arg, void *conn)
{
    (void)conn;
    ((struct world *)arg)->closes++;
}

static uint64_t on_now(void *arg)
{
    return ((struct world *)arg)->now_ns;
}

static struct world *world_new(void)
{
    struct world *w = the_world = mem_calloc(1, sizeof *w);
    w->now_ns = 1000 * NS_PER_SEC;
    policy_loopback_only(&w->policy);
    struct control_config cfg = {.env = {.policy = &w->policy},
                                 .run = &fake_ops,
                                 .agent = "a1",
                                 .cores = 4,
                                 .lease_ns = 10 * NS_PER_SEC,
                                 .arg = w,
                                 .send = on_send,
                                 .close = on_close,
                                 .now = on_now};
    w->control = control_new(&cfg);
    return w;
}

static void world_free(struct world *w)
{
    control_free(w->control);
    ck_assert_ptr_null(w->run);
    mem_free(w);
}

static int conns[4]; /* addresses serve as connections */

static void hear(struct world *w, void *conn, const struct msg *m)
{
    w->now_ns += NS_PER_US;
    control_message(w->control, conn, m, w->now_ns);
}

static void hello(struct world *w, void *conn, uint8_t id)
{
    struct msg m = {.type = MSG_HELLO};
    m.hello.version_min = MSG_VERSION_MIN;
    m.hello.version_max = MSG_VERSION_MAX;
    m.hello.owner[0] = id;
    snprintf(m.hello.controller, sizeof m.hello.controller, "perf@host%u:1", id);
    hear(w, conn, &m);
}

static void simple(struct world *w, void *conn, enum msg_type type)
{
    struct msg m = {.type = type};
    hear(w, conn, &m);
}

static void prepare(struct world *w, void *conn, uint64_t command)
{
    struct plan plan = {0};
    struct msg m = {.type = MSG_PREPARE};
    uint8_t *blob;
    size_t len;
    plan_defaults(&plan);
    plan.url = mem_strdup("http://127.0.0.1:8080/");
    plan.rate = (struct rate){100, 1};
    plan.rate_set = true;
    plan.duration_ns = NS_PER_SEC;
    plan.duration_set = true;
    ck_assert_int_eq(plan_check(&plan, NULL), ERR_OK);
    ck_assert_int_eq(plan_encode(&plan, &blob, &len), ERR_OK);
    m.prepare.command = command;
    m.prepare.plan = (struct wire_blob){blob, len};
    m.prepare.total = m.prepare.weight = 1;
    m.prepare.connections = 4;
    m.prepare.threads = 2;
    hear(w, conn, &m);
    mem_free(blob);
    plan_clear(&plan);
}

static void tell(struct world *w, enum run_event ev, struct run_info *info)
{
    w->run->fn(w->run->arg, ev, info);
}

static void become_prepared(struct world *w)
{
    hello(w, &conns[0], 1);
    prepare(w, &conns[0], 5);
    ck_assert_int_eq(control_state(w->control), AGENT_PREPARING);
    struct run_info info = {.connections = 4, .threads = 2};
    tell(w, RUN_PREPARED, &info);
    ck_assert_int_eq(control_state(w->control), AGENT_PREPARED);
    ck_assert_uint_eq(w->last.prepared.connections, 4);
}

static void arm(struct world *w, uint64_t command, uint64_t at_ns)
{
    struct msg m = {.type = MSG_ARM, .arm = {.command = command, .at_ns = at_ns}};
    hear(w, &conns[0], &m);
}

static void become_running(struct world *w)
{
    become_prepared(w);
    arm(w, 6, w->now_ns + NS_PER_SEC);
    ck_assert_int_eq(control_state(w->control), AGENT_ARMED);
    struct run_info info = {.started_ns = w->now_ns + NS_PER_SEC + 9000};
    tell(w, RUN_STARTED, &info);
    ck_assert_int_eq(control_state(w->control), AGENT_RUNNING);
    ck_assert_uint_eq(w->last.started.actual_ns, info.started_ns);
}

static void snapshot(struct world *w)
{
    struct run_info info = {.snapshot = snapshot_new()};
    info.snapshot->intervals = 1;
    tell(w, RUN_SNAPSHOT, &info);
}

static void end(struct world *w)
{
    struct run_info info = {.snapshot = snapshot_new(), .ended_ns = w->now_ns};
    info.snapshot->cumulative = true;
    tell(w, RUN_ENDED, &info);
}

START_TEST(test_whole_run)
{
    struct world *w = world_new();
    become_running(w);
    snapshot(w);
    ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 1);
    snapshot(w);
    end(w);
    ck_assert_int_eq(control_state(w->control), AGENT_ENDED);
    ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 2);
    ck_assert_uint_eq(w->sent[MSG_FINAL], 1);
    ck_assert_uint_eq(w->last.final.last_seq, 2);
    ck_assert_uint_eq(w->last.final.reason, END_FINISHED);
    simple(w, &conns[0], MSG_BYE);
    ck_assert_int_eq(control_state(w->control), AGENT_IDLE);
    ck_assert_uint_eq(w->frees, 1);
    hello(w, &conns[1], 2); /* free for the next one */
    ck_assert_uint_eq(w->sent[MSG_WELCOME], 2);
    world_free(w);
}
END_TEST

START_TEST(test_busy_names_the_holder)
{
    struct world *w = world_new();
    hello(w, &conns[0], 1);
    w->now_ns += 2 * NS_PER_SEC;
    hello(w, &conns[1], 2);
    ck_assert_int_eq(w->last.type, MSG_REFUSE);
    ck_assert_uint_eq(w->last.refuse.code, REFUSE_BUSY);
    ck_assert_str_eq(w->last.refuse.holder, "perf@host1:1");
    ck_assert_uint_ge(w->last.refuse.held_ms, 2000);
    ck_assert_uint_le(w->last.refuse.lease_left_ms, 8000);
    ck_assert_uint_eq(w->closes, 1);
    ck_assert(control_is_owner(w->control, &conns[0]));
    world_free(w);
}
END_TEST

START_TEST(test_version_mismatch_prints_both)
{
    struct world *w = world_new();
    struct msg m = {.type = MSG_HELLO};
    m.hello.version_min = m.hello.version_max = 99;
    snprintf(m.hello.build, sizeof m.hello.build, "9.9.9");
    hear(w, &conns[0], &m);
    ck_assert_uint_eq(w->last.refuse.code, REFUSE_VERSION);
    ck_assert_ptr_nonnull(strstr(w->last.refuse.text, "9.9.9"));
    ck_assert_ptr_nonnull(strstr(w->last.refuse.text, HAMMER_VERSION));
    ck_assert_int_eq(control_state(w->control), AGENT_IDLE);
    world_free(w);
}
END_TEST

/* Nothing may be sent on a connection after it was closed: its memory is gone. */
START_TEST(test_an_owner_refused_is_no_owner)
{
    for (int way = 0; way < 2; way++) {
        struct world *w = world_new();
        become_running(w);
        w->blocked = true;
        snapshot(w);
        w->blocked = false;
        struct msg m = {.type = MSG_HELLO};
        m.hello.version_min = m.hello.version_max = way == 0 ? 99 : MSG_VERSION_MAX;
        m.hello.owner[0] = 2;
        hear(w, &conns[0], &m);
        ck_assert_int_eq(w->last.type, MSG_REFUSE);
        ck_assert_uint_eq(w->closes, 1);
        ck_assert_int_eq(control_state(w->control), AGENT_IDLE);
        ck_assert(!control_is_owner(w->control, &conns[0]));
        ck_assert_uint_eq(w->frees, 1);
        control_tick(w->control, w->now_ns);
        ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 0);
        world_free(w);
    }
}
END_TEST

START_TEST(test_commands_are_idempotent)
{
    struct world *w = world_new();
    become_prepared(w);
    prepare(w, &conns[0], 5);
    ck_assert_uint_eq(w->prepares, 1);
    ck_assert_uint_eq(w->sent[MSG_PREPARED], 2);
    uint64_t at = w->now_ns + NS_PER_SEC;
    arm(w, 6, at);
    arm(w, 6, at);
    ck_assert_uint_eq(w->arms, 1);
    ck_assert_uint_eq(w->sent[MSG_ARMED], 2);
    struct run_info info = {.started_ns = at};
    tell(w, RUN_STARTED, &info);
    arm(w, 6, at);
    ck_assert_uint_eq(w->arms, 1);
    ck_assert_uint_eq(w->sent[MSG_STARTED], 2);
    simple(w, &conns[0], MSG_STOP);
    simple(w, &conns[0], MSG_STOP);
    end(w);
    ck_assert_uint_eq(w->last.final.reason, END_STOPPED);
    simple(w, &conns[0], MSG_STOP);
    ck_assert_uint_eq(w->sent[MSG_FINAL], 2);
    world_free(w);
}
END_TEST

START_TEST(test_command_zero_is_not_taken_for_done)
{
    struct world *w = world_new();
    hello(w, &conns[0], 1);
    prepare(w, &conns[0], 0);
    ck_assert_int_eq(w->last.type, MSG_ERROR);
    ck_assert_uint_eq(w->sent[MSG_PREPARED] + w->prepares, 0);
    ck_assert_int_eq(control_state(w->control), AGENT_HELD);
    world_free(w);
}
END_TEST

START_TEST(test_late_arm_is_refused_not_late)
{
    struct world *w = world_new();
    become_prepared(w);
    arm(w, 6, w->now_ns - 1);
    ck_assert_int_eq(w->last.type, MSG_ERROR);
    ck_assert_uint_eq(w->last.error.code, REFUSE_LATE);
    ck_assert_uint_eq(w->arms, 0);
    world_free(w);
}
END_TEST

START_TEST(test_refused_plan_says_why_twice)
{
    struct world *w = world_new();
    w->prepare_answer = ERR_REFUSED;
    hello(w, &conns[0], 1);
    prepare(w, &conns[0], 5);
    prepare(w, &conns[0], 5);
    ck_assert_uint_eq(w->sent[MSG_ERROR], 2);
    ck_assert_uint_eq(w->prepares, 1);
    ck_assert_str_eq(w->last.error.text, "cannot do it");
    w->prepare_answer = ERR_OK;
    prepare(w, &conns[0], 6); /* another try is another command */
    ck_assert_int_eq(control_state(w->control), AGENT_PREPARING);
    world_free(w);
}
END_TEST

START_TEST(test_broken_plan_is_refused)
{
    struct world *w = world_new();
    hello(w, &conns[0], 1);
    struct msg m = {.type = MSG_PREPARE};
    m.prepare.command = 1;
    m.prepare.plan = (struct wire_blob){(const uint8_t *)"junk", 4};
    hear(w, &conns[0], &m);
    ck_assert_int_eq(w->last.type, MSG_ERROR);
    ck_assert_int_eq(control_state(w->control), AGENT_HELD);
    ck_assert_uint_eq(w->prepares, 0);
    world_free(w);
}
END_TEST

/* A load without an owner must not go on, whichever way the owner went; what it did is kept. */
START_TEST(test_lost_owner_ends_the_load)
{
    for (int way = 0; way < 2; way++) {
        struct world *w = world_new();
        become_running(w);
        snapshot(w);
        uint64_t at = control_deadline(w->control);
        ck_assert_uint_le(at, w->now_ns + 10 * NS_PER_SEC);
        if (way == 0)
            control_gone(w->control, &conns[0], w->now_ns);
        snapshot(w);
        control_tick(w->control, at - 1);
        ck_assert_int_eq(control_state(w->control), AGENT_RUNNING);
        ck_assert_uint_eq(w->halts, 0);
        control_tick(w->control, at);
        ck_assert_int_eq(control_state(w->control), AGENT_DRAINING);
        ck_assert_uint_eq(w->halts, 1);
        ck_assert_uint_eq(w->closes, way == 0 ? 0 : 1);
        w->now_ns = at;
        end(w);
        ck_assert_int_eq(control_state(w->control), AGENT_ENDED);
        ck_assert_uint_eq(w->sent[MSG_FINAL], 0);
        ck_assert_uint_eq(w->frees, 0);
        hello(w, &conns[1], 1); /* on another connection, with everything still there */
        ck_assert_int_eq(w->sent[MSG_WELCOME], 2);
        control_tick(w->control, w->now_ns);
        ck_assert_uint_eq(w->sent[MSG_FINAL], 1);
        ck_assert_uint_eq(w->last.final.reason, END_LEASE);
        ck_assert_uint_eq(w->last.final.last_seq, 2);
        simple(w, &conns[1], MSG_BYE);
        ck_assert_int_eq(control_state(w->control), AGENT_IDLE);
        world_free(w);
    }
}
END_TEST

START_TEST(test_a_cut_shorter_than_the_lease_loses_nothing)
{
    struct world *w = world_new();
    become_running(w);
    snapshot(w);
    control_gone(w->control, &conns[0], w->now_ns);
    snapshot(w);
    ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 1);
    w->now_ns += 5 * NS_PER_SEC;
    hello(w, &conns[1], 1);
    ck_assert_int_eq(w->last.type, MSG_WELCOME);
    ck_assert_int_eq(w->last.welcome.state, AGENT_RUNNING);
    ck_assert_uint_eq(w->last.welcome.last_seq, 2);
    ck_assert_uint_ne(w->last.welcome.started_ns, 0);
    ck_assert_uint_eq(strlen(w->last.welcome.run), 32);
    control_tick(w->control, w->now_ns);
    ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 3); /* both again: nothing was acknowledged */
    ck_assert_uint_ge(w->leased_until_ns, w->now_ns + 10 * NS_PER_SEC);
    ck_assert_uint_eq(w->halts + w->frees, 0);
    hello(w, &conns[2], 1); /* half-open connections: the newest one counts */
    ck_assert_uint_eq(w->closes, 1);
    ck_assert(control_is_owner(w->control, &conns[2]));
    world_free(w);
}
END_TEST

static void become_orphan(struct world *w)
{
    become_running(w);
    snapshot(w);
    control_gone(w->control, &conns[0], w->now_ns);
    w->now_ns = control_deadline(w->control);
    control_tick(w->control, w->now_ns);
    end(w);
}

START_TEST(test_results_are_kept_and_given_up_by_force_only)
{
    struct world *w = world_new();
    become_orphan(w);
    w->now_ns += 60 * NS_PER_SEC;
    hello(w, &conns[1], 2);
    ck_assert_int_eq(w->last.type, MSG_REFUSE);
    ck_assert_uint_eq(w->last.refuse.code, REFUSE_BUSY);
    ck_assert_uint_eq(w->last.refuse.orphan, 1);
    ck_assert_uint_eq(w->last.refuse.lease_left_ms, 0);
    ck_assert_uint_eq(strlen(w->last.refuse.run), 32);
    struct msg m = {.type = MSG_HELLO};
    m.hello.version_min = m.hello.version_max = MSG_VERSION_MIN;
    m.hello.owner[0] = 3;
    m.hello.force = 1;
    hear(w, &conns[2], &m);
    ck_assert_int_eq(w->last.type, MSG_WELCOME);
    ck_assert_int_eq(w->last.welcome.state, AGENT_HELD);
    ck_assert_str_eq(w->last.welcome.run, "");
    ck_assert_uint_eq(w->frees, 1);
    m.hello.owner[0] = 4; /* a living lease is never broken */
    hear(w, &conns[3], &m);
    ck_assert_int_eq(w->last.type, MSG_REFUSE);
    ck_assert_uint_eq(w->last.refuse.orphan, 0);
    world_free(w);
}
END_TEST

START_TEST(test_results_are_kept_ten_minutes)
{
    struct world *w = world_new();
    become_orphan(w);
    uint64_t at = control_deadline(w->control);
    ck_assert_uint_eq(at, w->now_ns + 600 * NS_PER_SEC);
    control_tick(w->control, at - 1);
    ck_assert_int_eq(control_state(w->control), AGENT_ENDED);
    control_tick(w->control, at);
    ck_assert_int_eq(control_state(w->control), AGENT_IDLE);
    ck_assert_uint_eq(w->frees, 1);
    ck_assert_uint_eq(control_deadline(w->control), NS_NEVER);
    world_free(w);
}
END_TEST

/* Before anything was sent there is nothing to keep. */
START_TEST(test_what_never_started_is_not_kept)
{
    struct world *w = world_new();
    become_prepared(w);
    control_gone(w->control, &conns[0], w->now_ns);
    ck_assert_int_eq(control_state(w->control), AGENT_PREPARED);
    control_tick(w->control, control_deadline(w->control));
    ck_assert_int_eq(control_state(w->control), AGENT_IDLE);
    hello(w, &conns[1], 2);
    control_gone(w->control, &conns[1], w->now_ns);
    ck_assert_int_eq(control_state(w->control), AGENT_IDLE);
    world_free(w);
}
END_TEST

/* The workers hold a lease of their own, a little longer than the agent's: each frame of the owner
 * renews it, and when it ran out all the same the run did not just finish. */
START_TEST(test_the_load_has_its_own_lease)
{
    struct world *w = world_new();
    become_prepared(w);
    ck_assert_uint_gt(w->leased_until_ns, control_deadline(w->control));
    arm(w, 6, w->now_ns + NS_PER_SEC);
    uint64_t before = w->leased_until_ns;
    w->now_ns += NS_PER_SEC;
    simple(w, &conns[0], MSG_PING);
    ck_assert_uint_gt(w->leased_until_ns, before);
    simple(w, &conns[2], MSG_PING); /* not the owner */
    ck_assert_uint_le(w->leased_until_ns, w->now_ns + 11 * NS_PER_SEC);
    struct run_info info = {.snapshot = snapshot_new(), .lease_lost = true};
    info.snapshot->cumulative = true;
    tell(w, RUN_ENDED, &info);
    ck_assert_int_eq(w->last.type, MSG_FINAL);
    ck_assert_uint_eq(w->last.final.reason, END_LEASE);
    ck_assert_str_ne(w->last.final.text, "");
    world_free(w);
}
END_TEST

START_TEST(test_strangers_are_dropped)
{
    struct world *w = world_new();
    become_running(w);
    for (int t = MSG_WELCOME; t <= MSG_TYPE_MAX; t++)
        simple(w, &conns[2], (enum msg_type)t);
    ck_assert_uint_eq(w->closes, MSG_TYPE_MAX - MSG_WELCOME + 1);
    ck_assert_int_eq(control_state(w->control), AGENT_RUNNING);
    ck_assert_uint_eq(w->halts + w->frees, 0);
    control_gone(w->control, &conns[2], w->now_ns);
    ck_assert_int_eq(control_state(w->control), AGENT_RUNNING);
    world_free(w);
}
END_TEST

START_TEST(test_blocked_link_keeps_snapshots)
{
    struct world *w = world_new();
    become_running(w);
    w->blocked = true;
    snapshot(w);
    snapshot(w);
    ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 0);
    ck_assert_uint_le(control_deadline(w->control), w->now_ns + NS_PER_SEC);
    w->blocked = false;
    control_tick(w->control, w->now_ns);
    ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 2);
    struct msg m = {.type = MSG_ACK, .ack = {.ack_seq = 1, .resend = 1}};
    hear(w, &conns[0], &m);
    ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 3);
    ck_assert_uint_eq(w->last.snapshot.seq, 2);
    world_free(w);
}
END_TEST

START_TEST(test_a_ping_acknowledges)
{
    struct world *w = world_new();
    become_running(w);
    for (int i = 0; i < 601; i++) /* one more than the outbox keeps: it waits */
        snapshot(w);
    ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 600);
    struct msg m = {.type = MSG_PING, .ping = {.ack_seq = 600}};
    hear(w, &conns[0], &m);
    ck_assert_uint_eq(w->sent[MSG_PONG], 1);
    ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 601);
    world_free(w);
}
END_TEST

START_TEST(test_stop_before_the_run_is_answered)
{
    struct world *w = world_new();
    hello(w, &conns[0], 1);
    simple(w, &conns[0], MSG_STOP);
    ck_assert_int_eq(w->last.type, MSG_FINAL);
    ck_assert_uint_eq(w->last.final.last_seq, 0);
    world_free(w);
}
END_TEST

START_TEST(test_owner_resumes_on_a_new_connection)
{
    struct world *w = world_new();
    become_running(w);
    snapshot(w);
    hello(w, &conns[1], 1);
    ck_assert(control_is_owner(w->control, &conns[1]));
    ck_assert_int_eq(control_state(w->control), AGENT_RUNNING);
    control_tick(w->control, w->now_ns);
    ck_assert_uint_eq(w->sent[MSG_SNAPSHOT], 2); /* nothing was acknowledged: sent again */
    control_gone(w->control, &conns[0], w->now_ns);
    ck_assert_int_eq(control_state(w->control), AGENT_RUNNING);
    world_free(w);
}
END_TEST

START_TEST(test_shutdown_halts_and_delivers)
{
    struct world *w = world_new();
    become_running(w);
    ck_assert(!control_shutdown(w->control, w->now_ns));
    ck_assert_uint_eq(w->halts, 1);
    hello(w, &conns[0], 1); /* the owner may ask again, a new controller comes too late */
    ck_assert_int_eq(w->last.type, MSG_WELCOME);
    hello(w, &conns[1], 2);
    ck_assert_int_eq(w->last.type, MSG_REFUSE);
    end(w);
    ck_assert(control_shutdown(w->control, w->now_ns));
    ck_assert_uint_eq(w->sent[MSG_FINAL], 1);
    world_free(w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("control");
    TCase *t = tcase_create("control");
    tcase_add_test(t, test_whole_run);
    tcase_add_test(t, test_busy_names_the_holder);
    tcase_add_test(t, test_version_mismatch_prints_both);
    tcase_add_test(t, test_an_owner_refused_is_no_owner);
    tcase_add_test(t, test_commands_are_idempotent);
    tcase_add_test(t, test_command_zero_is_not_taken_for_done);
    tcase_add_test(t, test_late_arm_is_refused_not_late);
    tcase_add_test(t, test_refused_plan_says_why_twice);
    tcase_add_test(t, test_broken_plan_is_refused);
    tcase_add_test(t, test_lost_owner_ends_the_load);
    tcase_add_test(t, test_a_cut_shorter_than_the_lease_loses_nothing);
    tcase_add_test(t, test_results_are_kept_and_given_up_by_force_only);
    tcase_add_test(t, test_results_are_kept_ten_minutes);
    tcase_add_test(t, test_what_never_started_is_not_kept);
    tcase_add_test(t, test_the_load_has_its_own_lease);
    tcase_add_test(t, test_strangers_are_dropped);
    tcase_add_test(t, test_blocked_link_keeps_snapshots);
    tcase_add_test(t, test_a_ping_acknowledges);
    tcase_add_test(t, test_stop_before_the_run_is_answered);
    tcase_add_test(t, test_owner_resumes_on_a_new_connection);
    tcase_add_test(t, test_shutdown_halts_and_delivers);
    suite_add_tcase(s, t);
    return check_main(s);
}
