/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/sim_world.h"

/*
 * Faults that the random schedules of test_resilience.c have found to go wrong once, each as the
 * shortest run that shows it: 100 requests a second for 20 s over two or three agents.
 */

static struct sim_world *world(size_t n, enum coord_on_loss on_loss)
{
    struct sim_world *w = mem_calloc(1, sizeof *w);
    sim_world_init(w, check_seed());
    w->n = n;
    w->coord.patience.on_loss = on_loss;
    w->plan.duration_ns = 20 * NS_PER_SEC;
    return w;
}

static void fault(struct sim_world *w, enum sim_fault_kind kind, size_t agent, uint64_t at_ms,
                  uint64_t length_ms)
{
    w->faults[w->n_faults++] = (struct sim_fault){.kind = kind,
                                                  .agent = agent,
                                                  .at_ns = at_ms * NS_PER_MS,
                                                  .from_t0 = true,
                                                  .length_ns = length_ms * NS_PER_MS};
}

static const struct coord_agent_info *play(struct sim_world *w)
{
    sim_world_start(w);
    sim_world_play(w, NS_NEVER);
    ck_assert(w->finished);
    return coordinator_agent(w->coordinator, 0);
}

static void done(struct sim_world *w)
{
    sim_world_clear(w);
    mem_free(w);
}

static void check_whole(const struct sim_world *w)
{
    ck_assert_msg(coordinator_outcome(w->coordinator) == COORD_COMPLETE, "%s",
                  coordinator_reason(w->coordinator));
    ck_assert_uint_eq(w->sent, 2000);
    for (size_t i = 0; i < w->n; i++)
        ck_assert(w->peers[i].final);
}

static void check_each_once(const struct sim_world *w, uint64_t from)
{
    for (uint64_t k = from; k < w->requests; k++)
        if (w->count[k] != 1)
            ck_abort_msg("index %llu was sent %u times", (unsigned long long)k, w->count[k]);
}

/* The planned end of the run comes while an agent is merely late. */
START_TEST(test_who_is_late_at_the_end_is_waited_for)
{
    struct sim_world *w = world(2, COORD_LOSS_ABORT);
    fault(w, SIM_MUTE, 0, 29000 - 8000, 8000); /* the end and all timeouts are 29 s after t0 */
    w->peers[0].cfg.answer_ns = 2 * NS_PER_SEC;
    play(w);
    check_whole(w);
    done(w);
}
END_TEST

/* What is known of an agent's start only after the run should have been over. */
START_TEST(test_who_is_mute_all_along_is_waited_for)
{
    struct sim_world *w = world(2, COORD_LOSS_ABORT);
    w->plan.rate = (struct rate){1000, 1};
    w->plan.duration_ns = 2 * NS_PER_SEC;
    w->plan.timeout_ns = NS_PER_SEC / 2;
    w->coord.patience.lease_ns = 20 * NS_PER_SEC;
    fault(w, SIM_MUTE, 0, 0, 12000);
    play(w);
    check_whole(w);
    done(w);
}
END_TEST

/* SIGSTOP of the controller over the end: what the agents said meanwhile waits in its sockets. */
START_TEST(test_a_controller_that_was_stopped_reads_before_it_judges)
{
    for (int round = 0; round < 8; round++) { /* its timer comes first in half of them */
        struct sim_world *w = world(2, COORD_LOSS_ABORT);
        w->rng += (uint64_t)round;
        fault(w, SIM_STUN, 0, 19000, 15000);
        w->coord.patience.lease_ns = 30 * NS_PER_SEC;
        play(w);
        check_whole(w);
        done(w);
    }
}
END_TEST

/* The old run's figures are not mixed with the answers of an agent that knows nothing of it. */
START_TEST(test_a_restarted_agent_gives_no_results)
{
    for (uint64_t back_ms = 100; back_ms < 1500; back_ms += 37) {
        struct sim_world *w = world(2, COORD_LOSS_ABORT);
        fault(w, SIM_KILL, 1, 4000, 0); /* the first is being stopped when it dies */
        w->peers[0].cfg.answer_ns = 2 * NS_PER_SEC;
        fault(w, SIM_RESTART, 0, 15100, back_ms);
        const struct coord_agent_info *info = play(w);
        ck_assert_int_eq(info->state, COORD_LOST);
        ck_assert(!info->collected && !w->peers[0].final);
        ck_assert_int_eq(coordinator_outcome(w->coordinator), COORD_PARTIAL);
        done(w);
    }
}
END_TEST

/* What we send does not arrive, what it sends does: its lease ends, and we know when. */
START_TEST(test_a_deaf_agent_is_noticed)
{
    struct sim_world *w = world(3, COORD_LOSS_REDISTRIBUTE);
    fault(w, SIM_DEAF, 0, 1000, 60000);
    const struct coord_agent_info *info = play(w);
    ck_assert_int_eq(info->state, COORD_LOST);
    ck_assert_uint_le(info->lost_at_ns - w->faults[0].begun_ns, 13 * NS_PER_SEC);
    ck_assert_uint_ne(info->taken_over_from, UINT64_MAX);
    check_each_once(w, info->taken_over_from);
    done(w);
}
END_TEST

/* One that took its new share, but could not say so, may send until its lease is over. When it is
 * cut off altogether, a STOP does not reach it either. */
