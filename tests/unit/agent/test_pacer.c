/* SPDX-License-Identifier: MIT */
#include "agent/engine/pacer.h"

#include <inttypes.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"

#define T0     (77 * NS_PER_SEC)
#define ROUNDS 100

static struct pacer make_quantum(struct rate rate, struct share share, uint64_t duration_ns,
                                 uint64_t requests, uint64_t quantum_ns)
{
    struct schedule s;
    struct errmsg msg = {{0}};
    ck_assert_int_eq(schedule_init(&s, &rate, &share, duration_ns, requests, &msg), ERR_OK);
    struct pacer p;
    pacer_init(&p, &s, quantum_ns);
    return p;
}

static struct pacer make(struct rate rate, struct share share, uint64_t duration_ns,
                         uint64_t requests)
{
    return make_quantum(rate, share, duration_ns, requests, 0);
}

static struct pacer at_rate(uint64_t num, uint64_t den)
{
    struct pacer p =
        make((struct rate){num, den}, (struct share){1, 0, 1, 1, 0}, NS_NEVER, UINT64_MAX);
    pacer_start(&p, T0);
    return p;
}

static unsigned send_all(struct pacer *p, unsigned *waiting)
{
    unsigned n = 0;
    for (; pacer_backlog(p) > 0; n++) {
        *waiting += pacer_oldest(p).waiting;
        pacer_sent(p);
    }
    return n;
}

START_TEST(test_nothing_before_start)
{
    struct pacer p =
        make((struct rate){1000, 1}, (struct share){1, 0, 1, 1, 0}, NS_NEVER, UINT64_MAX);
    ck_assert_uint_eq(pacer_advance(&p, UINT64_MAX - 1, 5), 0);
    ck_assert_uint_eq(pacer_wake(&p, 5), NS_NEVER);
    pacer_start(&p, T0);
    ck_assert_uint_eq(pacer_advance(&p, T0 - 1, 5), 0);
    ck_assert_uint_eq(pacer_wake(&p, 5), T0);
    ck_assert_uint_eq(pacer_advance(&p, T0, 5), 1);
    ck_assert_uint_eq(pacer_oldest(&p).due_ns, T0);
}
END_TEST

START_TEST(test_time_never_goes_back)
{
    struct pacer p = at_rate(1000, 1);
    ck_assert_uint_eq(pacer_advance(&p, T0 + 10 * NS_PER_MS, 1), 11);
    ck_assert_uint_eq(pacer_advance(&p, T0 + 5 * NS_PER_MS, 1), 0);
    ck_assert_uint_eq(pacer_backlog(&p), 11);
}
END_TEST

/* The first slots get the idle connections, the others wait: at 10k/s three idle, 5 due. */
START_TEST(test_idle_connections_go_to_the_first)
{
    struct pacer p = at_rate(10000, 1);
    unsigned waiting = 0;
    ck_assert_uint_eq(pacer_advance(&p, T0 + 400 * NS_PER_US, 3), 5);
    ck_assert_uint_eq(send_all(&p, &waiting), 5);
    ck_assert_uint_eq(waiting, 2);
    waiting = 0;
    ck_assert_uint_eq(pacer_advance(&p, T0 + NS_PER_MS, 0), 6);
    send_all(&p, &waiting);
    ck_assert_uint_eq(waiting, 6);
}
END_TEST

/* Asleep for 10 ms with one idle connection: what is more than 1 ms overdue is our own fault. */
START_TEST(test_overlooked_slots_are_prompt)
{
    struct pacer p = at_rate(10000, 1);
    unsigned waiting = 0;
    ck_assert_uint_eq(pacer_advance(&p, T0 + 10 * NS_PER_MS, 1), 101);
    /* Due up to 8.9 ms are over 1 ms late: 0 .. 89. */
    ck_assert_uint_eq(send_all(&p, &waiting), 101);
    ck_assert_uint_eq(waiting, 11);
}
END_TEST

