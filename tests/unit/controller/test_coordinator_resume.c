/* SPDX-License-Identifier: MIT */
/* A run that another hammer-ctl began: what its agents may answer, one by one. */
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/run/coordinator.h"
#include "tests/lib/check_main.h"

#define AGENTS 2
#define T0     (100 * NS_PER_SEC)
#define RUN    "01000000000000000000000000000000"

struct rig {
    struct coordinator *c;
    struct inventory inventory;
    struct plan plan;
    struct coord_resume_agent agents[AGENTS];
    struct coord_patience patience;
    uint64_t now_ns;
    unsigned dials[AGENTS], snapshots[AGENTS], finals[AGENTS], byes[AGENTS], closes[AGENTS];
    uint64_t hello_seq[AGENTS]; /* ack_seq of the last HELLO */
    bool forced, prepared, finished;
    unsigned stops[AGENTS], reshares[AGENTS];
    struct msg_reshare reshare;
    bool pinged[AGENTS], silent;
    enum agent_state says[AGENTS]; /* in PONG */
};

static struct rig rig;

static void on_send(struct rig *r, size_t i, const struct msg *m)
{
    if (m->type == MSG_HELLO) {
        r->hello_seq[i] = m->hello.ack_seq;
        r->forced = r->forced || m->hello.force != 0;
        ck_assert_uint_eq(m->hello.owner[0], 7);
    }
    r->prepared = r->prepared || m->type == MSG_PREPARE;
    r->stops[i] += m->type == MSG_STOP;
    r->reshares[i] += m->type == MSG_RESHARE;
    if (m->type == MSG_RESHARE)
        r->reshare = m->reshare;
    r->byes[i] += m->type == MSG_BYE;
    r->pinged[i] = r->pinged[i] || m->type == MSG_PING;
}

static void on_action(void *arg, const struct coord_action *a)
{
    struct rig *r = arg;
    if (a->kind == COORD_DIAL)
        r->dials[a->agent]++;
    else if (a->kind == COORD_SEND)
        on_send(r, a->agent, a->msg);
    else if (a->kind == COORD_SNAPSHOT)
        r->snapshots[a->agent]++;
    else if (a->kind == COORD_FINAL)
        r->finals[a->agent]++;
    else if (a->kind == COORD_CLOSE)
        r->closes[a->agent]++;
    else if (a->kind == COORD_FINISHED)
        r->finished = true;
}

static void set_up(void)
{
    rig = (struct rig){.now_ns = T0 + 3 * NS_PER_SEC};
    plan_defaults(&rig.plan);
    rig.plan.url = mem_strdup("http://127.0.0.1:8080/");
    rig.plan.method = mem_strdup("GET");
    rig.plan.rate = (struct rate){100, 1};
    rig.plan.duration_ns = 10 * NS_PER_SEC;
    rig.plan.timeout_ns = 2 * NS_PER_SEC;
    inventory_add(&rig.inventory, "a:1", "tcp://a:1", 1);
    inventory_add(&rig.inventory, "b:1", "tcp://b:1", 1);
    for (uint32_t i = 0; i < AGENTS; i++) {
        rig.agents[i] = (struct coord_resume_agent){
            .armed = true, .last_seq = 2, .at_ns = T0, .same_clock = true};
        rig.agents[i].epoch[0] = (uint8_t)(i + 1);
        rig.agents[i].part = (struct plan_part){AGENTS, i, 1, 1, 1, 0};
    }
    rig.patience = (struct coord_patience){
        .lease_ns = 3 * NS_PER_SEC, .on_loss = COORD_LOSS_CONTINUE, .force = true, .min_agents = 1};
}

static void tear_down(void)
{
    coordinator_free(rig.c);
    inventory_clear(&rig.inventory);
    plan_clear(&rig.plan);
}

static void step(struct coord_event ev)
{
    ev.now_ns = ev.rx_ns = rig.now_ns;
    coordinator_step(rig.c, &ev);
}

