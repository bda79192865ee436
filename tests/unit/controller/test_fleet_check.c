/* SPDX-License-Identifier: MIT */
#include "controller/run/fleet_check.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "controller/run/survey_check.h"
#include "tests/lib/check_main.h"

#define N 3

struct heard {
    size_t n, refused, agent;
    char text[4096]; /* all sentences, a line each */
};

struct fleet {
    struct plan plan;
    struct fleet_fact facts[N];
    struct heard heard;
};

static void hear(void *arg, const struct fleet_problem *p)
{
    struct heard *h = arg;
    h->n++;
    h->refused += p->refused;
    h->agent = p->agent;
    size_t len = strlen(h->text);
    snprintf(h->text + len, sizeof h->text - len, "%s\n", p->text);
}

static char url[64]; /* of the plan; plan.url is not const */

static void fleet_init(struct fleet *f, const char *target)
{
    static const char *const names[N] = {"a1", "a2", "a3"};
    *f = (struct fleet){
        .plan = {.rate = {900, 1}, .duration_ns = 10 * NS_PER_SEC, .requests = UINT64_MAX}};
    snprintf(url, sizeof url, "%s", target);
    f->plan.url = url;
    for (uint32_t i = 0; i < N; i++)
        f->facts[i] = (struct fleet_fact){
            .address = names[i],
            .build = HAMMER_VERSION,
            .fd_limit = 1024,
            .tested_rate = 1000,
            .ports = 28232,
            .part = {.total = N, .first = i, .weight = 1, .connections = 10, .threads = 1}};
}

/* Checks, and says what must have been heard: so many refusals and warnings, and this text. */
static void expect(struct fleet *f, size_t refused, size_t warnings, const char *text)
{
    f->heard = (struct heard){0};
    size_t n = fleet_check(&f->plan, f->facts, N, hear, &f->heard);
    ck_assert_msg(n == refused && f->heard.refused == refused, "%zu refusals:\n%s", n,
                  f->heard.text);
    ck_assert_msg(f->heard.n == refused + warnings, "%zu problems:\n%s", f->heard.n, f->heard.text);
    ck_assert_msg(strstr(f->heard.text, text) != NULL, "'%s' is not in:\n%s", text, f->heard.text);
}

START_TEST(test_what_works_is_not_spoken_of)
{
    struct fleet f;
    fleet_init(&f, "http://127.0.0.1/");
    expect(&f, 0, 0, "");
    for (size_t i = 0; i < N; i++) {
        f.facts[i].fd_limit = f.facts[i].tested_rate = f.facts[i].ports = 0;
        f.facts[i].build = "";
    }
    expect(&f, 0, 0, ""); /* nothing known, nothing against it */
}
END_TEST

START_TEST(test_descriptors)
{
    struct fleet f;
    fleet_init(&f, "http://127.0.0.1/");
    f.facts[1].part.connections = 960;
    expect(&f, 0, 0, "");
    f.facts[1].part.connections = 961;
    expect(&f, 1, 0,
           "agent a2: 961 connections need 1025 file descriptors, the limit here is 1024 "
           "(raise LimitNOFILE=");
    ck_assert_uint_eq(f.heard.agent, 1);
    f.facts[1].part.connections = 10;
    f.facts[1].part.max_connections = 961; /* --on-full grow may open as many */
    expect(&f, 1, 0, "agent a2: 961 connections need 1025 file descriptors");
}
END_TEST

/* A name may have many addresses: what is not known is judged by the agent at PREPARE. */
START_TEST(test_ports_of_addresses)
{
    struct fleet f;
    fleet_init(&f, "http://www.example.com/");
    for (size_t i = 0; i < N; i++)
        f.facts[i].fd_limit = 1000000;
    f.facts[2].part.connections = 30000;
    expect(&f, 0, 0, "");
    f.facts[2].addresses = 2;
    expect(&f, 0, 0, "");
    f.facts[2].addresses = 1;
    expect(&f, 1, 0, "agent a3: 30000 connections to one address");
    fleet_init(&f, "http://192.0.2.1/");
    f.facts[2].part.connections = 30000;
    f.facts[2].fd_limit = 1000000;
    expect(&f, 1, 0, "agent a3: 30000 connections to one address");
    f.facts[2].part.connections = 10;
    f.facts[2].part.max_connections = 30000;
    expect(&f, 1, 0, "agent a3: 30000 connections to one address");
}
END_TEST

START_TEST(test_a_connection_for_each_request)
{
    struct fleet f;
    fleet_init(&f, "http://192.0.2.1/");
    option_list_add(&f.plan.headers, "Connection: close");
    f.plan.rate.num = 1500;
    f.plan.duration_ns = 60 * NS_PER_SEC;
    expect(&f, N, 0, "agent a1: 30001 connections in 60 s");
    f.plan.duration_ns = 30 * NS_PER_SEC;
    expect(&f, 0, 0, "");
    f.plan.duration_ns = 60 * NS_PER_SEC;
    snprintf(url, sizeof url, "http://127.0.0.1/"); /* ports are free again after a second */
    expect(&f, 0, 0, "");
    snprintf(url, sizeof url, "http://[::1]/");
    expect(&f, 0, 0, "");
    option_list_clear(&f.plan.headers);
}
END_TEST

START_TEST(test_rate_beyond_the_self_test)
{
    struct fleet f;
    fleet_init(&f, "http://127.0.0.1/");
    f.facts[0].tested_rate = 299;
    expect(&f, 0, 1, "agent a1 is asked for 300 requests/s; its self-test has shown 299");
    f.facts[0].tested_rate = 300;
    expect(&f, 0, 0, "");
    f.facts[0].tested_rate = 1;
    f.plan.rate.num = 0;
    expect(&f, 0, 0, "");
}
END_TEST

