/* SPDX-License-Identifier: MIT */
/* The source itself: the checks of the timer are reached with a base that has none. */
#include "common/loop.c"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

static enum err (*const kinds[])(struct loop **out, struct errmsg *msg) = {loop_new,
                                                                           loop_new_exact};
#define KINDS 2

static struct loop *open_kind(int kind)
{
    struct loop *l = NULL;
    struct errmsg msg = {{0}};
    ck_assert_msg(kinds[kind](&l, &msg) == ERR_OK, "%s", msg.text);
    return l;
}

static struct loop *open_loop(void)
{
    return open_kind(0);
}

struct shot {
    struct loop *loop;
    struct loop_timer *timer;
    uint64_t due_ns, fired_ns;
    int count;
    int rearm;
};

static void shot_fired(void *arg)
{
    struct shot *s = arg;
    s->fired_ns = clock_mono_ns();
    ck_assert_uint_ge(s->fired_ns, s->due_ns);
    s->count++;
    if (s->rearm-- > 0) {
        s->due_ns = clock_add(s->fired_ns, 50 * NS_PER_US);
        loop_timer_at(s->timer, s->due_ns);
    } else {
        loop_stop(s->loop);
    }
}

static uint64_t late(const struct shot *s)
{
    return s->fired_ns - s->due_ns;
}

/* Never early, whatever the instant; and the best of many is far below libevent's millisecond. */
START_TEST(test_timer_is_never_early_and_is_precise)
{
    uint64_t rng = check_seed(), best = NS_NEVER;
    struct shot s = {.loop = open_kind(_i)};
    s.timer = loop_timer_new(s.loop, shot_fired, &s);
    for (int i = 0; i < 300; i++) {
        s.due_ns = clock_mono_ns() + check_below(&rng, 400 * NS_PER_US);
        loop_timer_at(s.timer, s.due_ns);
        loop_run(s.loop);
        if (late(&s) < best)
            best = late(&s);
    }
    ck_assert_int_eq(s.count, 300);
    ck_assert_uint_lt(best, 500 * NS_PER_US);
    loop_timer_free(s.timer);
    loop_free(s.loop);
}
END_TEST

/* A timer set late in a long turn counts from now, not from the turn's start. */
static void work_then_arm(void *arg)
{
    struct shot *s = arg;
    clock_sleep_until(clock_mono_ns() + 20 * NS_PER_MS);
    s->due_ns = clock_mono_ns() + 5 * NS_PER_MS;
    loop_timer_at(s->timer, s->due_ns);
}

START_TEST(test_timer_set_in_a_long_turn_is_not_early)
{
    struct shot s = {.loop = open_loop()};
    s.timer = loop_timer_new(s.loop, shot_fired, &s);
    struct loop_timer *first = loop_timer_new(s.loop, work_then_arm, &s);
    loop_timer_at(first, 0);
    loop_run(s.loop);
    ck_assert_int_eq(s.count, 1);
    loop_timer_free(first);
    loop_timer_free(s.timer);
    loop_free(s.loop);
}
END_TEST

START_TEST(test_timer_rearms_itself)
{
    struct shot s = {.loop = open_kind(_i), .rearm = 99};
    s.timer = loop_timer_new(s.loop, shot_fired, &s);
    loop_timer_at(s.timer, 0);
    loop_run(s.loop);
    ck_assert_int_eq(s.count, 100);
    loop_timer_free(s.timer);
    loop_free(s.loop);
}
END_TEST

static void free_self(void *arg)
{
    struct shot *s = arg;
    loop_timer_free(s->timer);
    s->timer = NULL;
    loop_stop(s->loop);
}

START_TEST(test_timer_frees_itself_in_its_callback)
{
    struct shot s = {.loop = open_kind(_i)};
    s.timer = loop_timer_new(s.loop, free_self, &s);
    loop_timer_at(s.timer, 0);
    loop_run(s.loop);
    ck_assert_ptr_null(s.timer);
    loop_timer_free(NULL);
    loop_free(s.loop);
    loop_free(NULL);
}
END_TEST

