/* SPDX-License-Identifier: MIT */
#include "tests/lib/tap_client.h"

#include <check.h>
#include <stdatomic.h>

#include "agent/client/client_h1.h"
#include "common/mem.h"

/* Each tag belongs to one worker, so the rows need no lock; only the doubles are counted together.
 */
static struct client_result *rows;
static bool *present;
static size_t n_rows;
static atomic_size_t doubles;
static struct client_ops ops;

struct tap {
    struct client_env outer; /* the engine's */
    max_align_t inner[];     /* client_h1's state */
};

const struct client_result *tap_result(uint64_t tag)
{
    ck_assert_uint_lt(tag, n_rows);
    ck_assert_uint_eq(atomic_load(&doubles), 0);
    return present[tag] ? &rows[tag] : NULL;
}

void tap_end(void)
{
    mem_free(rows);
    mem_free(present);
}

static void on_done(void *arg, const struct client_result *r)
{
    const struct tap *t = arg;
    if (r->tag >= n_rows || present[r->tag]) {
        atomic_fetch_add(&doubles, 1);
    } else {
        rows[r->tag] = *r;
        present[r->tag] = true;
    }
    t->outer.done(t->outer.arg, r);
}

static void on_ready(void *arg, uint64_t now_ns)
{
    const struct tap *t = arg;
    t->outer.ready(t->outer.arg, now_ns);
}

static void on_lost(void *arg, uint64_t now_ns)
{
    const struct tap *t = arg;
    t->outer.lost(t->outer.arg, now_ns);
}

static void on_fault(void *arg, enum client_fault f, int code)
{
    const struct tap *t = arg;
    t->outer.fault(t->outer.arg, f, code);
}

static enum err tap_init(void *self, const struct client_env *env, struct errmsg *msg)
{
    struct tap *t = self;
    struct client_env inner = *env;
    t->outer = *env;
    inner.arg = t;
    inner.done = on_done;
    inner.ready = on_ready;
    inner.lost = on_lost;
    inner.fault = on_fault;
    inner.shaken = NULL; /* these would get the tap instead of the engine */
    inner.reached = NULL;
    inner.opened = NULL;
    inner.first = NULL;
    inner.debug = NULL;
    return client_h1_ops()->init(t->inner, &inner, msg);
}

static void tap_open(void *self, uint64_t now_ns)
{
    client_h1_ops()->open(((struct tap *)self)->inner, now_ns);
}

static uint32_t tap_idle(const void *self)
{
    return client_h1_ops()->idle(((const struct tap *)self)->inner);
}

static uint32_t tap_connected(const void *self)
{
    return client_h1_ops()->connected(((const struct tap *)self)->inner);
}

static uint32_t tap_attempted(const void *self)
{
    return client_h1_ops()->attempted(((const struct tap *)self)->inner);
}

static uint32_t tap_in_flight(const void *self)
{
    return client_h1_ops()->in_flight(((const struct tap *)self)->inner);
}

static void tap_submit(void *self, uint64_t tag, uint64_t due_ns, uint64_t now_ns)
{
    client_h1_ops()->submit(((struct tap *)self)->inner, tag, due_ns, now_ns);
}

static uint64_t tap_deadline(const void *self)
{
    return client_h1_ops()->deadline(((const struct tap *)self)->inner);
}

static void tap_expire(void *self, uint64_t now_ns)
{
    client_h1_ops()->expire(((struct tap *)self)->inner, now_ns);
}

static void tap_quiesce(void *self, uint64_t now_ns)
{
    client_h1_ops()->quiesce(((struct tap *)self)->inner, now_ns);
}

static void tap_traffic(void *self, struct client_traffic *into)
{
    client_h1_ops()->traffic(((struct tap *)self)->inner, into);
}

static void tap_stop(void *self, uint64_t now_ns)
{
    client_h1_ops()->stop(((struct tap *)self)->inner, now_ns);
}

static void tap_fini(void *self)
{
    client_h1_ops()->fini(((struct tap *)self)->inner);
}

/* Written before any worker exists, read-only afterwards. */
static void make_ops(void)
{
    ops = (struct client_ops){
        .name = "h1+tap",
        .state_size = sizeof(struct tap) + client_h1_ops()->state_size,
        .init = tap_init,
        .open = tap_open,
        .idle = tap_idle,
        .connected = tap_connected,
        .attempted = tap_attempted,
        .in_flight = tap_in_flight,
        .submit = tap_submit,
        .deadline = tap_deadline,
        .expire = tap_expire,
        .quiesce = tap_quiesce,
        .traffic = tap_traffic,
        .stop = tap_stop,
        .fini = tap_fini,
    };
}

const struct client_ops *tap_ops(void)
{
    return &ops;
}

void tap_begin(size_t tags)
{
    n_rows = tags;
    rows = mem_calloc(tags, sizeof *rows);
    present = mem_calloc(tags, sizeof *present);
    atomic_store(&doubles, 0);
    make_ops();
}
