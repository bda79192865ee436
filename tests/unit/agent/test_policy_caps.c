/* SPDX-License-Identifier: MIT */
#include "agent/service/policy_caps.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

static struct policy policy;
static struct plan plan;
static struct plan_part part;

static void fresh(void)
{
    policy_loopback_only(&policy);
    snprintf(policy.source, sizeof policy.source, "p.yml");
    for (size_t i = 0; i < POLICY_CAPS; i++)
        policy.cap_lines[i] = (uint32_t)i + 1;
    plan_defaults(&plan);
    plan.rate = (struct rate){2000, 1};
    plan.duration_ns = 10 * NS_PER_SEC;
    plan.requests = UINT64_MAX;
    part = (struct plan_part){.total = 2, .weight = 1, .connections = 10, .threads = 2};
}

static void accepted(void)
{
    struct errmsg msg = {{0}};
    ck_assert_msg(policy_check_plan(&policy, &plan, &part, &msg) == ERR_OK, "%s", msg.text);
}

static void refused(const char *want)
{
    struct errmsg msg = {{0}};
    ck_assert_int_eq(policy_check_plan(&policy, &plan, &part, &msg), ERR_REFUSED);
    ck_assert_str_eq(msg.text, want);
}

static void cap_rate(uint64_t num, uint64_t den)
{
    policy.unlimited_rate = false;
    policy.max_rate = (struct rate){num, den};
}

START_TEST(test_rate_is_this_agents)
{
    fresh();
    accepted();
    cap_rate(1000, 1);
    accepted(); /* half of 2000 */
    part.weight = 2;
    refused("policy p.yml:1: max_rate 1000/s, the plan asks this agent for 2000/s");
    part.weight = 1;
    plan.rate = (struct rate){20001, 10};
    refused("policy p.yml:1: max_rate 1000/s, the plan asks this agent for 1000.05/s");
    plan.rate.num = 0;
    refused("policy p.yml:1: max_rate 1000/s, the plan has no rate (closed loop); give -r");
    cap_rate(0, 1);
    refused("policy p.yml:1: it allows no rate at all");
    memset(&policy, 0, sizeof policy);
    policy.any_method = true;
    policy.max_connections = UINT64_MAX;
    refused("this agent's policy: it allows no rate at all");
}
END_TEST

/* The first request is not the only one. */
START_TEST(test_every_request_counts)
{
    fresh();
    plan.method = mem_strdup("GET");
    for (size_t i = 0; i < 3; i++)
        plan_add_entry(&plan)->url = mem_strdup("http://h/");
    policy.any_method = false;
    policy.n_methods = 2;
    strcpy(policy.methods[0], "GET");
    strcpy(policy.methods[1], "PUT");
    policy.max_body = 5;
    plan.entries[1].method = mem_strdup("PUT");
    plan.entries[1].body = mem_dup("12345", 5);
    plan.entries[1].body_len = 5;
    accepted();
    plan.entries[2].method = mem_strdup("DELETE");
    refused("policy p.yml:5: methods are GET PUT, the plan asks for DELETE");
    policy.any_method = true;
    accepted();
    plan.entries[2].body = mem_dup("{{rand 1 10}}1234", 17);
    plan.entries[2].body_len = 17;
    refused("policy p.yml:4: max_body 5 bytes, the plan's body has 6 bytes");
    plan.no_templates = true;
    refused("policy p.yml:4: max_body 5 bytes, the plan's body has 17 bytes");
    plan_clear(&plan);
}
END_TEST

/* Also where the first request has a body of its own. */
START_TEST(test_a_shared_body_counts)
{
    fresh();
    for (size_t i = 0; i < 3; i++)
        plan_add_entry(&plan)->url = mem_strdup("http://h/");
    policy.max_body = 5;
    plan.body = mem_dup("123456", 6);
    plan.body_len = 6;
    for (size_t i = 0; i < 3; i++) {
        refused("policy p.yml:4: max_body 5 bytes, the plan's body has 6 bytes");
        plan.entries[i].body = mem_dup("1", 1);
        plan.entries[i].body_len = 1;
    }
    accepted(); /* nobody sends it */
    plan_clear(&plan);
}
END_TEST

START_TEST(test_a_redirect_changes_the_method)
{
    fresh();
    policy.any_method = false;
    policy.n_methods = 2;
    strcpy(policy.methods[0], "HEAD");
    strcpy(policy.methods[1], "POST");
    plan.method = mem_strdup("POST");
    accepted();
    plan.follow = 1;
    refused("policy p.yml:5: methods are HEAD POST, the plan asks for GET, which --follow makes of "
            "others");
    strcpy(plan.method, "HEAD");
    accepted(); /* stays what it is */
    plan_clear(&plan);
}
END_TEST

