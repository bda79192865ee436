/* SPDX-License-Identifier: MIT */
/* A run with real load threads under a policy that nobody asked before: what the run itself sees
 * to, should the checks at PREPARE ever be wrong. */
#include <stdio.h>
#include <string.h>

#include "agent/service/resolving.h"
#include "agent/service/responder.h"
#include "agent/service/run.h"
#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/hostile_script.h"
#include "tests/lib/loop_wait.h"

static struct loop *loop;
static struct responder *responder;
static struct policy policy;
static struct plan plan;
static struct plan_part part;
static struct run *run;

static unsigned prepared, refused, started, ended;
static struct run_info last; /* of RUN_REFUSED and RUN_ENDED */
static struct counters counted;

static void on_run(void *arg, enum run_event ev, struct run_info *info)
{
    (void)arg;
    prepared += ev == RUN_PREPARED;
    refused += ev == RUN_REFUSED;
    started += ev == RUN_STARTED;
    ended += ev == RUN_ENDED;
    if (ev == RUN_REFUSED || ev == RUN_ENDED)
        last = *info;
    if (ev == RUN_ENDED)
        counted = snapshot_counters(info->snapshot);
    if (ev == RUN_ENDED || ev == RUN_SNAPSHOT)
        snapshot_free(info->snapshot);
}

static void setup(void)
{
    char url[48];
    ck_assert_int_eq(responder_start(60 * NS_PER_SEC, &responder, NULL), ERR_OK);
    loop = loop_wait_new();
    policy_loopback_only(&policy);
    snprintf(policy.source, sizeof policy.source, "p.yml");
    prepared = refused = started = ended = 0;
    run = NULL;
    plan_defaults(&plan);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", (unsigned)responder_port(responder));
    plan.url = mem_strdup(url);
    plan.rate = (struct rate){5000, 1};
    plan.rate_set = plan.duration_set = true;
    plan.duration_ns = 60 * NS_PER_SEC;
    plan.interval_ns = 100 * NS_PER_MS;
    ck_assert_int_eq(plan_check(&plan, NULL), ERR_OK);
    part = (struct plan_part){.total = 2, .weight = 1, .connections = 4, .threads = 2};
}

static void teardown(void)
{
    if (run != NULL)
        run_ops()->free(run);
    plan_clear(&plan);
    responder_stop(responder);
    loop_free(loop);
}

static void prepare(void)
{
    struct errmsg msg = {{0}};
    struct run_env env = {.loop = loop, .policy = &policy};
    ck_assert_msg(run_ops()->prepare(&env, &plan, &part, on_run, NULL, &run, &msg) == ERR_OK, "%s",
                  msg.text);
}

static void start(void)
{
    prepare();
    LOOP_WAIT(loop, prepared + refused == 1);
    ck_assert_msg(prepared == 1, "%s", last.problem);
    run_ops()->arm(run, clock_mono_ns() + 20 * NS_PER_MS);
}

START_TEST(test_more_than_the_rate)
{
    policy.unlimited_rate = false;
    policy.max_rate = (struct rate){100, 1};
    policy.cap_lines[POLICY_MAX_RATE] = 3;
    start();
    LOOP_WAIT(loop, ended == 1);
    ck_assert(last.policy && !last.lease_lost);
    ck_assert_ptr_eq(strstr(last.problem, "policy p.yml:3: max_rate 100/s, but "), last.problem);
    ck_assert_int_eq(counters_check(&counted, NULL), ERR_OK);
    ck_assert_uint_gt(counted.sent, 164);
    ck_assert_uint_lt(counted.sent, 20000);
}
END_TEST

/* A target that answers with redirects has each of them asked for. */
START_TEST(test_redirects_count)
{
    static const struct hostile_step loops[] = {
        READ, SEND("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"), AGAIN};
    const struct hostile_step *const scripts[] = {loops};
    struct hostile_server *h = hostile_start(scripts, 1);
    snprintf(plan.url, strlen(plan.url) + 1, "http://127.0.0.1:%u", (unsigned)hostile_port(h));
    policy.unlimited_rate = false;
    policy.max_rate = plan.rate = (struct rate){50, 1};
    plan.follow = 50;
    start();
    LOOP_WAIT(loop, ended == 1);
    ck_assert(last.policy);
    ck_assert_ptr_eq(strstr(last.problem, "policy p.yml: max_rate 50/s, but "), last.problem);
    ck_assert_int_eq(counters_check(&counted, NULL), ERR_OK);
    ck_assert_uint_gt(counted.redirects, counted.sent);
    hostile_stop(h);
}
END_TEST

/* Requests in flight when the time is over may be answered, but no redirect is followed any more.
 */
START_TEST(test_redirects_end_with_the_time)
{
    static const struct hostile_step loops[] = {
        READ,
        {.op = HOSTILE_TRICKLE,
         .bytes = "HTTP/1.1 302 F\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
         .n = 10},
        AGAIN};
    const struct hostile_step *const scripts[] = {loops};
    struct hostile_server *h = hostile_start(scripts, 1);
    snprintf(plan.url, strlen(plan.url) + 1, "http://127.0.0.1:%u", (unsigned)hostile_port(h));
    policy.max_duration_ns = plan.duration_ns = 300 * NS_PER_MS;
    plan.rate = (struct rate){20, 1};
    plan.timeout_ns = 12 * NS_PER_SEC;
    plan.follow = 50;
    start();
    LOOP_WAIT(loop, started == 1);
    uint64_t from_ns = clock_mono_ns();
    LOOP_WAIT(loop, ended == 1);
    ck_assert_uint_lt(clock_mono_ns() - from_ns, 6 * NS_PER_SEC);
    ck_assert(!last.policy);
    ck_assert_int_eq(counters_check(&counted, NULL), ERR_OK);
    ck_assert_uint_gt(counted.redirects, 0);
    ck_assert_uint_eq(counted.unfinished, counted.sent);
    hostile_stop(h);
}
END_TEST

