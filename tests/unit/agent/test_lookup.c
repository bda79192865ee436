/* SPDX-License-Identifier: MIT */
#include "agent/service/lookup.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/lib/check_main.h"
#include "tests/lib/loop_wait.h"

struct world {
    struct loop *loop;
    struct policy policy;
    struct lookups *lookups;
    unsigned answers;
    struct msg_info last;
    int listener;
    char address[32];
};

static void on_answer(void *arg, const struct msg_info *target)
{
    struct world *w = arg;
    w->answers++;
    w->last = *target;
}

static void setup(struct world *w)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;
    *w = (struct world){.loop = loop_wait_new()};
    policy_loopback_only(&w->policy);
    ck_assert_int_eq(lookups_new(w->loop, &w->policy, &w->lookups, NULL), ERR_OK);
    w->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(w->listener, (struct sockaddr *)&sa, sizeof sa), 0);
    ck_assert_int_eq(listen(w->listener, 16), 0);
    ck_assert_int_eq(getsockname(w->listener, (struct sockaddr *)&sa, &len), 0);
    snprintf(w->address, sizeof w->address, "127.0.0.1:%u", ntohs(sa.sin_port));
}

static void teardown(struct world *w)
{
    lookups_free(w->lookups);
    loop_finish(w->loop);
    loop_free(w->loop);
    close(w->listener);
}

static unsigned connections(const struct world *w)
{
    unsigned n = 0;
    for (int fd; (fd = accept(w->listener, NULL, NULL)) >= 0; n++)
        close(fd);
    return n;
}

static void look(struct world *w, const char *target)
{
    struct lookup *l;
    struct msg_info at_once = {0};
    unsigned before = w->answers;
    ck_assert_int_eq(lookup_start(w->lookups, "http", target, on_answer, w, &l, &at_once), ERR_OK);
    LOOP_WAIT(w->loop, w->answers > before);
    ck_assert_uint_eq(w->answers, before + 1);
}

START_TEST(test_reached)
{
    struct world w;
    setup(&w);
    look(&w, w.address);
    ck_assert_uint_eq(w.last.target, INFO_TARGET_REACHED);
    ck_assert_str_eq(w.last.addresses, w.address);
    ck_assert_uint_eq(w.last.n_addresses, 1);
    ck_assert_str_eq(w.last.problem, "");
    ck_assert_uint_eq(connections(&w), 1);
    teardown(&w);
}
END_TEST

START_TEST(test_not_reached)
{
    struct world w;
    setup(&w);
    look(&w, "127.0.0.1:1");
    ck_assert_uint_eq(w.last.target, INFO_TARGET_UNREACHABLE);
    ck_assert_str_eq(w.last.problem, "127.0.0.1:1: Connection refused");
    look(&w, "no.such.name.invalid:80");
    ck_assert_uint_eq(w.last.target, INFO_TARGET_UNRESOLVED);
    ck_assert_ptr_nonnull(strstr(w.last.problem, "no.such.name.invalid"));
    ck_assert_str_eq(w.last.addresses, "");
    teardown(&w);
}
END_TEST

/* The policy comes first: not one packet goes to what it forbids, and it may change. */
START_TEST(test_policy_comes_first)
{
    struct world w;
    struct policy nothing = {0};
    setup(&w);
    lookups_set_policy(w.lookups, &nothing);
    look(&w, w.address);
    ck_assert_uint_eq(w.last.target, INFO_TARGET_REFUSED);
    ck_assert_str_ne(w.last.problem, "");
    ck_assert_str_eq(w.last.addresses, w.address);
    ck_assert_uint_eq(connections(&w), 0);
    lookups_set_policy(w.lookups, &w.policy);
    look(&w, w.address);
    ck_assert_uint_eq(w.last.target, INFO_TARGET_REACHED);
    look(&w, "169.254.169.254:80");
    ck_assert_uint_eq(w.last.target, INFO_TARGET_REFUSED);
    teardown(&w);
}
END_TEST

START_TEST(test_few_at_once)
{
    struct world w;
    struct lookup *l[LOOKUPS_MAX + 1];
    struct msg_info at_once = {0};
    setup(&w);
    for (size_t i = 0; i < LOOKUPS_MAX; i++)
        ck_assert_int_eq(lookup_start(w.lookups, "http", w.address, on_answer, &w, &l[i], &at_once),
                         ERR_OK);
    ck_assert_int_eq(
        lookup_start(w.lookups, "http", w.address, on_answer, &w, &l[LOOKUPS_MAX], &at_once),
        ERR_BUSY);
    ck_assert_uint_eq(at_once.target, INFO_TARGET_BUSY);
    lookup_cancel(l[0]); /* its place is free when its resolver is back */
    LOOP_WAIT(w.loop, w.answers == LOOKUPS_MAX - 1);
    look(&w, w.address);
    teardown(&w);
}
END_TEST

START_TEST(test_nonsense)
{
    static const char *const rows[] = {"",     "127.0.0.1:0", "a b:1",  "user@host:1",
                                       "[::1", "h:99999",     "h:1/x y"};
    struct world w;
    setup(&w);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lookup *l;
        struct msg_info at_once = {0};
        enum err e = lookup_start(w.lookups, "http", rows[i], on_answer, &w, &l, &at_once);
        ck_assert_msg(e == ERR_INVALID, "%s: %s", rows[i], err_str(e));
        ck_assert_uint_eq(at_once.target, INFO_TARGET_UNRESOLVED);
        ck_assert_str_ne(at_once.problem, "");
    }
    ck_assert_uint_eq(w.answers, 0);
    teardown(&w);
}
END_TEST

/* The program ends in the middle of a lookup: nothing hangs, nothing is called, nothing leaks. */
START_TEST(test_the_end_comes_early)
{
    for (int turns = 0; turns < 4; turns++) {
        struct world w;
        struct lookup *l;
        struct msg_info at_once = {0};
        setup(&w);
        ck_assert_int_eq(lookup_start(w.lookups, "http", w.address, on_answer, &w, &l, &at_once),
                         ERR_OK);
        for (int i = 0; i < turns; i++)
            loop_turn(w.loop, 0);
        unsigned before = w.answers;
        uint64_t begin = clock_mono_ns();
        teardown(&w);
        ck_assert_uint_lt(clock_mono_ns() - begin, NS_PER_SEC);
        ck_assert_uint_eq(w.answers, before);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("lookup");
    TCase *t = tcase_create("lookup");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_reached);
    tcase_add_test(t, test_not_reached);
    tcase_add_test(t, test_policy_comes_first);
    tcase_add_test(t, test_few_at_once);
    tcase_add_test(t, test_nonsense);
    tcase_add_test(t, test_the_end_comes_early);
    suite_add_tcase(s, t);
    return check_main(s);
}
