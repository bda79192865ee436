/* SPDX-License-Identifier: MIT */
/* Agents of one machine have one clock: whatever their ways to us, they start at one instant. */
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/run/coordinator.h"
#include "tests/lib/check_main.h"

#define AGENTS 5

/* Clocks, and the way there and back. */
static const struct {
    const char *name, *boot_id;
    int64_t ahead_ns;
    uint64_t there_ns, back_ns;
} agents[AGENTS] = {
    {"a:1", "there", 5 * (int64_t)NS_PER_SEC, 10 * NS_PER_MS, 30 * NS_PER_MS},
    {"b:1", "elsewhere", -3 * (int64_t)NS_PER_SEC, 1 * NS_PER_MS, 3 * NS_PER_MS},
    {"c:1", "there", 5 * (int64_t)NS_PER_SEC, NS_PER_MS, NS_PER_MS},
    {"d:1", "", 7 * (int64_t)NS_PER_SEC, 2 * NS_PER_MS, 2 * NS_PER_MS},
    {"e:1", "there", 6 * (int64_t)NS_PER_SEC, NS_PER_MS / 2, NS_PER_MS / 2}, /* a clone */
};

static struct {
    struct coordinator *c;
    struct inventory inventory;
    struct plan plan;
    uint64_t now_ns, command[AGENTS], at_ns[AGENTS];
    struct msg_probe probe[AGENTS];
    bool probing[AGENTS];
} rig;

static void on_action(void *arg, const struct coord_action *a)
{
    (void)arg;
    if (a->kind != COORD_SEND)
        return;
    if (a->msg->type == MSG_PREPARE)
        rig.command[a->agent] = a->msg->prepare.command;
    if (a->msg->type == MSG_ARM)
        rig.at_ns[a->agent] = a->msg->arm.at_ns;
    if (a->msg->type == MSG_PROBE) {
        rig.probing[a->agent] = true;
        rig.probe[a->agent] = a->msg->probe;
    }
}

static void step(enum coord_event_kind kind, size_t i, const struct msg *m)
{
    struct coord_event ev = {
        .kind = kind, .agent = i, .now_ns = rig.now_ns, .rx_ns = rig.now_ns, .msg = m};
    coordinator_step(rig.c, &ev);
}

static void begin(void)
{
    struct errmsg text = {{0}};
    rig.now_ns = 1000 * NS_PER_SEC;
    plan_defaults(&rig.plan);
    rig.plan.url = mem_strdup("http://127.0.0.1:8080/");
    rig.plan.method = mem_strdup("GET");
    rig.plan.rate = (struct rate){100, 1};
    for (size_t i = 0; i < AGENTS; i++)
        inventory_add(&rig.inventory, agents[i].name, "tcp://x:1", 1);
    struct coord_config cfg = {.inventory = &rig.inventory,
                               .plan = &rig.plan,
                               .owner = {7},
                               .run = {1},
                               .boot_id = "here",
                               .emit = on_action};
    ck_assert_msg(coordinator_new(&cfg, &rig.c, &text) == ERR_OK, "%s", text.text);
    step(COORD_EV_BEGIN, 0, NULL);
}

static void welcome(size_t i)
{
    struct msg m = {.type = MSG_WELCOME, .welcome = {.version = MSG_VERSION_MAX, .cores = 1}};
    strcpy(m.welcome.boot_id, agents[i].boot_id);
    m.welcome.epoch[0] = (uint8_t)(i + 1);
    step(COORD_EV_UP, i, NULL);
    step(COORD_EV_MESSAGE, i, &m);
}

static void prepared(size_t i)
{
    struct msg m = {.type = MSG_PREPARED,
                    .prepared = {.command = rig.command[i], .connections = 1, .threads = 1}};
    step(COORD_EV_MESSAGE, i, &m);
}

static void answer(size_t i)
{
    struct msg m = {.type = MSG_PROBE_REPLY};
    m.probe_reply.t1_ns = rig.probe[i].t1_ns;
    m.probe_reply.probe = rig.probe[i].probe;
    m.probe_reply.t2_ns = m.probe_reply.t3_ns =
        rig.probe[i].t1_ns + agents[i].there_ns + (uint64_t)agents[i].ahead_ns;
    rig.now_ns = rig.probe[i].t1_ns + agents[i].there_ns + agents[i].back_ns;
    rig.probing[i] = false;
    step(COORD_EV_MESSAGE, i, &m);
}

static bool answer_all(void)
{
    bool any = false;
    for (size_t i = 0; i < AGENTS; i++) {
        any = any || rig.probing[i];
        if (rig.probing[i])
            answer(i);
    }
    return any;
}

START_TEST(test_one_machine_one_clock)
{
    static const uint32_t clocks[AGENTS] = {1, 2, 1, 4, 5};
    static const uint64_t errors_us[AGENTS] = {1000, 2000, 1000, 2000, 500};
    begin();
    for (size_t i = 0; i < AGENTS; i++)
        welcome(i);
    for (size_t i = 0; i < AGENTS; i++)
        prepared(i);
    while (answer_all())
        ;
    uint64_t t0_ns = coordinator_t0(rig.c);
    ck_assert_uint_ne(t0_ns, 0);
    for (size_t i = 0; i < AGENTS; i++) {
        const struct coord_agent_info *info = coordinator_agent(rig.c, i);
        int64_t off_ns = (int64_t)(rig.at_ns[i] - t0_ns) - agents[i].ahead_ns;
        ck_assert_uint_eq(info->clock, clocks[i]);
        ck_assert_uint_eq(info->error_ns, errors_us[i] * NS_PER_US);
        ck_assert_int_le(off_ns < 0 ? -off_ns : off_ns, (int64_t)info->error_ns);
    }
    ck_assert_uint_eq(rig.at_ns[0], rig.at_ns[2]);
    coordinator_free(rig.c);
    inventory_clear(&rig.inventory);
    plan_clear(&rig.plan);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("coordinator_clock");
    TCase *t = tcase_create("clock");
    tcase_add_test(t, test_one_machine_one_clock);
    suite_add_tcase(s, t);
    return check_main(s);
}