START_TEST(test_longer_than_the_time)
{
    policy.max_duration_ns = 300 * NS_PER_MS;
    plan.timeout_ns = 200 * NS_PER_MS;
    policy.cap_lines[POLICY_MAX_DURATION] = 4;
    start();
    LOOP_WAIT(loop, ended == 1);
    ck_assert(last.policy);
    ck_assert_str_eq(last.problem,
                     "policy p.yml:4: max_duration 300ms was over before all was sent");
    ck_assert_int_eq(counters_check(&counted, NULL), ERR_OK);
    ck_assert_uint_gt(counted.ok, 0);
    ck_assert_uint_eq(counted.unfinished, 0); /* what was in flight was waited for */
}
END_TEST

START_TEST(test_within)
{
    policy.unlimited_rate = false;
    policy.max_rate = (struct rate){2500, 1};
    policy.max_duration_ns = plan.duration_ns = 400 * NS_PER_MS;
    start();
    LOOP_WAIT(loop, ended == 1);
    ck_assert_msg(!last.policy, "%s", last.problem);
    ck_assert_str_eq(last.problem, "");
    ck_assert_uint_eq(counted.sent, 1000);
}
END_TEST

/* What is loaded while a run goes on is for the next one. */
START_TEST(test_a_run_has_its_own_copy)
{
    plan.duration_ns = 300 * NS_PER_MS;
    prepare();
    memset(&policy, 0, sizeof policy);
    LOOP_WAIT(loop, prepared + refused == 1);
    ck_assert_uint_eq(prepared, 1);
    run_ops()->arm(run, clock_mono_ns() + 20 * NS_PER_MS);
    LOOP_WAIT(loop, ended == 1);
    ck_assert(!last.policy);
    ck_assert_uint_eq(counted.sent, 750);
}
END_TEST

START_TEST(test_an_address_is_refused)
{
    policy.n = 0;
    prepare();
    LOOP_WAIT(loop, prepared + refused == 1);
    ck_assert_uint_eq(refused, 1);
    ck_assert(last.policy);
    ck_assert_ptr_eq(strstr(last.problem, "policy p.yml: targets does not allow 127.0.0.1:"),
                     last.problem);
}
END_TEST

/* A lost agent's share may be taken over only as far as the cap goes. */
START_TEST(test_a_larger_share_is_checked)
{
    struct errmsg msg = {{0}};
    struct plan_part more = part;
    policy.unlimited_rate = false;
    policy.max_rate = (struct rate){2500, 1};
    start();
    LOOP_WAIT(loop, started == 1);
    more.weight = 2;
    ck_assert_int_eq(run_ops()->reshare(run, 1000000, &more, &msg), ERR_REFUSED);
    ck_assert_ptr_nonnull(strstr(msg.text, "the plan asks this agent for 5000/s"));
    more.total = 0; /* as a hostile controller may put it */
    ck_assert_int_eq(run_ops()->reshare(run, 1000000, &more, &msg), ERR_INVALID);
    more.total = 1;
    ck_assert_int_eq(run_ops()->reshare(run, 1000000, &more, &msg), ERR_INVALID);
    ck_assert_int_eq(run_ops()->reshare(run, 1000000, &part, &msg), ERR_OK);
    run_ops()->halt(run, 0);
    LOOP_WAIT(loop, ended == 1);
    ck_assert(!last.policy);
}
END_TEST

/* Runs that are given up while their name is looked up, without a turn of the loop: as many threads
 * as may be, and no more. Later there is room again, though the counter's owner is gone. */
START_TEST(test_resolvers_are_bounded)
{
    struct errmsg msg = {{0}};
    struct resolving *among = resolving_new();
    struct run_env env = {.loop = loop, .policy = &policy, .resolving = among};
    for (int i = 0; i < RESOLVING_MAX; i++) {
        ck_assert_int_eq(run_ops()->prepare(&env, &plan, &part, on_run, NULL, &run, NULL), ERR_OK);
        run_ops()->free(run);
        run = NULL;
    }
    ck_assert_int_eq(run_ops()->prepare(&env, &plan, &part, on_run, NULL, &run, &msg), ERR_BUSY);
    ck_assert_ptr_nonnull(strstr(msg.text, "still being looked up"));
    ck_assert_ptr_null(run);
    LOOP_WAIT(loop, run_ops()->prepare(&env, &plan, &part, on_run, NULL, &run, NULL) == ERR_OK);
    resolving_free(among);
    LOOP_WAIT(loop, prepared == 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("run_policy");
    TCase *t = tcase_create("run_policy");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_more_than_the_rate);
    tcase_add_test(t, test_redirects_count);
    tcase_add_test(t, test_redirects_end_with_the_time);
    tcase_add_test(t, test_longer_than_the_time);
    tcase_add_test(t, test_within);
    tcase_add_test(t, test_a_run_has_its_own_copy);
    tcase_add_test(t, test_an_address_is_refused);
    tcase_add_test(t, test_a_larger_share_is_checked);
    tcase_add_test(t, test_resolvers_are_bounded);
    suite_add_tcase(s, t);
    return check_main(s);
}