START_TEST(test_versions)
{
    struct fleet f;
    fleet_init(&f, "http://127.0.0.1/");
    f.facts[1].build = "9.9.9";
    expect(&f, 1, 0, "agent a2: it is version 9.9.9, this hammer-ctl " HAMMER_VERSION);
    f.facts[0].build = f.facts[2].build = "9.9.9";
    expect(&f, N, 0, "agent a3: it is version 9.9.9, this hammer-ctl " HAMMER_VERSION);
    fleet_init(&f, "http://127.0.0.1/");
    f.facts[0].version_min = f.facts[0].version_max = MSG_VERSION_MAX + 1;
    expect(&f, 1, 0, "agent a1: it speaks protocol 2 to 2");
}
END_TEST

/* --- with what INFO tells ------------------------------------------------------------------- */

static struct inventory_agent inv_agents[2] = {{.address = "a1", .weight = 1},
                                               {.address = "a2", .weight = 3}};
static const struct inventory inv = {inv_agents, 2};

struct asked {
    struct plan plan;
    struct survey_agent agents[2];
    struct heard heard;
};

static void asked_init(struct asked *a)
{
    *a = (struct asked){.plan = {.url = url,
                                 .rate = {1000, 1},
                                 .connections = 40,
                                 .duration_ns = NS_PER_SEC,
                                 .requests = UINT64_MAX}};
    snprintf(url, sizeof url, "http://www.example.com/");
    for (size_t i = 0; i < 2; i++) {
        a->agents[i].reached = true;
        a->agents[i].info = (struct msg_info){.version_min = MSG_VERSION_MIN,
                                              .version_max = MSG_VERSION_MAX,
                                              .build = HAMMER_VERSION,
                                              .cores = 4,
                                              .fd_limit = 1024,
                                              .ports = 28232,
                                              .target = INFO_TARGET_REACHED,
                                              .addresses = "192.0.2.1:80 192.0.2.2:80",
                                              .n_addresses = 2};
    }
}

static void expect_asked(struct asked *a, size_t refused, size_t warnings, const char *text)
{
    a->heard = (struct heard){0};
    size_t n = survey_check(&a->plan, &inv, a->agents, hear, &a->heard);
    ck_assert_msg(n == refused && a->heard.refused == refused, "%zu refusals:\n%s", n,
                  a->heard.text);
    ck_assert_msg(a->heard.n == refused + warnings, "%zu problems:\n%s", a->heard.n, a->heard.text);
    ck_assert_msg(strstr(a->heard.text, text) != NULL, "'%s' is not in:\n%s", text, a->heard.text);
}

START_TEST(test_plan_is_split_by_weight)
{
    struct asked a;
    asked_init(&a);
    expect_asked(&a, 0, 0, "");
    a.plan.connections = 1400;
    expect_asked(&a, 1, 0, "agent a2: 1050 connections need 1114");
    a.plan.connections = 1;
    expect_asked(&a, 1, 0, "--connections 1 on 2 agents");
    a.agents[0].reached = false;
    snprintf(a.agents[0].problem, sizeof a.agents[0].problem, "connection refused");
    expect_asked(&a, 1, 0, "agent a1: connection refused"); /* and no word of the split */
}
END_TEST

START_TEST(test_holders)
{
    struct asked a;
    asked_init(&a);
    a.agents[1].info.state = AGENT_RUNNING;
    a.agents[1].info.held_ms = 12000;
    a.agents[1].info.lease_left_ms = 8500;
    snprintf(a.agents[1].info.holder, sizeof a.agents[1].info.holder, "u@h:1");
    expect_asked(&a, 1, 0, "agent a2: it is busy: held by u@h:1 for 12 s (free in at most 9 s");
    a.agents[1].info.orphan = 1;
    expect_asked(&a, 1, 0, "for u@h:1, who has been gone too long: hammer-ctl attach");
}
END_TEST

START_TEST(test_targets)
{
    struct asked a;
    asked_init(&a);
    struct msg_info *first = &a.agents[0].info, *second = &a.agents[1].info;
    snprintf(first->problem, sizeof first->problem, "192.0.2.2:80: no answer");
    expect_asked(&a, 0, 1, "agent a1: one of the target's addresses takes no connection: 192");
    first->target = INFO_TARGET_UNREACHABLE;
    expect_asked(&a, 0, 1, "agent a1: it cannot connect to the target: 192.0.2.2:80: no answer");
    second->target = INFO_TARGET_UNREACHABLE;
    expect_asked(&a, 2, 0, "agent a2: it cannot connect");
    first->target = INFO_TARGET_REFUSED;
    expect_asked(&a, 2, 0, "agent a1: 192.0.2.2:80: no answer");
    second->target = INFO_TARGET_BUSY;
    expect_asked(&a, 1, 1, "agent a1: 192.0.2.2:80: no answer");
    for (uint32_t i = 0; i < INFO_TARGETS; i++)
        ck_assert_str_ne(info_target_name(i), "?");
    ck_assert_str_eq(info_target_name(INFO_TARGETS), "?");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fleet_check");
    TCase *t = tcase_create("fleet_check");
    tcase_add_test(t, test_what_works_is_not_spoken_of);
    tcase_add_test(t, test_descriptors);
    tcase_add_test(t, test_ports_of_addresses);
    tcase_add_test(t, test_a_connection_for_each_request);
    tcase_add_test(t, test_rate_beyond_the_self_test);
    tcase_add_test(t, test_versions);
    tcase_add_test(t, test_plan_is_split_by_weight);
    tcase_add_test(t, test_holders);
    tcase_add_test(t, test_targets);
    suite_add_tcase(s, t);
    return check_main(s);
}