START_TEST(test_behind_a_waiting_slot_everything_waits)
{
    struct pacer p = at_rate(10000, 1);
    unsigned waiting = 0;
    pacer_advance(&p, T0, 0);
    pacer_advance(&p, T0 + 100 * NS_PER_US, 5);
    ck_assert_uint_eq(send_all(&p, &waiting), 2);
    ck_assert_uint_eq(waiting, 2);
}
END_TEST

/* Five million a second overlooked for an hour: one step, whatever the number. */
START_TEST(test_backlog_of_billions_is_one_step)
{
    struct pacer p = at_rate(5000000, 1);
    for (uint64_t h = 1; h <= 1000; h++) {
        uint64_t at = T0 + h * 3600 * NS_PER_SEC;
        uint64_t n = pacer_advance(&p, at, 0);
        ck_assert_uint_eq(n, UINT64_C(18000000000) + (h == 1));
        ck_assert_uint_eq(pacer_oldest(&p).tag, h - 1);
        pacer_sent(&p);
    }
    ck_assert_uint_eq(pacer_backlog(&p), UINT64_C(18000000000) * 1000 + 1 - 1000);
    ck_assert_uint_eq(pacer_close(&p).n, UINT64_C(18000000000) * 1000 + 1 - 1000);
    ck_assert_uint_eq(pacer_backlog(&p), 0);
    ck_assert_uint_eq(pacer_advance(&p, UINT64_MAX - 1, 9), 0);
}
END_TEST

START_TEST(test_wake)
{
    struct pacer p = at_rate(1000, 1);
    ck_assert_uint_eq(pacer_wake(&p, 0), NS_NEVER);
    pacer_advance(&p, T0, 1);
    ck_assert_uint_le(pacer_wake(&p, 1), T0);
    pacer_sent(&p);
    ck_assert_uint_eq(pacer_wake(&p, 1), T0 + NS_PER_MS);
}
END_TEST

START_TEST(test_end_of_the_period)
{
    struct share all = {1, 0, 1, 1, 0};
    struct pacer p = make((struct rate){1000, 1}, all, 3 * NS_PER_SEC, UINT64_MAX);
    pacer_start(&p, T0);
    ck_assert_uint_eq(pacer_end(&p), T0 + 3 * NS_PER_SEC);
    p = make((struct rate){10, 1}, all, NS_NEVER, 25);
    pacer_start(&p, T0);
    ck_assert_uint_eq(pacer_end(&p), T0 + 2500 * NS_PER_MS);
    p = make((struct rate){10, 1}, all, NS_PER_SEC, 25);
    pacer_start(&p, T0);
    ck_assert_uint_eq(pacer_end(&p), T0 + NS_PER_SEC);
    p = at_rate(1, 1);
    ck_assert_uint_eq(pacer_end(&p), NS_NEVER);
}
END_TEST

/* A step and a ramp instead of one rate, for the whole half second, evenly or at random. */
static void random_stages(uint64_t *rng, struct profile *out)
{
    struct stage stages[2];
    for (int i = 0; i < 2; i++)
        stages[i] = (struct stage){NS_PER_SEC / 4,
                                   {1 + check_below(rng, 5000), 1 + check_below(rng, 10)},
                                   {check_below(rng, 5000), 1 + check_below(rng, 10)}};
    stages[0].to = stages[0].from;
    ck_assert_int_eq(profile_stages(out, stages, 2, NULL), ERR_OK);
    if (check_below(rng, 2) == 0)
        profile_poisson(out, check_random(rng));
    else if (check_below(rng, 2) == 0)
        profile_jitter(out, check_random(rng), 1 + (uint32_t)check_below(rng, 1000000000));
}

