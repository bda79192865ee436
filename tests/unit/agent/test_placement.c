/* SPDX-License-Identifier: MIT */
#include "agent/engine/placement.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "tests/lib/check_main.h"

static struct placement parsed(const char *text)
{
    struct placement p = {0};
    struct errmsg msg = {{0}};
    ck_assert_msg(placement_parse(&p, text, &msg) == ERR_OK, "%s: %s", text, msg.text);
    return p;
}

START_TEST(test_lists)
{
    struct placement p = parsed("0,2-4,1023");
    static const uint16_t all[] = {0, 2, 3, 4, 1023};
    ck_assert_uint_eq(p.n, 5);
    ck_assert_mem_eq(p.cpus, all, sizeof all);
    p = parsed("7");
    ck_assert(p.n == 1 && p.cpus[0] == 7);
    ck_assert_uint_eq(parsed("0-1023").n, PLACEMENT_CPUS_MAX);
}
END_TEST

START_TEST(test_bad_lists_are_named)
{
    static const char *const bad[] = {"",
                                      ",",
                                      "1,",
                                      "-1",
                                      "1-",
                                      "3-2",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "0x1",
                                      "1024",
                                      "0-1023,0",
                                      "a",
                                      "1,,2",
                                      "1-b",
                                      "1-2-3",
                                      "99999999999999999999999",
                                      "1;2"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct placement p = {0};
        struct errmsg msg = {{0}};
        ck_assert_msg(placement_parse(&p, bad[i], &msg) == ERR_INVALID, "'%s'", bad[i]);
        ck_assert_ptr_nonnull(strstr(msg.text, "--cpu"));
        ck_assert_ptr_nonnull(strstr(msg.text, "accepted"));
    }
}
END_TEST

START_TEST(test_cores)
{
    struct placement p = {0};
    ck_assert_uint_eq(placement_cores(&p, 6), 6);
    p = parsed("1,1,2,2-3"); /* three, however often named */
    ck_assert_uint_eq(placement_cores(&p, 6), 3);
}
END_TEST

struct thread {
    const struct placement *placement;
    uint32_t number;
    cpu_set_t before, after;
};

static void *apply(void *arg)
{
    struct thread *t = arg;
    sched_getaffinity(0, sizeof t->before, &t->before);
    placement_apply(t->placement, t->number);
    sched_getaffinity(0, sizeof t->after, &t->after);
    return NULL;
}

static struct thread applied(const struct placement *p, uint32_t number)
{
    struct thread t = {.placement = p, .number = number};
    pthread_t id;
    ck_assert_int_eq(pthread_create(&id, NULL, apply, &t), 0);
    pthread_join(id, NULL);
    return t;
}

START_TEST(test_workers_are_put_on_the_cpus_in_turn)
{
    cpu_set_t mine;
    ck_assert_int_eq(sched_getaffinity(0, sizeof mine, &mine), 0);
    struct placement p = {0};
    struct thread t = applied(&p, 0);
    ck_assert(CPU_EQUAL(&t.before, &t.after));
    for (uint16_t cpu = 0; cpu < CPU_SETSIZE && p.n < 2; cpu++)
        if (CPU_ISSET(cpu, &mine))
            p.cpus[p.n++] = cpu;
    for (uint32_t i = 0; i < 4; i++) {
        t = applied(&p, i);
        ck_assert_int_eq(CPU_COUNT(&t.after), 1);
        ck_assert(CPU_ISSET(p.cpus[i % p.n], &t.after));
    }
}
END_TEST

/* No such CPU: a warning, and the thread runs where it may. */
START_TEST(test_a_refusal_changes_nothing)
{
    struct placement p = parsed("1023");
    struct thread t = applied(&p, 0);
    ck_assert(CPU_EQUAL(&t.before, &t.after));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("placement");
    TCase *t = tcase_create("placement");
    tcase_add_test(t, test_lists);
    tcase_add_test(t, test_bad_lists_are_named);
    tcase_add_test(t, test_cores);
    tcase_add_test(t, test_workers_are_put_on_the_cpus_in_turn);
    tcase_add_test(t, test_a_refusal_changes_nothing);
    suite_add_tcase(s, t);
    return check_main(s);
}