/* It is the peak that counts, however short. */
START_TEST(test_rate_of_stages_is_their_peak)
{
    fresh();
    cap_rate(1000, 1);
    plan.n_stages = 2;
    plan.stages[0] = (struct stage){9 * NS_PER_SEC, {1, 1}, {1, 1}};
    plan.stages[1] = (struct stage){1 * NS_PER_SEC, {1, 1}, {2000, 1}};
    plan.rate = plan_stages_peak(&plan);
    accepted();
    plan.stages[1].to.num = 2001;
    plan.rate = plan_stages_peak(&plan);
    refused("policy p.yml:1: max_rate 1000/s, the plan asks this agent for 1000.5/s");
    policy.unlimited_rate = true;
    policy.max_duration_ns = 9 * NS_PER_SEC;
    refused("policy p.yml:3: max_duration 9s, the plan takes 10s");
    plan.requests = 10; /* the tenth is due with the end of the first stage */
    accepted();
}
END_TEST

/* Random arrivals pass their mean: they need room below the cap, and then never use up the slack.
 */
START_TEST(test_poisson_needs_room)
{
    fresh();
    plan.arrivals = PLAN_POISSON;
    plan.rate.num = 1600;
    cap_rate(1000, 1);
    accepted();
    struct share whole = {.total = 1, .weight = 1, .threads = 1};
    struct schedule s;
    plan.duration_ns = 100 * NS_PER_SEC;
    plan.rate.num = 800;
    for (plan.seed = 0; plan.seed < 20; plan.seed++) {
        ck_assert_int_eq(plan_schedule(&plan, &whole, UINT64_MAX, &s, NULL), ERR_OK);
        for (uint64_t at = 0; at < plan.duration_ns; at += 100 * NS_PER_MS)
            CHECK_MUST(policy_check_sent(&policy, schedule_due_until(&s, at), at, NULL) == ERR_OK);
    }
    plan.rate.num = 1601;
    refused("policy p.yml:1: max_rate 1000/s, Poisson arrivals pass their mean rate at times: "
            "accepted is a rate of at most 4/5 of it for this agent");
}
END_TEST

/* The largest numbers a plan may have do not wrap. */
START_TEST(test_rate_does_not_wrap)
{
    fresh();
    cap_rate(1, RATE_DEN_MAX);
    plan.rate = (struct rate){RATE_MAX * RATE_DEN_MAX, RATE_DEN_MAX};
    part.total = part.weight = UINT32_MAX;
    struct errmsg msg;
    ck_assert_int_eq(policy_check_plan(&policy, &plan, &part, &msg), ERR_REFUSED);
    cap_rate(RATE_MAX * RATE_DEN_MAX - 1, RATE_DEN_MAX - 1);
    plan.rate = (struct rate){1, RATE_DEN_MAX};
    accepted();
}
END_TEST

/* Half of the plan's rate on average, but four thousand million in a row at the whole of it. */
START_TEST(test_weights_do_not_hide_a_burst)
{
    fresh();
    cap_rate(1000, 1);
    part.total = UINT32_MAX;
    part.weight = UINT32_MAX / 2;
    refused("policy p.yml:1: max_rate 1000/s, the plan asks this agent for 2147483647 requests in "
            "a row; give smaller weights");
    part.total = 2000;
    part.weight = 1000;
    accepted();
}
END_TEST

START_TEST(test_connections_body_method)
{
    uint8_t body[11] = {0};
    fresh();
    policy.max_connections = 9;
    refused("policy p.yml:2: max_connections 9, the plan asks this agent for 10");
    policy.max_connections = 10;
    accepted();
    part.max_connections = 11; /* --on-full grow */
    refused("policy p.yml:2: max_connections 10, the plan asks this agent for 11");
    policy.max_connections = 11;
    accepted();
    policy.max_body = 10;
    plan.body = body;
    plan.body_len = 11;
    refused("policy p.yml:4: max_body 10 bytes, the plan's body has 11 bytes");
    plan.body_len = 10;
    accepted();
    policy.any_method = false;
    refused("policy p.yml:5: methods are none, the plan asks for GET");
    snprintf(policy.methods[policy.n_methods++], POLICY_METHOD_MAX, "HEAD");
    refused("policy p.yml:5: methods are HEAD, the plan asks for GET");
    snprintf(policy.methods[policy.n_methods++], POLICY_METHOD_MAX, "GET");
    accepted();
    plan.method = (char[]){"DELETE\n"};
    struct errmsg msg;
    ck_assert_int_eq(policy_check_plan(&policy, &plan, &part, &msg), ERR_REFUSED);
    ck_assert_ptr_null(strchr(msg.text, '\n'));
}
END_TEST