static struct pacer random_pacer(uint64_t *rng, uint64_t quantum_ns)
{
    struct rate rate = {1 + check_below(rng, 20000), 1 + check_below(rng, 50)};
    uint32_t weight = 1 + (uint32_t)check_below(rng, 3), rest = (uint32_t)check_below(rng, 4);
    uint32_t threads = 1 + (uint32_t)check_below(rng, 3);
    struct share share = {weight + rest, (uint32_t)check_below(rng, rest + 1), weight, threads,
                          (uint32_t)check_below(rng, threads)};
    struct pacer p = make_quantum(rate, share, NS_PER_SEC / 2, UINT64_MAX, quantum_ns);
    if (check_below(rng, 2) == 0) {
        struct profile profile;
        struct schedule s;
        random_stages(rng, &profile);
        ck_assert_int_eq(
            schedule_init_profile(&s, &profile, &share, NS_PER_SEC / 2, UINT64_MAX, NULL), ERR_OK);
        pacer_init(&p, &s, quantum_ns);
    }
    pacer_start(&p, T0);
    return p;
}

/* Random looks at the clock and random sends: every slot once, in order, at its own time, and
 * never a slot that is not due. */
START_TEST(test_every_slot_once_in_order)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < ROUNDS; round++) {
        struct pacer p = random_pacer(&rng, 0);
        uint64_t now = T0, due = 0, sent = 0, last_due = 0;
        while (!pacer_exhausted(&p)) {
            uint64_t idle = check_below(&rng, 4);
            due += pacer_advance(&p, now, idle);
            CHECK_MUST(due == schedule_due_until(&p.schedule, now - T0));
            CHECK_MUST(pacer_backlog(&p) == due - sent);
            for (uint64_t k = check_below(&rng, 300); k > 0 && pacer_backlog(&p) > 0; k--) {
                struct pacer_slot s = pacer_oldest(&p);
                CHECK_MUST(s.tag == schedule_index(&p.schedule, sent));
                CHECK_MUST(s.due_ns == T0 + schedule_due(&p.schedule, sent));
                CHECK_MUST(s.due_ns <= now);
                CHECK_MUST(s.due_ns >= last_due);
                last_due = s.due_ns;
                pacer_sent(&p);
                sent++;
            }
            uint64_t wake = pacer_wake(&p, 1);
            now += check_below(&rng, 20 * NS_PER_MS);
            if (wake != NS_NEVER && wake > now && check_below(&rng, 2) == 0)
                now = wake;
        }
        CHECK_MUST(sent == p.schedule.count);
    }
}
END_TEST

/* --- with a quantum --- */

static uint64_t random_quantum(uint64_t *rng)
{
    return 50 * NS_PER_US + check_below(rng, 950 * NS_PER_US + 1);
}

/* Who looks whenever asked to: every slot leaves once, in order and at its own due time, from the
 * next multiple of the quantum on; a look in between finds nothing. */
/* The shard takes over the other half of the schedule while it runs. */
START_TEST(test_reshare_in_the_middle)
{
    struct share half = {2, 1, 1, 1, 0}, all = {1, 0, 1, 1, 0};
    struct errmsg msg = {{0}};
    struct pacer p = make((struct rate){1000, 1}, half, NS_NEVER, 30);
    unsigned waiting = 0;
    pacer_start(&p, T0);
    ck_assert_uint_eq(pacer_advance(&p, T0 + 9 * NS_PER_MS, 100), 5);
    ck_assert_int_eq(pacer_reshare(&p, 9, &all, T0 + 9 * NS_PER_MS, &msg), ERR_STATE);
    ck_assert_int_eq(pacer_reshare(&p, 20, &all, T0 + 9 * NS_PER_MS, &msg), ERR_OK);
    ck_assert_uint_eq(send_all(&p, &waiting), 5);
    ck_assert_uint_eq(pacer_advance(&p, T0 + 19 * NS_PER_MS, 100), 5);
    ck_assert_uint_eq(send_all(&p, &waiting), 5);
    ck_assert_uint_eq(pacer_wake(&p, 1), T0 + 20 * NS_PER_MS);
    ck_assert_uint_eq(pacer_advance(&p, T0 + NS_PER_SEC, 100), 10);
    for (uint64_t i = 20; i < 30; i++) {
        ck_assert_uint_eq(pacer_oldest(&p).tag, i);
        ck_assert_uint_eq(pacer_oldest(&p).due_ns, T0 + i * NS_PER_MS);
        pacer_sent(&p);
    }
    ck_assert(pacer_exhausted(&p));
}
END_TEST