START_TEST(test_an_unconfirmed_share_is_not_sent_twice)
{
    for (uint64_t at_ms = 2690; at_ms < 2770; at_ms += 5) { /* the shares change about then */
        struct sim_world *w = world(3, COORD_LOSS_REDISTRIBUTE);
        w->plan.duration_ns = 40 * NS_PER_SEC;
        fault(w, SIM_RESTART, 1, 2000, 500);
        fault(w, at_ms % 2 == 0 ? SIM_MUTE : SIM_PARTITION, 0, at_ms, 60000);
        const struct coord_agent_info *info = play(w);
        ck_assert_int_eq(info->state, COORD_LOST);
        ck_assert_uint_ne(info->taken_over_from, UINT64_MAX);
        check_each_once(w, info->taken_over_from);
        done(w);
    }
}
END_TEST

/* SIGSTOP beyond the lease: what waits for the agent does not bring its load back to life. */
START_TEST(test_a_lease_that_was_slept_through_is_over)
{
    for (int round = 0; round < 8; round++) {
        struct sim_world *w = world(2, COORD_LOSS_REDISTRIBUTE);
        w->rng += (uint64_t)round;
        w->plan.duration_ns = 40 * NS_PER_SEC;
        fault(w, SIM_FREEZE, 0, 3000, 20000);
        const struct coord_agent_info *info = play(w);
        ck_assert_int_eq(info->state, COORD_LOST);
        ck_assert(info->collected && w->peers[0].final);
        check_each_once(w, info->taken_over_from);
        done(w);
    }
}
END_TEST

/* Armed, but not known to be: the run is withdrawn, and the lease ends what begins all the same. */
START_TEST(test_an_armed_agent_out_of_reach_ends_by_its_lease)
{
    struct sim_world *w = world(2, COORD_LOSS_CONTINUE);
    fault(w, SIM_PARTITION, 0, 0, 60000);
    w->faults[0].from_t0 = false;
    uint64_t delay = 100 * NS_PER_MS;
    w->net_config.delay_ns[0] = w->net_config.delay_ns[1] = delay;
    w->faults[0].at_ns = NS_NEVER - SIM_EPOCH - 1; /* not before it is known when */
    sim_world_start(w);
    while (coordinator_t0(w->coordinator) == 0)
        sim_world_play(w, w->now_ns + 10 * NS_PER_MS);
    w->faults[0].at_ns = w->now_ns + 150 * NS_PER_MS - SIM_EPOCH; /* ARM is there, ARMED is not */
    sim_world_play(w, NS_NEVER);
    ck_assert_int_eq(coordinator_outcome(w->coordinator), COORD_COULD_NOT);
    ck_assert_ptr_nonnull(strstr(coordinator_reason(w->coordinator), "its lease ends it"));
    ck_assert_uint_gt(w->sent, 0);
    ck_assert_uint_le(w->sent, 50 * 11); /* half of the load for at most the lease */
    done(w);
}
END_TEST

/* Another machine's HALT stops all of the run, whatever is said of losses. */
START_TEST(test_halt_by_another_stops_everything)
{
    struct sim_world *w = world(3, COORD_LOSS_CONTINUE);
    fault(w, SIM_HALT, 1, 5000, 0);
    play(w);
    ck_assert_int_eq(coordinator_outcome(w->coordinator), COORD_PARTIAL);
    ck_assert_str_eq(coordinator_reason(w->coordinator),
                     "agent 10.0.0.2:7400 ended early: halted by ann@host:2: enough");
    ck_assert_uint_le(w->finished_ns, w->faults[0].begun_ns + NS_PER_SEC);
    for (size_t i = 0; i < 3; i++)
        ck_assert(w->peers[i].final);
    done(w);
}
END_TEST

/* SIGTERM of one agent is the loss of that one. */
START_TEST(test_a_terminated_agent_does_not_stop_the_others)
{
    struct sim_world *w = world(3, COORD_LOSS_REDISTRIBUTE);
    fault(w, SIM_TERMINATE, 0, 5000, 0);
    const struct coord_agent_info *info = play(w);
    ck_assert_int_eq(coordinator_outcome(w->coordinator), COORD_PARTIAL);
    ck_assert(w->peers[0].final);
    ck_assert_uint_le(info->taken_over_from, 800);
    check_each_once(w, info->taken_over_from);
    done(w);
}
END_TEST

int main(void)
{
    log_open("test", LOG_LEVEL_ERROR);
    Suite *s = suite_create("faults");
    TCase *t = tcase_create("faults");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_who_is_late_at_the_end_is_waited_for);
    tcase_add_test(t, test_who_is_mute_all_along_is_waited_for);
    tcase_add_test(t, test_a_controller_that_was_stopped_reads_before_it_judges);
    tcase_add_test(t, test_a_restarted_agent_gives_no_results);
    tcase_add_test(t, test_a_deaf_agent_is_noticed);
    tcase_add_test(t, test_an_unconfirmed_share_is_not_sent_twice);
    tcase_add_test(t, test_a_lease_that_was_slept_through_is_over);
    tcase_add_test(t, test_an_armed_agent_out_of_reach_ends_by_its_lease);
    tcase_add_test(t, test_halt_by_another_stops_everything);
    tcase_add_test(t, test_a_terminated_agent_does_not_stop_the_others);
    suite_add_tcase(s, t);
    return check_main(s);
}
