/* SPDX-License-Identifier: MIT */
#include "agent/engine/spin.h"

#include "common/clock.h"
#include "tests/lib/check_main.h"

#define US NS_PER_US

/* A worker in virtual time: requests due every `gap`, a timer that is late as `late` says. */
struct model {
    struct spin spin;
    uint64_t rng, now_ns, due_ns, gap_ns;
    uint64_t late_min, late_spread;
    uint64_t tail_ns; /* one wake-up in 50 is later by this */
    uint64_t begun_ns, polls, worst_unseen;
};

static void model_init(struct model *m, uint64_t setting_ns, uint64_t gap_ns)
{
    *m = (struct model){.rng = check_seed(), .now_ns = 1000 * NS_PER_SEC, .gap_ns = gap_ns};
    m->begun_ns = m->now_ns;
    m->due_ns = m->now_ns + gap_ns;
    m->late_min = 5 * US;
    m->late_spread = 5 * US;
    spin_init(&m->spin, setting_ns, gap_ns, m->now_ns);
}

static uint64_t lateness(struct model *m)
{
    uint64_t late = m->late_min + check_below(&m->rng, m->late_spread + 1);
    return check_below(&m->rng, 50) == 0 ? late + m->tail_ns : late;
}

/* One step; virtual costs: a reading of the clock 100 ns, a look at the sockets 1 us. */
static void step(struct model *m)
{
    uint64_t from = m->now_ns, unseen = from - m->spin.polled_ns;
    struct spin_step s = spin_next(&m->spin, from, m->due_ns, NS_NEVER);
    switch (s.action) {
    case SPIN_SLEEP:
        CHECK_MUST(s.until_ns > from);
        CHECK_MUST(s.until_ns <= m->due_ns);
        m->now_ns = s.until_ns + lateness(m);
        spin_slept(&m->spin, s.until_ns, m->now_ns);
        return;
    case SPIN_POLL:
        m->now_ns += US;
        m->polls++;
        spin_polled(&m->spin, &s, from, m->now_ns);
        break;
    case SPIN_WATCH:
        CHECK_MUST(s.until_ns > from);
        CHECK_MUST(s.until_ns <= m->due_ns);
        m->now_ns = s.until_ns + check_below(&m->rng, 100);
        spin_watched(&m->spin, from, m->now_ns, 100);
        break;
    }
    if (unseen > m->worst_unseen)
        m->worst_unseen = unseen;
}

/* Until the next request can leave; how late it is. */
static uint64_t dispatch(struct model *m)
{
    do
        step(m);
    while (m->now_ns < m->due_ns);
    uint64_t late = m->now_ns - m->due_ns;
    m->due_ns += m->gap_ns;
    m->now_ns += US; /* the send */
    return late;
}

/* Lateness that at least `share` of 100 requests keep. */
static uint64_t run(struct model *m, int n, unsigned share)
{
    static uint64_t late[20000];
    ck_assert_int_le(n, 20000);
    for (int i = 0; i < n; i++)
        late[i] = dispatch(m);
    uint64_t limit = 0;
    for (;; limit += 100) {
        unsigned kept = 0;
        for (int i = 0; i < n; i++)
            kept += late[i] <= limit;
        if (kept * 100 >= share * (unsigned)n)
            return limit;
    }
}

static double spent_share(const struct model *m)
{
    return (double)m->spin.spent_ns / (double)(m->now_ns - m->begun_ns);
}

START_TEST(test_never_sleeps_to_the_due_time_itself)
{
    struct model m;
    model_init(&m, 0, 1000 * US);
    ck_assert_uint_ge(run(&m, 1000, 50), 5 * US);
    ck_assert_uint_eq(m.spin.spent_ns, 0);
    ck_assert_uint_eq(m.polls, 0);
}
END_TEST

START_TEST(test_auto_is_on_time_at_little_cost)
{
    struct model m;
    model_init(&m, SPIN_AUTO, 1000 * US);
    ck_assert_uint_le(run(&m, 5000, 90), 1 * US);
    ck_assert(spent_share(&m) < 0.04);
    ck_assert_uint_gt(m.spin.spent_ns, 0);
}
END_TEST