START_TEST(test_timers_fire_in_order_and_disarm)
{
    struct shot a = {.loop = open_loop()}, b = {.loop = a.loop}, never = {.loop = a.loop};
    a.timer = loop_timer_new(a.loop, shot_fired, &a);
    b.timer = loop_timer_new(a.loop, shot_fired, &b);
    never.timer = loop_timer_new(a.loop, shot_fired, &never);
    uint64_t now = clock_mono_ns();
    loop_timer_at(never.timer, now + NS_PER_MS);
    loop_timer_at(b.timer, b.due_ns = now + 3 * NS_PER_MS);
    loop_timer_at(a.timer, a.due_ns = now + 2 * NS_PER_MS);
    loop_timer_at(never.timer, NS_NEVER);
    loop_run(a.loop);
    ck_assert_int_eq(a.count, 1);
    while (b.count == 0)
        loop_turn(a.loop, 1);
    ck_assert_uint_ge(b.fired_ns, a.fired_ns);
    ck_assert_int_eq(never.count, 0);
    loop_timer_free(a.timer);
    loop_timer_free(b.timer);
    loop_timer_free(never.timer);
    loop_free(a.loop);
}
END_TEST

/* An exact timer that is put off rings at its old instant, but nobody hears it. */
START_TEST(test_exact_timer_moves)
{
    struct shot s = {.loop = open_kind(1)};
    s.timer = loop_timer_new(s.loop, shot_fired, &s);
    uint64_t now = clock_mono_ns(), limit = now + 10 * NS_PER_SEC;
    loop_timer_at(s.timer, now + 3600 * NS_PER_SEC);
    loop_timer_at(s.timer, now + NS_PER_MS);
    loop_timer_at(s.timer, s.due_ns = now + 5 * NS_PER_MS);
    while (s.count == 0 && clock_mono_ns() < limit)
        loop_turn(s.loop, 1);
    ck_assert_int_eq(s.count, 1);
    /* Disarmed: only the old ring ends the wait, and only once. */
    loop_timer_at(s.timer, clock_mono_ns() + NS_PER_MS);
    loop_timer_at(s.timer, NS_NEVER);
    loop_turn(s.loop, 1);
    clock_sleep_until(clock_mono_ns() + 2 * NS_PER_MS);
    loop_turn(s.loop, 0);
    ck_assert_int_eq(s.count, 1);
    ck_assert_int_eq(event_base_get_num_events(loop_base(s.loop), EVENT_BASE_COUNT_ACTIVE), 0);
    loop_timer_free(s.timer);
    loop_free(s.loop);
}
END_TEST

START_TEST(test_stop_before_run_is_not_lost)
{
    struct loop *l = open_loop();
    loop_stop(l);
    loop_run(l);
    loop_free(l);
}
END_TEST

START_TEST(test_turn_without_block_returns)
{
    struct shot s = {.loop = open_kind(_i)};
    s.timer = loop_timer_new(s.loop, shot_fired, &s);
    loop_timer_at(s.timer, clock_mono_ns() + 3600 * NS_PER_SEC);
    loop_turn(s.loop, 0);
    ck_assert_int_eq(s.count, 0);
    loop_timer_free(s.timer);
    loop_free(s.loop);
}
END_TEST

struct signals {
    struct loop *loop;
    int seen[2];
};

static void got_signal(int signo, void *arg)
{
    struct signals *s = arg;
    s->seen[signo == SIGUSR2]++;
    if (s->seen[0] > 0 && s->seen[1] > 0)
        loop_stop(s->loop);
}

START_TEST(test_signals_reach_the_loop)
{
    struct signals s = {.loop = open_loop()};
    ck_assert_int_eq(loop_signal(s.loop, SIGUSR1, got_signal, &s), ERR_OK);
    ck_assert_int_eq(loop_signal(s.loop, SIGUSR2, got_signal, &s), ERR_OK);
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGUSR2);
    loop_run(s.loop);
    ck_assert_int_eq(s.seen[0], 1);
    ck_assert_int_eq(s.seen[1], 1);
    loop_free(s.loop);
}
END_TEST

