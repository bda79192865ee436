/* SPDX-License-Identifier: MIT */
#include "tests/lib/control_rig.h"

#include <stdio.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

/* A scripted run: remembers what it was told; the test says when its events happen. */
struct run {
    run_fn fn;
    void *arg;
};

static struct control_rig *the_rig; /* run_ops carry no argument of their own */

static enum err fake_prepare(const struct run_env *env, const struct plan *plan,
                             const struct plan_part *part, run_fn fn, void *arg, struct run **out,
                             struct errmsg *msg)
{
    (void)env, (void)plan, (void)part;
    struct control_rig *w = the_rig;
    w->prepares++;
    if (w->prepare_answer != ERR_OK)
        return errmsg_set(msg, w->prepare_answer, "cannot do it");
    w->run = mem_calloc(1, sizeof *w->run);
    *w->run = (struct run){fn, arg};
    *out = w->run;
    return ERR_OK;
}

static void fake_arm(struct run *r, uint64_t t0_ns)
{
    (void)r;
    the_rig->arms++;
    the_rig->armed_at_ns = t0_ns;
}

static void fake_halt(struct run *r, uint64_t drain_ns)
{
    (void)r;
    the_rig->halts++;
    the_rig->drain_ns = drain_ns;
}

static void fake_lease(struct run *r, uint64_t until_ns)
{
    (void)r;
    the_rig->leased_until_ns = until_ns;
}

static enum err fake_reshare(struct run *r, uint64_t from, const struct plan_part *part,
                             struct errmsg *msg)
{
    (void)r;
    the_rig->reshares++;
    the_rig->reshare_from = from;
    the_rig->reshare = *part;
    if (the_rig->reshare_answer != ERR_OK)
        return errmsg_set(msg, the_rig->reshare_answer, "cannot take it over");
    return ERR_OK;
}

static struct run_dump *fake_dump(struct run *r)
{
    (void)r;
    return the_rig->dump;
}

static void fake_free(struct run *r)
{
    the_rig->frees++;
    the_rig->run = NULL;
    mem_free(r);
}

static const struct run_ops fake_ops = {.prepare = fake_prepare,
                                        .arm = fake_arm,
                                        .halt = fake_halt,
                                        .lease = fake_lease,
                                        .reshare = fake_reshare,
                                        .dump = fake_dump,
                                        .free = fake_free};

static bool on_send(void *arg, void *conn, const struct msg *m)
{
    (void)conn;
    struct control_rig *w = arg;
    if (w->blocked || (w->no_room && m->type == MSG_REQUESTS))
        return false;
    w->last = *m;
    w->sent[m->type]++;
    return true;
}

static void on_close(void *arg, void *conn)
{
    (void)conn;
    ((struct control_rig *)arg)->closes++;
}

static uint64_t on_now(void *arg)
{
    return ((struct control_rig *)arg)->now_ns;
}

struct control_rig *control_rig_new(void)
{
    struct control_rig *w = the_rig = mem_calloc(1, sizeof *w);
    w->now_ns = 1000 * NS_PER_SEC;
    policy_loopback_only(&w->policy);
    struct control_config cfg = {.env = {.policy = &w->policy},
                                 .run = &fake_ops,
                                 .agent = "a1",
                                 .cores = 4,
                                 .lease_ns = 10 * NS_PER_SEC,
                                 .arg = w,
                                 .send = on_send,
                                 .close = on_close,
                                 .now = on_now};
    w->control = control_new(&cfg);
    return w;
}

void control_rig_free(struct control_rig *w)
{
    control_free(w->control);
    ck_assert_ptr_null(w->run);
    mem_free(w);
}

int control_rig_conns[4];

void control_rig_hear(struct control_rig *w, void *conn, const struct msg *m)
{
    w->now_ns += NS_PER_US;
    control_message(w->control, conn, m, w->now_ns);
}

void control_rig_hello(struct control_rig *w, void *conn, uint8_t id)
{
    struct msg m = {.type = MSG_HELLO};
    m.hello.version_min = MSG_VERSION_MIN;
    m.hello.version_max = MSG_VERSION_MAX;
    m.hello.owner[0] = id;
    snprintf(m.hello.controller, sizeof m.hello.controller, "perf@host%u:1", id);
    control_rig_hear(w, conn, &m);
}

void control_rig_simple(struct control_rig *w, void *conn, enum msg_type type)
{
    struct msg m = {.type = type};
    control_rig_hear(w, conn, &m);
}

void control_rig_prepare(struct control_rig *w, void *conn, uint64_t command)
{
    struct plan plan = {0};
    struct msg m = {.type = MSG_PREPARE};
    uint8_t *blob;
    size_t len;
    plan_defaults(&plan);
    plan.url = mem_strdup("http://127.0.0.1:8080/");
    plan.rate = (struct rate){100, 1};
    plan.rate_set = true;
    plan.duration_ns = NS_PER_SEC;
    plan.duration_set = true;
    ck_assert_int_eq(plan_check(&plan, NULL), ERR_OK);
    ck_assert_int_eq(plan_encode(&plan, &blob, &len), ERR_OK);
    m.prepare.command = command;
    m.prepare.plan = (struct wire_blob){blob, len};
    m.prepare.total = m.prepare.weight = 1;
    m.prepare.connections = 4;
    m.prepare.threads = 2;
    control_rig_hear(w, conn, &m);
    mem_free(blob);
    plan_clear(&plan);
}

void control_rig_tell(struct control_rig *w, enum run_event ev, struct run_info *info)
{
    w->run->fn(w->run->arg, ev, info);
}

void control_rig_prepared(struct control_rig *w)
{
    control_rig_hello(w, &control_rig_conns[0], 1);
    control_rig_prepare(w, &control_rig_conns[0], 5);
    ck_assert_int_eq(control_state(w->control), AGENT_PREPARING);
    struct run_info info = {.connections = 4, .threads = 2};
    control_rig_tell(w, RUN_PREPARED, &info);
    ck_assert_int_eq(control_state(w->control), AGENT_PREPARED);
    ck_assert_uint_eq(w->last.prepared.connections, 4);
}

void control_rig_arm(struct control_rig *w, uint64_t command, uint64_t at_ns)
{
    struct msg m = {.type = MSG_ARM, .arm = {.command = command, .at_ns = at_ns}};
    control_rig_hear(w, &control_rig_conns[0], &m);
}

void control_rig_running(struct control_rig *w)
{
    control_rig_prepared(w);
    control_rig_arm(w, 6, w->now_ns + NS_PER_SEC);
    ck_assert_int_eq(control_state(w->control), AGENT_ARMED);
    struct run_info info = {.started_ns = w->now_ns + NS_PER_SEC + 9000};
    control_rig_tell(w, RUN_STARTED, &info);
    ck_assert_int_eq(control_state(w->control), AGENT_RUNNING);
    ck_assert_uint_eq(w->last.started.actual_ns, info.started_ns);
}

void control_rig_snapshot(struct control_rig *w)
{
    struct run_info info = {.snapshot = snapshot_new()};
    info.snapshot->intervals = 1;
    control_rig_tell(w, RUN_SNAPSHOT, &info);
}

void control_rig_end(struct control_rig *w)
{
    struct run_info info = {.snapshot = snapshot_new(), .ended_ns = w->now_ns};
    info.snapshot->cumulative = true;
    control_rig_tell(w, RUN_ENDED, &info);
}