START_TEST(test_auto_learns_how_late_wake_ups_are)
{
    struct model m;
    model_init(&m, SPIN_AUTO, 10000 * US);
    m.late_min = 120 * US;
    m.late_spread = 20 * US;
    run(&m, 500, 50);
    ck_assert_uint_le(run(&m, 2000, 90), 1 * US);
    m.late_min = 3 * US; /* and forgets */
    m.late_spread = 2 * US;
    run(&m, 2000, 50);
    ck_assert_uint_le(m.spin.want_ns, 10 * US);
    ck_assert_uint_le(run(&m, 2000, 90), 1 * US);
}
END_TEST

/* Whatever the gaps and the wake-ups: never more than the share and one credit. */
START_TEST(test_auto_keeps_within_its_share)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 40; round++) {
        struct model m;
        model_init(&m, SPIN_AUTO, 2 * US + check_below(&rng, 400 * US));
        m.rng = check_random(&rng);
        m.late_min = check_below(&rng, 60 * US);
        m.late_spread = check_below(&rng, 60 * US);
        m.tail_ns = check_below(&rng, 300 * US);
        for (int i = 0; i < 3000; i++) {
            dispatch(&m);
            m.gap_ns = check_below(&rng, 20) == 0 ? 2 * US + check_below(&rng, 400 * US) : m.gap_ns;
            uint64_t may = (m.now_ns - m.begun_ns) / SPIN_SHARE + SPIN_CREDIT_NS;
            /* a spin under way may go over by what is left of it */
            ck_assert_uint_le(m.spin.spent_ns, may + SPIN_AUTO_MAX_NS + SPIN_POLL_MAX_NS);
        }
    }
}
END_TEST

/* At 10 000/s 5 % are 5 us a request: not enough for every wake-up, but it must be used. */
START_TEST(test_a_short_credit_shortens_the_spin)
{
    struct model m;
    model_init(&m, SPIN_AUTO, 100 * US);
    m.late_spread = 30 * US;
    uint64_t with = run(&m, 20000, 50);
    ck_assert(spent_share(&m) > 0.03);
    ck_assert_uint_lt(with, 15 * US); /* the median without a spin is 20 us */
}
END_TEST

START_TEST(test_auto_is_off_where_the_gap_is_shorter_than_the_spin)
{
    struct model m;
    model_init(&m, SPIN_AUTO, 20 * US);
    m.late_min = 25 * US;
    m.late_spread = 10 * US;
    run(&m, 1000, 50);
    ck_assert_uint_eq(m.spin.spent_ns, 0);
}
END_TEST

START_TEST(test_a_jump_of_the_clock_gives_the_core_back)
{
    struct model m;
    model_init(&m, SPIN_AUTO, 1000 * US);
    run(&m, 100, 50);
    uint64_t before = m.spin.spent_ns;
    spin_watched(&m.spin, m.now_ns, m.now_ns + 3000 * US, 2990 * US);
    ck_assert_uint_eq(m.spin.spent_ns, before + 10 * US); /* what others ran is not our spin */
    m.now_ns += 3000 * US;
    dispatch(&m); /* its length may be settled already */
    before = m.spin.spent_ns;
    uint64_t until = m.now_ns + SPIN_HOLD_NS - 8000 * US;
    while (m.now_ns < until)
        dispatch(&m);
    ck_assert_uint_eq(m.spin.spent_ns, before);
    run(&m, 20, 50);
    ck_assert_uint_gt(m.spin.spent_ns, before);
}
END_TEST

START_TEST(test_a_fixed_length_is_spun_whatever_it_costs)
{
    struct model m;
    model_init(&m, 5000 * US, 1000 * US);
    ck_assert_uint_le(run(&m, 1000, 99), 1 * US);
    ck_assert(spent_share(&m) > 0.9);
}
END_TEST