/* The signal is still taken for whoever else asked. */
START_TEST(test_forgotten_signals)
{
    struct signals gone = {.loop = open_loop()}, s = {.loop = gone.loop};
    ck_assert_int_eq(loop_signal(s.loop, SIGUSR1, got_signal, &gone), ERR_OK);
    ck_assert_int_eq(loop_signal(s.loop, SIGUSR1, got_signal, &s), ERR_OK);
    ck_assert_int_eq(loop_signal(s.loop, SIGUSR2, got_signal, &s), ERR_OK);
    loop_signal_forget(s.loop, &gone);
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGUSR2);
    loop_run(s.loop);
    ck_assert_int_eq(gone.seen[0], 0);
    ck_assert_int_eq(s.seen[0], 1);
    loop_free(s.loop);
}
END_TEST

/* A base as libevent opens it by default fails both checks, so they can tell the difference. */
START_TEST(test_imprecise_base_is_seen)
{
    struct errmsg msg = {{0}};
    struct event_base *coarse = event_base_new();
    ck_assert(!clock_is_precise(coarse));
    ck_assert_int_eq(check_timerfd(coarse, &msg), ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(msg.text, "timerfd"));
    event_base_free(coarse);
    struct event_base *precise = open_base(false);
    ck_assert(clock_is_precise(precise));
    ck_assert_int_eq(check_timerfd(precise, NULL), ERR_OK);
    /* Another loop's timerfd must not be taken for this one's. */
    coarse = event_base_new();
    ck_assert_int_eq(check_timerfd(coarse, NULL), ERR_SYSTEM);
    event_base_free(coarse);
    event_base_free(precise);
}
END_TEST

/* With descriptors running out, a loop is opened whole or refused with a reason. */
START_TEST(test_few_descriptors)
{
    struct rlimit old, now;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
    int next = fcntl(0, F_DUPFD, 0);
    close(next);
    int opened = 0;
    for (int spare = 0; spare < 12; spare++) {
        struct loop *l = NULL;
        struct errmsg msg = {{0}};
        now = (struct rlimit){.rlim_cur = (rlim_t)(next + spare), .rlim_max = old.rlim_max};
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &now), 0);
        enum err e = loop_new(&l, &msg);
        setrlimit(RLIMIT_NOFILE, &old);
        opened += e == ERR_OK;
        ck_assert(e == ERR_OK || (opened == 0 && msg.text[0] != '\0'));
        loop_free(l);
    }
    ck_assert(opened > 0 && opened < 12);
}
END_TEST

START_TEST(test_environment_cannot_change_the_backend)
{
    setenv("EVENT_NOEPOLL", "1", 1);
    struct loop *l = open_loop();
    ck_assert_str_eq(event_base_get_method(loop_base(l)), "epoll");
    loop_free(l);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("loop");
    TCase *t = tcase_create("loop");
    tcase_set_timeout(t, 30);
    tcase_add_loop_test(t, test_timer_is_never_early_and_is_precise, 0, KINDS);
    tcase_add_test(t, test_timer_set_in_a_long_turn_is_not_early);
    tcase_add_loop_test(t, test_timer_rearms_itself, 0, KINDS);
    tcase_add_loop_test(t, test_timer_frees_itself_in_its_callback, 0, KINDS);
    tcase_add_test(t, test_timers_fire_in_order_and_disarm);
    tcase_add_test(t, test_exact_timer_moves);
    tcase_add_test(t, test_stop_before_run_is_not_lost);
    tcase_add_loop_test(t, test_turn_without_block_returns, 0, KINDS);
    tcase_add_test(t, test_signals_reach_the_loop);
    tcase_add_test(t, test_forgotten_signals);
    tcase_add_test(t, test_imprecise_base_is_seen);
    tcase_add_test(t, test_few_descriptors);
    tcase_add_test(t, test_environment_cannot_change_the_backend);
    suite_add_tcase(s, t);
    return check_main(s);
}
