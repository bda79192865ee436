/* SPDX-License-Identifier: MIT */
/* --dump-requests and agents of other versions; REQUESTS on their way through. */
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/run/coordinator.h"
#include "tests/lib/check_main.h"

static struct coordinator *coordinator;
static struct inventory inventory;
static struct plan plan;
static uint64_t now_ns, requests, prepares;

static void on_action(void *arg, const struct coord_action *a)
{
    (void)arg;
    prepares += a->kind == COORD_SEND && a->msg->type == MSG_PREPARE;
    if (a->kind != COORD_REQUESTS)
        return;
    requests++;
    ck_assert_uint_eq(a->agent, 0);
    ck_assert_uint_eq(a->msg->requests.n, 3);
}

static void begin(bool dump)
{
    struct errmsg text = {{0}};
    now_ns = 1000 * NS_PER_SEC;
    plan_defaults(&plan);
    plan.url = mem_strdup("http://127.0.0.1:8080/");
    plan.method = mem_strdup("GET");
    plan.rate = (struct rate){100, 1};
    inventory_add(&inventory, "lab7:7400", "tcp://lab7:7400", 1);
    struct coord_config cfg = {.inventory = &inventory,
                               .plan = &plan,
                               .owner = {7},
                               .run = {1},
                               .boot_id = "here",
                               .emit = on_action};
    plan.dump = dump;
    ck_assert_msg(coordinator_new(&cfg, &coordinator, &text) == ERR_OK, "%s", text.text);
}

static void teardown(void)
{
    coordinator_free(coordinator);
    inventory_clear(&inventory);
    plan_clear(&plan);
}

static void step(enum coord_event_kind kind, const struct msg *m)
{
    struct coord_event ev = {.kind = kind, .now_ns = now_ns, .rx_ns = now_ns, .msg = m};
    coordinator_step(coordinator, &ev);
}

static void welcome(uint32_t abilities)
{
    struct msg m = {.type = MSG_WELCOME,
                    .welcome = {.version = MSG_VERSION_MAX, .cores = 1, .abilities = abilities}};
    strcpy(m.welcome.boot_id, "here");
    strcpy(m.welcome.build, "0.1.0");
    step(COORD_EV_BEGIN, NULL);
    step(COORD_EV_UP, NULL);
    step(COORD_EV_MESSAGE, &m);
}

START_TEST(test_an_agent_that_cannot)
{
    begin(true);
    welcome(0);
    ck_assert_int_eq(coordinator_outcome(coordinator), COORD_COULD_NOT);
    const char *why = coordinator_reason(coordinator);
    ck_assert_msg(strstr(why, "lab7:7400") != NULL && strstr(why, "build 0.1.0") != NULL &&
                      strstr(why, "--dump-requests") != NULL,
                  "%s", why);
    ck_assert_uint_eq(prepares, 0);
}
END_TEST

/* A later one, which can do more. */
START_TEST(test_an_agent_that_can)
{
    begin(true);
    welcome(ABILITY_REQUESTS | 1u << 31);
    ck_assert_int_eq(coordinator_outcome(coordinator), COORD_GOING_ON);
    ck_assert_uint_eq(prepares, 1);
}
END_TEST

START_TEST(test_without_a_dump_any_will_do)
{
    begin(false);
    welcome(0);
    ck_assert_int_eq(coordinator_outcome(coordinator), COORD_GOING_ON);
    ck_assert_uint_eq(prepares, 1);
}
END_TEST

/* Before the run it can only be a mistake. */
START_TEST(test_not_before_the_run)
{
    struct msg m = {.type = MSG_REQUESTS, .requests = {.n = 3}};
    begin(true);
    welcome(ABILITY_REQUESTS);
    step(COORD_EV_MESSAGE, &m);
    ck_assert_uint_eq(requests, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("coordinator_dump");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_checked_fixture(t, NULL, teardown);
    tcase_add_test(t, test_an_agent_that_cannot);
    tcase_add_test(t, test_an_agent_that_can);
    tcase_add_test(t, test_without_a_dump_any_will_do);
    tcase_add_test(t, test_not_before_the_run);
    return check_main(s);
}