static void begin(void)
{
    struct errmsg msg = {{0}};
    struct coord_resume resume = {.t0_ns = T0, .first_command = 1000, .agents = rig.agents};
    struct coord_config cfg = {.inventory = &rig.inventory,
                               .plan = &rig.plan,
                               .owner = {7},
                               .run = {1},
                               .controller = "u@h:2",
                               .boot_id = "boot",
                               .patience = rig.patience,
                               .resume = &resume,
                               .interrupt_drain_ns = 500 * NS_PER_MS,
                               .emit = on_action,
                               .arg = &rig};
    enum err e = coordinator_new(&cfg, &rig.c, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
    step((struct coord_event){.kind = COORD_EV_BEGIN});
}

static void message(size_t i, const struct msg *m)
{
    step((struct coord_event){.kind = COORD_EV_MESSAGE, .agent = i, .msg = m});
}

static struct msg welcome_of(size_t i, enum agent_state state)
{
    struct msg m = {.type = MSG_WELCOME};
    m.welcome.version = MSG_VERSION_MAX;
    snprintf(m.welcome.agent, sizeof m.welcome.agent, "agent%zu", i);
    m.welcome.epoch[0] = (uint8_t)(i + 1);
    m.welcome.state = state;
    m.welcome.at_ns = T0;
    m.welcome.started_ns = state == AGENT_ARMED ? 0 : T0 + 5;
    if (state >= AGENT_ARMED)
        snprintf(m.welcome.run, sizeof m.welcome.run, "%s", RUN);
    return m;
}

static void greet(size_t i, const struct msg *welcome)
{
    rig.says[i] = (enum agent_state)welcome->welcome.state;
    step((struct coord_event){.kind = COORD_EV_UP, .agent = i});
    message(i, welcome);
}

static void greet_in(size_t i, enum agent_state state)
{
    struct msg m = welcome_of(i, state);
    greet(i, &m);
}

static void snapshot(size_t i, uint64_t seq)
{
    struct msg m = {.type = MSG_SNAPSHOT, .snapshot = {.seq = seq}};
    message(i, &m);
}

static void final(size_t i, uint64_t last_seq, enum end_reason reason)
{
    struct msg m = {.type = MSG_FINAL};
    m.final.last_seq = last_seq;
    m.final.reason = reason;
    m.final.started_ns = T0 + 5;
    m.final.ended_ns = T0 + NS_PER_SEC;
    message(i, &m);
}

static void pong(size_t i)
{
    struct msg m = {.type = MSG_PONG};
    m.pong.state = rig.says[i];
    m.pong.started_ns = T0 + 5;
    rig.pinged[i] = false;
    message(i, &m);
}

/* Deadline after deadline, as long as nothing else happens; pings are answered unless `silent`. */
static void wait_until(uint64_t until_ns)
{
    while (!rig.finished && coordinator_deadline(rig.c) <= until_ns) {
        uint64_t next = coordinator_deadline(rig.c);
        rig.now_ns = next > rig.now_ns ? next : rig.now_ns + 1;
        step((struct coord_event){.kind = COORD_EV_TICK});
        for (size_t i = 0; i < AGENTS && !rig.silent; i++)
            if (rig.pinged[i])
                pong(i);
    }
    rig.now_ns = until_ns > rig.now_ns ? until_ns : rig.now_ns;
}

static enum coord_agent_state state_of(size_t i)
{
    return coordinator_agent(rig.c, i)->state;
}

static void check_outcome(enum coord_outcome want)
{
    ck_assert(rig.finished);
    ck_assert_int_eq(coordinator_outcome(rig.c), want);
    ck_assert(!rig.prepared && !rig.forced);
}

START_TEST(test_goes_on)
{
    begin();
    for (size_t i = 0; i < AGENTS; i++) {
        greet_in(i, i == 0 ? AGENT_RUNNING : AGENT_DRAINING);
        ck_assert_uint_eq(rig.hello_seq[i], 2);
        ck_assert_int_eq(state_of(i), COORD_RUNNING);
        snapshot(i, 2); /* is in the journal */
        snapshot(i, 3);
        snapshot(i, 3);
        final(i, 3, END_FINISHED);
        ck_assert_uint_eq(rig.snapshots[i], 1);
        ck_assert_uint_eq(rig.finals[i], 1);
        ck_assert_uint_eq(rig.byes[i], 1);
    }
    check_outcome(COORD_COMPLETE);
    ck_assert_uint_eq(coordinator_t0(rig.c), T0);
    ck_assert_str_eq(coordinator_agent(rig.c, 1)->name, "agent1");
}
END_TEST

/* Killed between ARM and the start. */
START_TEST(test_armed)
{
    begin();
    greet_in(0, AGENT_ARMED);
    ck_assert_int_eq(state_of(0), COORD_ARMED);
    struct msg m = {.type = MSG_STARTED, .started = {T0, T0 + 5}};
    message(0, &m);
    ck_assert_int_eq(state_of(0), COORD_RUNNING);
    greet_in(1, AGENT_ARMED);
    snapshot(0, 3);
    final(0, 3, END_FINISHED);
    final(1, 2, END_FINISHED);
    check_outcome(COORD_COMPLETE);
}
END_TEST

/* Whoever has no such run is let go and nothing is started anew there. */
START_TEST(test_lost_memory)
{
    static const char *const why[] = {"restarted", "no longer has", "never armed"};
    struct msg m = welcome_of(0, AGENT_RUNNING);
    begin();
    if (_i == 0)
        m.welcome.epoch[0] = 99;
    else if (_i == 1)
        m = welcome_of(0, AGENT_HELD);
    else
        m.welcome.state = AGENT_PREPARED;
    greet(0, &m);
    const struct coord_agent_info *info = coordinator_agent(rig.c, 0);
    ck_assert_int_eq(info->state, COORD_LOST);
    ck_assert_msg(strstr(info->problem, why[_i]) != NULL, "%s", info->problem);
    ck_assert(!info->uncollected);
    ck_assert_uint_eq(rig.byes[0], 1);
    greet_in(1, AGENT_RUNNING);
    final(1, 2, END_FINISHED);
    check_outcome(COORD_PARTIAL);
}
END_TEST

/* It stopped by itself and kept everything: nothing is missing, but the run is not what was
 * planned. */
START_TEST(test_orphans)
{
    begin();
    for (size_t i = 0; i < AGENTS; i++) {
        greet_in(i, AGENT_ENDED);
        ck_assert_int_eq(state_of(i), COORD_STOPPING);
        snapshot(i, 3);
        final(i, 3, END_LEASE);
        ck_assert_int_eq(state_of(i), COORD_DONE);
    }
    check_outcome(COORD_PARTIAL);
    ck_assert_uint_eq(coordinator_agent(rig.c, 0)->end_reason, END_LEASE);
    ck_assert_uint_eq(coordinator_agent(rig.c, 0)->lost_at_ns, T0 + NS_PER_SEC);
}
END_TEST

/* Its FINAL was lost on the way: STOP makes it say it again. */
START_TEST(test_orphan_asked_again)
{
    begin();
    greet_in(0, AGENT_ENDED);
    wait_until(rig.now_ns + 2 * NS_PER_SEC);
    ck_assert_uint_ge(rig.stops[0], 2);
    final(0, 2, END_LEASE);
    ck_assert_int_eq(state_of(0), COORD_DONE);
}
END_TEST

START_TEST(test_over_before)
{
    rig.agents[0].over = true;
    rig.agents[0].end_reason = _i == 0 ? END_FINISHED : END_LEASE;
    rig.agents[0].started_ns = T0;
    begin();
    ck_assert_uint_eq(rig.dials[0], 0);
    ck_assert_int_eq(state_of(0), COORD_DONE);
    greet_in(1, AGENT_RUNNING);
    final(1, 2, END_FINISHED);
    check_outcome(_i == 0 ? COORD_COMPLETE : COORD_PARTIAL);
    ck_assert_uint_eq(rig.finals[0], 0);
}
END_TEST

START_TEST(test_all_over)
{
    for (size_t i = 0; i < AGENTS; i++) {
        rig.agents[i].over = true;
        rig.agents[i].end_reason = END_FINISHED;
    }
    begin();
    check_outcome(COORD_COMPLETE);
    ck_assert_uint_eq(rig.dials[0] + rig.dials[1], 0);
}
END_TEST

/* --min-agents: one was not there when the run began. */
START_TEST(test_never_there)
{
    rig.agents[1].armed = false;
    snprintf(rig.agents[1].problem, sizeof rig.agents[1].problem, "not there");
    begin();
    greet_in(0, AGENT_RUNNING);
    final(0, 2, END_FINISHED);
    check_outcome(COORD_COMPLETE);
    ck_assert_int_eq(state_of(1), COORD_REFUSED);
    ck_assert_str_eq(coordinator_agent(rig.c, 1)->problem, "not there");
}
END_TEST

/* The report is made without it, and another attempt may find it. */
START_TEST(test_unreachable)
{
    begin();
    greet_in(0, AGENT_ENDED);
    final(0, 2, END_FINISHED);
    uint64_t began_ns = rig.now_ns;
    wait_until(rig.now_ns + 60 * NS_PER_SEC);
    check_outcome(COORD_PARTIAL);
    ck_assert_int_eq(state_of(1), COORD_LOST);
    ck_assert(coordinator_agent(rig.c, 1)->uncollected);
    ck_assert(!coordinator_agent(rig.c, 0)->uncollected);
    ck_assert_uint_gt(rig.dials[1], 2);
    ck_assert_uint_ge(rig.now_ns, began_ns + 10 * NS_PER_SEC);
}
END_TEST

START_TEST(test_taken_by_another)
{
    struct msg m = {.type = MSG_REFUSE, .refuse = {.code = REFUSE_BUSY}};
    begin();
    greet(0, &m);
    ck_assert_int_eq(state_of(0), COORD_LOST);
    ck_assert(!coordinator_agent(rig.c, 0)->uncollected);
    greet_in(1, AGENT_RUNNING);
    final(1, 2, END_FINISHED);
    check_outcome(COORD_PARTIAL);
}
END_TEST

/* One is lost and the run aborted while the other is still being dialled: it is stopped as soon as
 * it is there. */
START_TEST(test_stopped_when_back)
{
    struct msg m = welcome_of(0, AGENT_RUNNING);
    rig.patience.on_loss = COORD_LOSS_ABORT;
    m.welcome.epoch[0] = 99;
    begin();
    greet(0, &m);
    ck_assert(!rig.finished);
    greet_in(1, AGENT_RUNNING);
    ck_assert_int_eq(state_of(1), COORD_STOPPING);
    ck_assert_uint_eq(rig.stops[1], 1);
    final(1, 2, END_STOPPED);
    check_outcome(COORD_PARTIAL);
}
END_TEST

/* Ctrl-C while nobody answers: not waited for any longer than after a start. */
START_TEST(test_interrupted)
{
    begin();
    step((struct coord_event){.kind = COORD_EV_INTERRUPT});
    ck_assert(!rig.finished);
    wait_until(rig.now_ns + NS_PER_SEC);
    check_outcome(COORD_INTERRUPTED);
}
END_TEST

/* Long after its planned end: what an agent still has gets its time all the same. */
START_TEST(test_much_later)
{
    rig.now_ns = T0 + 500 * NS_PER_SEC;
    begin();
    greet_in(0, AGENT_DRAINING);
    wait_until(rig.now_ns + 2 * NS_PER_SEC);
    ck_assert_int_eq(state_of(0), COORD_RUNNING);
    final(0, 2, END_LEASE);
    greet_in(1, AGENT_ENDED);
    final(1, 2, END_LEASE);
    check_outcome(COORD_PARTIAL);
}
END_TEST

/* After it is back an agent is late and lost as in any run. */
START_TEST(test_lost_again)
{
    begin();
    greet_in(0, AGENT_RUNNING);
    greet_in(1, AGENT_RUNNING);
    final(1, 2, END_FINISHED);
    rig.silent = true;
    wait_until(rig.now_ns + 60 * NS_PER_SEC);
    check_outcome(COORD_PARTIAL);
    ck_assert_int_eq(state_of(0), COORD_LOST);
    ck_assert(coordinator_agent(rig.c, 0)->uncollected);
}
END_TEST

/* A lost one is asked for its results as long as it may have them, and no longer: intervals wait
 * for it meanwhile, which costs memory. Each HELLO may have arrived. */
START_TEST(test_results_do_not_keep)
{
    const uint64_t minute_ns = 60 * NS_PER_SEC;
    const struct coord_agent_info *info;
    rig.plan.duration_ns = 3600 * NS_PER_SEC;
    begin();
    info = coordinator_agent(rig.c, 1);
    greet_in(0, AGENT_RUNNING);
    greet_in(1, AGENT_RUNNING);
    step((struct coord_event){.kind = COORD_EV_DOWN, .agent = 1, .reason = "reset"});
    wait_until(rig.now_ns + minute_ns);
    ck_assert_int_eq(info->state, COORD_LOST);
    wait_until(rig.now_ns + 8 * minute_ns);
    step((struct coord_event){.kind = COORD_EV_UP, .agent = 1});
    wait_until(rig.now_ns + NS_PER_SEC);
    step((struct coord_event){.kind = COORD_EV_DOWN, .agent = 1, .reason = "reset"});
    wait_until(rig.now_ns + 10 * minute_ns);
    ck_assert(info->uncollected && rig.closes[1] == 0);
    wait_until(rig.now_ns + 2 * minute_ns);
    unsigned dials = rig.dials[1];
    ck_assert(!info->uncollected);
    ck_assert_uint_eq(rig.closes[1], 1);
    wait_until(rig.now_ns + 5 * minute_ns);
    ck_assert_uint_eq(rig.dials[1], dials);
    ck_assert_int_eq(state_of(0), COORD_RUNNING);
    final(0, 2, END_FINISHED);
    check_outcome(COORD_PARTIAL);
}
END_TEST

/* What the journal has lost and the agent was told it may forget. */
START_TEST(test_a_hole)
{
    begin();
    greet_in(0, AGENT_ENDED);
    for (int k = 0; k < 20 && state_of(0) != COORD_LOST; k++) {
        snapshot(0, 5);
        final(0, 5, END_LEASE);
        wait_until(rig.now_ns + NS_PER_SEC);
    }
    const char *problem = coordinator_agent(rig.c, 0)->problem;
    ck_assert_int_eq(state_of(0), COORD_LOST);
    ck_assert_msg(strstr(problem, "interval 3 did not come") != NULL, "%s", problem);
    ck_assert_ptr_nonnull(strstr(problem, "the journal does not have it either"));
}
END_TEST

/* --- lost before ---------------------------------------------------------------------------- */

static void lost_before(void)
{
    rig.agents[1].lost_after_ns = 2 * NS_PER_SEC + 1;
    snprintf(rig.agents[1].problem, sizeof rig.agents[1].problem, "gone");
}

/* Since when and why it is lost is known; what it kept is asked for once its load has ended. */
START_TEST(test_lost_before)
{
    lost_before();
    begin();
    const struct coord_agent_info *info = coordinator_agent(rig.c, 1);
    ck_assert_int_eq(info->state, COORD_LOST);
    ck_assert_uint_eq(info->lost_at_ns, T0 + 2 * NS_PER_SEC);
    ck_assert_str_eq(info->problem, "gone");
    greet_in(0, AGENT_RUNNING);
    ck_assert_uint_eq(rig.dials[1], 0);
    wait_until(T0 + 7 * NS_PER_SEC);
    ck_assert_uint_gt(rig.dials[1], 0);
    greet_in(1, AGENT_ENDED);
    final(1, 2, END_LEASE);
    ck_assert(info->collected && !info->uncollected);
    final(0, 2, END_FINISHED);
    check_outcome(COORD_PARTIAL);
}
END_TEST

/* It was lost and stopped and its results were had: nobody has stopped the run. */
START_TEST(test_collected_before)
{
    lost_before();
    rig.agents[1].over = true;
    rig.agents[1].end_reason = END_STOPPED;
    begin();
    greet_in(0, AGENT_RUNNING);
    ck_assert_int_eq(state_of(0), COORD_RUNNING);
    wait_until(rig.now_ns + 2 * NS_PER_SEC);
    ck_assert_uint_eq(rig.dials[1] + rig.stops[0], 0);
    ck_assert(coordinator_agent(rig.c, 1)->collected);
    ck_assert(!coordinator_agent(rig.c, 1)->uncollected);
    final(0, 2, END_FINISHED);
    check_outcome(COORD_PARTIAL);
}
END_TEST

/* Told by the one before or not: it is told again, by the same command, and not shared out anew. */
START_TEST(test_taken_over_before)
{
    rig.patience.on_loss = COORD_LOSS_REDISTRIBUTE;
    lost_before();
    rig.agents[1].taken_over_from = 700;
    rig.agents[0].reshare_command = 42;
    rig.agents[0].reshare = (struct plan_part){.total = 1, .first = 0, .weight = 1};
    begin();
    greet_in(0, AGENT_RUNNING);
    wait_until(rig.now_ns + 600 * NS_PER_MS);
    ck_assert_uint_ge(rig.reshares[0], 2);
    ck_assert_uint_eq(rig.reshare.command, 42);
    ck_assert_uint_eq(rig.reshare.from_index, 700);
    ck_assert_uint_eq(rig.reshare.total * 100 + rig.reshare.first * 10 + rig.reshare.weight, 101);
    struct msg m = {.type = MSG_RESHARED, .reshared = {.command = 42}};
    message(0, &m);
    unsigned told = rig.reshares[0];
    wait_until(rig.now_ns + NS_PER_SEC);
    ck_assert_uint_eq(rig.reshares[0], told);
    ck_assert_uint_eq(coordinator_agent(rig.c, 1)->taken_over_from, 700);
    struct coord_resume_agent again[AGENTS] = {0};
    coordinator_record(rig.c, again);
    ck_assert(again[0].lost_after_ns == 0 && again[0].reshare_command == 0);
    ck_assert_uint_eq(again[1].lost_after_ns, rig.agents[1].lost_after_ns);
    ck_assert_uint_eq(again[1].taken_over_from, 700);
    ck_assert_str_eq(again[1].problem, "gone");
    final(0, 2, END_FINISHED);
    wait_until(rig.now_ns + 20 * NS_PER_SEC);
    check_outcome(COORD_PARTIAL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("coordinator_resume");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, test_goes_on);
    tcase_add_test(t, test_armed);
    tcase_add_loop_test(t, test_lost_memory, 0, 3);
    tcase_add_test(t, test_orphans);
    tcase_add_test(t, test_orphan_asked_again);
    tcase_add_loop_test(t, test_over_before, 0, 2);
    tcase_add_test(t, test_all_over);
    tcase_add_test(t, test_never_there);
    tcase_add_test(t, test_unreachable);
    tcase_add_test(t, test_taken_by_another);
    tcase_add_test(t, test_stopped_when_back);
    tcase_add_test(t, test_interrupted);
    tcase_add_test(t, test_much_later);
    tcase_add_test(t, test_lost_again);
    tcase_add_test(t, test_results_do_not_keep);
    tcase_add_test(t, test_a_hole);
    tcase_add_test(t, test_lost_before);
    tcase_add_test(t, test_collected_before);
    tcase_add_test(t, test_taken_over_before);
    return check_main(s);
}
