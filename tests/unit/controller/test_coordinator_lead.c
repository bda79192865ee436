/* SPDX-License-Identifier: MIT */
/* How far ahead a start is set: by the worst of what the probes have seen. */
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/run/coordinator.h"
#include "tests/lib/check_main.h"

#define NAME "a:1"

struct rig {
    struct coordinator *c;
    struct inventory inventory;
    struct plan plan;
    uint64_t now_ns, command;
    struct msg_probe probe;
    bool probing;
};

static struct rig rig;

static void on_action(void *arg, const struct coord_action *a)
{
    struct rig *r = arg;
    if (a->kind != COORD_SEND)
        return;
    if (a->msg->type == MSG_PREPARE)
        r->command = a->msg->prepare.command;
    if (a->msg->type == MSG_PROBE) {
        r->probing = true;
        r->probe = a->msg->probe;
    }
}

static void step(enum coord_event_kind kind, const struct msg *m)
{
    struct coord_event ev = {.kind = kind, .now_ns = rig.now_ns, .rx_ns = rig.now_ns, .msg = m};
    coordinator_step(rig.c, &ev);
}

/* Up to its first probe: an agent with a clock of its own. */
static void prepare(void)
{
    struct errmsg text = {{0}};
    rig = (struct rig){.now_ns = 1000 * NS_PER_SEC};
    plan_defaults(&rig.plan);
    rig.plan.url = mem_strdup("http://127.0.0.1:8080/");
    rig.plan.method = mem_strdup("GET");
    rig.plan.rate = (struct rate){100, 1};
    inventory_add(&rig.inventory, NAME, "tcp://" NAME, 1);
    struct coord_config cfg = {.inventory = &rig.inventory,
                               .plan = &rig.plan,
                               .owner = {7},
                               .run = {1},
                               .boot_id = "here",
                               .emit = on_action,
                               .arg = &rig};
    ck_assert_msg(coordinator_new(&cfg, &rig.c, &text) == ERR_OK, "%s", text.text);
    step(COORD_EV_BEGIN, NULL);
    step(COORD_EV_UP, NULL);
    struct msg welcome = {.type = MSG_WELCOME, .welcome = {.version = MSG_VERSION_MAX, .cores = 1}};
    strcpy(welcome.welcome.boot_id, "there");
    step(COORD_EV_MESSAGE, &welcome);
    ck_assert_uint_ne(rig.command, 0);
    struct msg prepared = {.type = MSG_PREPARED,
                           .prepared = {.command = rig.command, .connections = 1, .threads = 1}};
    step(COORD_EV_MESSAGE, &prepared);
    ck_assert(rig.probing);
}

static void answer(uint64_t after_ns)
{
    rig.now_ns += after_ns;
    struct msg m = {.type = MSG_PROBE_REPLY,
                    .probe_reply = {.t1_ns = rig.probe.t1_ns,
                                    .probe = rig.probe.probe,
                                    .t2_ns = rig.probe.t1_ns + after_ns / 2,
                                    .t3_ns = rig.probe.t1_ns + after_ns / 2}};
    rig.probing = false;
    step(COORD_EV_MESSAGE, &m);
}

/* Answers all probes in `usual_ns`, but for the third. Returns the lead that comes of it. */
static uint64_t lead_after(uint64_t usual_ns, uint64_t third_ns)
{
    prepare();
    for (unsigned n = 1; rig.probing; n++) {
        ck_assert_uint_lt(n, 1000);
        answer(n == 3 ? third_ns : usual_ns);
    }
    ck_assert_uint_ne(coordinator_t0(rig.c), 0);
    uint64_t lead_ns = coordinator_t0(rig.c) - rig.now_ns;
    coordinator_free(rig.c);
    inventory_clear(&rig.inventory);
    plan_clear(&rig.plan);
    return lead_ns;
}

START_TEST(test_lead)
{
    static const struct {
        uint64_t usual_ms, third_ms, least_ms, most_ms;
    } rows[] = {
        {1, 1, 1000, 1010},     /* near: a second */
        {1, 150, 1000, 1010},   /* sent again once, soon */
        {1, 700, 2800, 2810},   /* lost more than once */
        {1, 2000, 5000, 5010},  /* no more than 5 s for that */
        {400, 400, 1600, 1610}, /* far */
    };
    uint64_t lead_ns = lead_after(rows[_i].usual_ms * NS_PER_MS, rows[_i].third_ms * NS_PER_MS);
    ck_assert_uint_ge(lead_ns, rows[_i].least_ms * NS_PER_MS);
    ck_assert_uint_le(lead_ns, rows[_i].most_ms * NS_PER_MS);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("coordinator_lead");
    TCase *t = tcase_create("lead");
    tcase_add_loop_test(t, test_lead, 0, 5);
    suite_add_tcase(s, t);
    return check_main(s);
}