/* Also with due times so close that there is always one at hand. */
START_TEST(test_sockets_are_served_meanwhile)
{
    uint64_t gaps[] = {500, 3 * US, 11 * US, 40 * US, 1000 * US, 100000 * US};
    for (size_t i = 0; i < sizeof gaps / sizeof gaps[0]; i++) {
        struct model m;
        model_init(&m, NS_PER_SEC, gaps[i]);
        uint64_t from = m.now_ns;
        while (m.now_ns - from < 10000 * US)
            dispatch(&m);
        ck_assert_uint_le(m.worst_unseen, 2 * SPIN_POLL_NS + 4 * US);
        ck_assert_uint_gt(m.polls, (m.now_ns - from) / (2 * SPIN_POLL_NS + 4 * US));
    }
}
END_TEST

START_TEST(test_other_work_ends_a_wait)
{
    struct spin s;
    uint64_t now = NS_PER_SEC;
    spin_init(&s, 50 * US, 1000 * US, now);
    struct spin_step step = spin_next(&s, now, now + 1000 * US, now + 10 * US);
    ck_assert(step.action == SPIN_SLEEP && step.until_ns == now + 10 * US);
    step = spin_next(&s, now, now + 1000 * US, now);
    ck_assert_int_eq(step.action, SPIN_POLL); /* overdue: no waiting, and no charge for it */
    spin_polled(&s, &step, now, now + 4 * US);
    ck_assert_uint_eq(s.spent_ns, 0);
    step = spin_next(&s, now + 960 * US, now + 1000 * US, now + 970 * US);
    ck_assert_int_eq(step.action, SPIN_POLL); /* not looked at for long */
    spin_polled(&s, &step, now + 960 * US, now + 962 * US);
    step = spin_next(&s, now + 962 * US, now + 1000 * US, now + 970 * US);
    ck_assert(step.action == SPIN_WATCH && step.until_ns == now + 970 * US);
    step = spin_next(&s, now, NS_NEVER, NS_NEVER);
    ck_assert(step.action == SPIN_SLEEP && step.until_ns == NS_NEVER);
}
END_TEST

/* An event ended the sleep, not the timer: nothing is learnt from it. */
START_TEST(test_events_are_no_wake_ups)
{
    struct spin s;
    spin_init(&s, SPIN_AUTO, 1000 * US, 0);
    uint64_t want = s.want_ns;
    spin_slept(&s, 100 * US, 99 * US);
    spin_slept(&s, NS_NEVER, 500 * US);
    ck_assert_uint_eq(s.want_ns, want);
    spin_slept(&s, 100 * US, 101 * US);
    ck_assert_uint_lt(s.want_ns, want);
}
END_TEST

START_TEST(test_cores)
{
    ck_assert(spin_has_cores(4, 4, 4, false));
    ck_assert(!spin_has_cores(4, 4, 4, true)); /* the server needs one */
    ck_assert(spin_has_cores(1, 2, 2, true));
    ck_assert(!spin_has_cores(2, 2, 2, true));
    ck_assert(spin_has_cores(1, 1, 2, true)); /* pinned beside the server */
    ck_assert(!spin_has_cores(2, 1, 8, false));
    ck_assert(!spin_has_cores(1, 1, 1, true));
    ck_assert(spin_has_cores(1, 1, 1, false));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("spin");
    TCase *t = tcase_create("spin");
    tcase_add_test(t, test_never_sleeps_to_the_due_time_itself);
    tcase_add_test(t, test_auto_is_on_time_at_little_cost);
    tcase_add_test(t, test_auto_learns_how_late_wake_ups_are);
    tcase_add_test(t, test_auto_keeps_within_its_share);
    tcase_add_test(t, test_a_short_credit_shortens_the_spin);
    tcase_add_test(t, test_auto_is_off_where_the_gap_is_shorter_than_the_spin);
    tcase_add_test(t, test_a_jump_of_the_clock_gives_the_core_back);
    tcase_add_test(t, test_a_fixed_length_is_spun_whatever_it_costs);
    tcase_add_test(t, test_sockets_are_served_meanwhile);
    tcase_add_test(t, test_other_work_ends_a_wait);
    tcase_add_test(t, test_events_are_no_wake_ups);
    tcase_add_test(t, test_cores);
    suite_add_tcase(s, t);
    return check_main(s);
}
