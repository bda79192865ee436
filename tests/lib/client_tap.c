/* SPDX-License-Identifier: MIT */
#include "tests/lib/client_tap.h"

#include "agent/client/client_null.h"

/* Lies behind client_null's state, in the same block. */
struct tap {
    struct client_env env; /* the engine's */
    client_tap_fn fn;
    void *arg;
};

static size_t null_size(void)
{
    size_t align = _Alignof(max_align_t);
    return (client_null_ops()->state_size + align - 1) / align * align;
}

static struct tap *tap_of(void *self)
{
    return (struct tap *)(void *)((char *)self + null_size());
}

static void tap_done(void *arg, const struct client_result *r)
{
    struct tap *t = arg;
    if (t->fn != NULL)
        t->fn(t->arg, r);
    t->env.done(t->env.arg, r);
}

static void tap_ready(void *arg, uint64_t now_ns)
{
    struct tap *t = arg;
    t->env.ready(t->env.arg, now_ns);
}

static void tap_lost(void *arg, uint64_t now_ns)
{
    struct tap *t = arg;
    t->env.lost(t->env.arg, now_ns);
}

static void tap_fault(void *arg, enum client_fault f, int code)
{
    struct tap *t = arg;
    t->env.fault(t->env.arg, f, code);
}

static enum err tap_init(void *self, const struct client_env *env, struct errmsg *msg)
{
    struct tap *t = tap_of(self);
    t->env = *env;
    struct client_env mine = *env;
    mine.arg = t;
    mine.done = tap_done;
    mine.ready = tap_ready;
    mine.lost = tap_lost;
    mine.fault = tap_fault;
    mine.shaken = NULL; /* these would get the tap instead of the engine */
    mine.reached = NULL;
    mine.opened = NULL;
    mine.first = NULL;
    mine.debug = NULL;
    return client_null_ops()->init(self, &mine, msg);
}

struct client_ops client_tap_ops(void)
{
    struct client_ops ops = *client_null_ops();
    ops.name = "tap";
    ops.state_size = null_size() + sizeof(struct tap);
    ops.init = tap_init;
    return ops;
}

void client_tap_watch(void *self, client_tap_fn fn, void *arg)
{
    struct tap *t = tap_of(self);
    t->fn = fn;
    t->arg = arg;
}