START_TEST(test_the_end)
{
    fresh();
    policy.max_duration_ns = 10 * NS_PER_SEC;
    accepted();
    plan.duration_ns++;
    struct errmsg msg;
    ck_assert_int_eq(policy_check_plan(&policy, &plan, &part, &msg), ERR_REFUSED);
    plan.duration_ns = NS_NEVER;
    refused("policy p.yml:3: max_duration 10s, the plan has no known end; give -d");
    plan.requests = 20001; /* at 2000/s the last one is due after ten seconds */
    accepted();
    plan.requests = 40001;
    refused("policy p.yml:3: max_duration 10s, the plan takes 20s");
    plan.duration_ns = 10 * NS_PER_SEC;
    accepted();
    plan.rate.num = 0; /* a closed loop's number says nothing of its time */
    accepted();
    plan.duration_ns = NS_NEVER;
    refused("policy p.yml:3: max_duration 10s, the plan has no known end; give -d");
}
END_TEST

/* What an honest schedule has sent is never too much, at any instant and with any weight that was
 * accepted; twice the rate is found out within a few seconds. */
START_TEST(test_sent_against_a_schedule)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 2000; round++) {
        fresh();
        uint64_t r = 1 + check_below(&rng, 50000);
        part.total = 1 + (uint32_t)check_below(&rng, 2000);
        part.weight = 1 + (uint32_t)check_below(&rng, part.total);
        part.first = (uint32_t)check_below(&rng, part.total - part.weight + 1);
        plan.rate = (struct rate){r, 1 + check_below(&rng, 100)};
        cap_rate(plan.rate.num * part.weight, plan.rate.den * part.total);
        if (policy_check_plan(&policy, &plan, &part, NULL) != ERR_OK)
            continue;
        struct share share = {part.total, part.first, part.weight, 1, 0};
        struct schedule s;
        ck_assert_int_eq(schedule_init(&s, &plan.rate, &share, NS_NEVER, UINT64_MAX, NULL), ERR_OK);
        for (int i = 0; i < 50; i++) {
            uint64_t at = check_below(&rng, 100 * NS_PER_SEC);
            uint64_t sent = schedule_due_until(&s, at);
            CHECK_MUST(policy_check_sent(&policy, sent, at, NULL) == ERR_OK);
        }
        double rate = (double)policy.max_rate.num / (double)policy.max_rate.den;
        double seconds = 2.0 + 66.0 / rate;
        if (seconds < 1e6)
            CHECK_MUST(policy_check_sent(&policy, (uint64_t)(2 * rate * seconds) + 1,
                                         (uint64_t)(seconds * 1e9), NULL) == ERR_REFUSED);
    }
}
END_TEST

START_TEST(test_what_is_said_of_a_breach)
{
    struct errmsg msg;
    fresh();
    ck_assert_int_eq(policy_check_sent(&policy, UINT64_MAX, 0, &msg), ERR_OK); /* no cap */
    cap_rate(10, 1);
    ck_assert_int_eq(policy_check_sent(&policy, 74, 0, &msg), ERR_OK);
    ck_assert_int_eq(policy_check_sent(&policy, 75, 0, &msg), ERR_REFUSED);
    ck_assert_str_eq(msg.text, "policy p.yml:1: max_rate 10/s, but 75 requests were sent in "
                               "0.000 s; the run was stopped");
    ck_assert_int_eq(policy_check_sent(&policy, UINT64_MAX, UINT64_MAX, &msg), ERR_REFUSED);
    policy.max_duration_ns = 60 * NS_PER_SEC;
    policy_overran(&policy, &msg);
    ck_assert_str_eq(msg.text, "policy p.yml:3: max_duration 1m was over before all was sent");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("policy_caps");
    TCase *t = tcase_create("policy_caps");
    tcase_add_test(t, test_every_request_counts);
    tcase_add_test(t, test_a_shared_body_counts);
    tcase_add_test(t, test_a_redirect_changes_the_method);
    tcase_add_test(t, test_rate_is_this_agents);
    tcase_add_test(t, test_rate_of_stages_is_their_peak);
    tcase_add_test(t, test_poisson_needs_room);
    tcase_add_test(t, test_rate_does_not_wrap);
    tcase_add_test(t, test_weights_do_not_hide_a_burst);
    tcase_add_test(t, test_connections_body_method);
    tcase_add_test(t, test_the_end);
    tcase_add_test(t, test_sent_against_a_schedule);
    tcase_add_test(t, test_what_is_said_of_a_breach);
    suite_add_tcase(s, t);
    return check_main(s);
}