START_TEST(test_a_quantum_delays_only_the_wake_up)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t quantum = random_quantum(&rng), sent = 0, wake;
        struct pacer p = random_pacer(&rng, quantum);
        while ((wake = pacer_wake(&p, 9)) != NS_NEVER) {
            uint64_t due_ns = T0 + schedule_due(&p.schedule, sent);
            CHECK_MUST((wake - T0) % quantum == 0);
            CHECK_MUST(wake >= due_ns && wake - due_ns < quantum);
            if (wake > due_ns)
                CHECK_MUST(pacer_advance(&p, wake - 1, 9) == 0);
            CHECK_MUST(pacer_advance(&p, wake, UINT64_MAX) ==
                       schedule_due_until(&p.schedule, wake - T0) - sent);
            while (pacer_backlog(&p) > 0) {
                struct pacer_slot s = pacer_oldest(&p);
                CHECK_MUST(s.tag == schedule_index(&p.schedule, sent));
                CHECK_MUST(s.due_ns == T0 + schedule_due(&p.schedule, sent));
                CHECK_MUST(s.due_ns <= wake && wake - s.due_ns < quantum);
                CHECK_MUST(!s.waiting);
                pacer_sent(&p);
                sent++;
            }
        }
        CHECK_MUST(pacer_exhausted(&p) && sent == p.schedule.count);
    }
}
END_TEST

/* 10 000/s: without a quantum 10001 wake-ups in a second, with one of 1 ms 1001. */
START_TEST(test_a_quantum_saves_wake_ups)
{
    struct pacer p = make_quantum((struct rate){10000, 1}, (struct share){1, 0, 1, 1, 0},
                                  NS_PER_SEC + 1, UINT64_MAX, NS_PER_MS);
    uint64_t wake, wakes = 0, waiting = 0, sent = 0;
    pacer_start(&p, T0);
    for (; (wake = pacer_wake(&p, 20)) != NS_NEVER; wakes++) {
        pacer_advance(&p, wake, 20);
        for (; pacer_backlog(&p) > 0; sent++) {
            waiting += pacer_oldest(&p).waiting;
            pacer_sent(&p);
        }
    }
    ck_assert_uint_eq(wakes, 1001);
    ck_assert_uint_eq(sent, 10001);
    ck_assert_uint_eq(waiting, 0);
}
END_TEST

/* One idle connection, ten slots in the quantum: nine wait for the server, not for us. Only what is
 * overdue by more than the quantum and 1 ms was overlooked. */
START_TEST(test_the_quantum_is_not_overlooking)
{
    struct pacer p = make_quantum((struct rate){10000, 1}, (struct share){1, 0, 1, 1, 0}, NS_NEVER,
                                  UINT64_MAX, NS_PER_MS);
    unsigned waiting = 0;
    pacer_start(&p, T0);
    pacer_advance(&p, T0, 1);
    send_all(&p, &waiting);
    ck_assert_uint_eq(pacer_advance(&p, T0 + 2 * NS_PER_MS, 1), 20);
    ck_assert_uint_eq(send_all(&p, &waiting), 20);
    ck_assert_uint_eq(waiting, 19);
    waiting = 0;
    /* Due at 2.1 .. 12 ms, looked for at 12 ms: up to 9.9 ms they are over 2 ms late. */
    ck_assert_uint_eq(pacer_advance(&p, T0 + 12 * NS_PER_MS, 1), 100);
    send_all(&p, &waiting);
    ck_assert_uint_eq(waiting, 21);
}
END_TEST

/* A stop between two multiples: what was due until then counts. */
START_TEST(test_exact_forgets_the_quantum)
{
    struct pacer p = make_quantum((struct rate){10000, 1}, (struct share){1, 0, 1, 1, 0}, NS_NEVER,
                                  UINT64_MAX, NS_PER_MS);
    pacer_exact(&p); /* not started: nothing to look for */
    ck_assert_uint_eq(pacer_wake(&p, 1), NS_NEVER);
    p.quantum_ns = NS_PER_MS;
    pacer_start(&p, T0);
    ck_assert_uint_eq(pacer_advance(&p, T0, 1), 1);
    ck_assert_uint_eq(pacer_advance(&p, T0 + 550 * NS_PER_US, 1), 0);
    pacer_exact(&p);
    ck_assert_uint_eq(pacer_advance(&p, T0 + 550 * NS_PER_US, 1), 5);
    ck_assert_uint_eq(pacer_close(&p).n, 6);
    pacer_exact(&p);
    ck_assert_uint_eq(pacer_wake(&p, 1), NS_NEVER);
}
END_TEST

/* One connection for three slots: one is kept. Another becomes idle before that one is sent: what
 * becomes due then is not dropped, but waits for its turn behind the one in front. */
START_TEST(test_drop_keeps_what_has_a_connection)
{
    struct pacer p = at_rate(1000, 1);
    p.drop = true;
    ck_assert_uint_eq(pacer_advance(&p, T0, 1), 1); /* at t0 itself */
    ck_assert_uint_eq(pacer_shed(&p).n, 0);
    pacer_sent(&p);
    ck_assert_uint_eq(pacer_advance(&p, T0 + 2 * NS_PER_MS, 1), 2);
    struct pacer_range shed = pacer_shed(&p);
    ck_assert(shed.from == 2 && shed.n == 1);
    ck_assert_uint_eq(pacer_shed(&p).n, 0); /* once */
    ck_assert_uint_eq(pacer_backlog(&p), 1);
    ck_assert_uint_eq(pacer_advance(&p, T0 + 3 * NS_PER_MS, 1), 1); /* none for this one */
    shed = pacer_shed(&p);
    ck_assert(shed.from == 3 && shed.n == 1);
    ck_assert_uint_eq(pacer_advance(&p, T0 + 4 * NS_PER_MS, 2), 0);
    ck_assert_uint_eq(pacer_shed(&p).n, 0);
    ck_assert_uint_eq(pacer_oldest(&p).tag, 1);
    pacer_sent(&p);
    ck_assert_uint_eq(pacer_backlog(&p), 0);
    ck_assert_uint_eq(pacer_advance(&p, T0 + 4 * NS_PER_MS, 1), 1);
    ck_assert_uint_eq(pacer_shed(&p).n, 0);
    ck_assert_uint_eq(pacer_oldest(&p).tag, 4);
    ck_assert(!pacer_oldest(&p).waiting);
    pacer_sent(&p);
    ck_assert_uint_eq(pacer_advance(&p, T0 + 9 * NS_PER_MS, 0), 5);
    shed = pacer_shed(&p);
    ck_assert(shed.from == 5 && shed.n == 5);
    ck_assert_uint_eq(pacer_close(&p).n, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pacer");
    TCase *tc = tcase_create("pacer");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test_nothing_before_start);
    tcase_add_test(tc, test_time_never_goes_back);
    tcase_add_test(tc, test_idle_connections_go_to_the_first);
    tcase_add_test(tc, test_overlooked_slots_are_prompt);
    tcase_add_test(tc, test_behind_a_waiting_slot_everything_waits);
    tcase_add_test(tc, test_backlog_of_billions_is_one_step);
    tcase_add_test(tc, test_wake);
    tcase_add_test(tc, test_end_of_the_period);
    tcase_add_test(tc, test_every_slot_once_in_order);
    tcase_add_test(tc, test_reshare_in_the_middle);
    tcase_add_test(tc, test_a_quantum_delays_only_the_wake_up);
    tcase_add_test(tc, test_a_quantum_saves_wake_ups);
    tcase_add_test(tc, test_the_quantum_is_not_overlooking);
    tcase_add_test(tc, test_exact_forgets_the_quantum);
    tcase_add_test(tc, test_drop_keeps_what_has_a_connection);
    suite_add_tcase(s, tc);
    return check_main(s);
}
