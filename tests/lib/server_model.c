/* SPDX-License-Identifier: MIT */
#include "tests/lib/server_model.h"

#include <stdbool.h>
#include <string.h>

#include "common/mem.h"

/* In order of priority at the same instant. */
enum kind {
    FINISHED, /* the server has done the work of a request */
    RESPONSE, /* the client sees it */
    ARRIVAL,  /* the server sees a request */
    KINDS
};

struct event {
    uint64_t at_ns;
    uint64_t seq;
    enum kind kind;
    uint64_t id;
    uint64_t version; /* FINISHED: stale unless the job still has it */
};

struct job {
    uint64_t id;
    uint64_t finish_ns;
    uint64_t version;
};

struct server {
    struct server_model_config cfg;
    server_model_response_fn fn;
    void *arg;
    struct event *heap;
    size_t n_heap, cap_heap;
    uint64_t *queue; /* ids from head to tail */
    size_t head, tail, cap_queue;
    struct job *busy; /* in order of their start */
    uint32_t n_busy;
    uint64_t seq, version, completed;
    uint64_t paused_for;      /* highest multiple of pause_every that had its pause */
    uint64_t paused_until_ns; /* no work before */
};

struct server *server_model_new(const struct server_model_config *cfg, server_model_response_fn fn,
                                void *arg)
{
    struct server *s = mem_calloc(1, sizeof *s);
    s->cfg = *cfg;
    s->fn = fn;
    s->arg = arg;
    s->busy = mem_calloc(cfg->servers, sizeof *s->busy);
    return s;
}

void server_model_free(struct server *s)
{
    if (s == NULL)
        return;
    mem_free(s->heap);
    mem_free(s->queue);
    mem_free(s->busy);
    mem_free(s);
}

/* --- events ----------------------------------------------------------------------------------- */

static bool before(const struct event *a, const struct event *b)
{
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns;
    return a->kind != b->kind ? a->kind < b->kind : a->seq < b->seq;
}

static void push(struct server *s, uint64_t at_ns, enum kind kind, uint64_t id, uint64_t version)
{
    if (s->n_heap == s->cap_heap) {
        s->cap_heap = s->cap_heap == 0 ? 64 : 2 * s->cap_heap;
        s->heap = mem_realloc(s->heap, s->cap_heap, sizeof *s->heap);
    }
    struct event e = {at_ns, s->seq++, kind, id, version};
    size_t i = s->n_heap++;
    for (; i > 0 && before(&e, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = e;
}

static struct event pop(struct server *s)
{
    struct event top = s->heap[0];
    struct event last = s->heap[--s->n_heap];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= s->n_heap)
            break;
        if (child + 1 < s->n_heap && before(&s->heap[child + 1], &s->heap[child]))
            child++;
        if (!before(&s->heap[child], &last))
            break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return top;
}

/* --- work ------------------------------------------------------------------------------------- */

/* First instant >= t at which work may progress. */
static uint64_t thaw(const struct server *s, uint64_t t)
{
    bool moved;
    do {
        moved = t < s->paused_until_ns;
        if (moved)
            t = s->paused_until_ns;
        for (uint32_t i = 0; i < s->cfg.n_freezes; i++) {
            uint64_t at = s->cfg.freezes[i].at_ns, end = at + s->cfg.freezes[i].for_ns;
            if (at <= t && t < end) {
                t = end;
                moved = true;
            }
        }
    } while (moved);
    return t;
}

static uint64_t next_freeze(const struct server *s, uint64_t t)
{
    for (uint32_t i = 0; i < s->cfg.n_freezes; i++)
        if (s->cfg.freezes[i].at_ns > t)
            return s->cfg.freezes[i].at_ns;
    return UINT64_MAX;
}

/* The end of `work` ns of unfrozen time from t on; a counted pause shifts it later. */
static uint64_t finish_after(const struct server *s, uint64_t t, uint64_t work)
{
    t = thaw(s, t);
    for (uint64_t next = next_freeze(s, t); next - t < work; next = next_freeze(s, t)) {
        work -= next - t;
        t = thaw(s, next);
    }
    return t + work;
}

static void start(struct server *s, uint64_t now_ns)
{
    while (s->n_busy < s->cfg.servers && s->head < s->tail) {
        uint64_t id = s->queue[s->head++];
        struct job *j = &s->busy[s->n_busy++];
        *j = (struct job){id, finish_after(s, now_ns, s->cfg.service_ns), ++s->version};
        push(s, j->finish_ns, FINISHED, id, j->version);
    }
}

/* Everything in service is frozen, the one that is about to finish included. */
static void pause_all(struct server *s, uint64_t now_ns)
{
    s->paused_until_ns = now_ns + s->cfg.pause_ns;
    for (uint32_t i = 0; i < s->n_busy; i++) {
        struct job *j = &s->busy[i];
        j->finish_ns += s->cfg.pause_ns;
        j->version = ++s->version;
        push(s, j->finish_ns, FINISHED, j->id, j->version);
    }
}

static void on_finished(struct server *s, const struct event *e)
{
    uint32_t i = 0;
    while (i < s->n_busy && (s->busy[i].id != e->id || s->busy[i].version != e->version))
        i++;
    if (i == s->n_busy)
        return;
    uint64_t nth = s->completed + 1;
    if (s->cfg.pause_every > 0 && nth % s->cfg.pause_every == 0 && s->paused_for < nth) {
        s->paused_for = nth;
        pause_all(s, e->at_ns);
        return;
    }
    s->n_busy--;
    memmove(&s->busy[i], &s->busy[i + 1], (s->n_busy - i) * sizeof *s->busy);
    s->completed++;
    push(s, e->at_ns + s->cfg.rtt_ns - s->cfg.rtt_ns / 2, RESPONSE, e->id, 0);
    start(s, e->at_ns);
}

static void on_response(struct server *s, const struct event *e)
{
    s->fn(s->arg, e->id, e->at_ns);
}

static void on_arrival(struct server *s, const struct event *e)
{
    if (s->tail == s->cap_queue) {
        s->cap_queue = s->cap_queue == 0 ? 64 : 2 * s->cap_queue;
        s->queue = mem_realloc(s->queue, s->cap_queue, sizeof *s->queue);
    }
    s->queue[s->tail++] = e->id;
    start(s, e->at_ns);
}

static void (*const handlers[KINDS])(struct server *s, const struct event *e) = {
    [FINISHED] = on_finished,
    [RESPONSE] = on_response,
    [ARRIVAL] = on_arrival,
};

void server_model_request(struct server *s, uint64_t id, uint64_t now_ns)
{
    push(s, now_ns + s->cfg.rtt_ns / 2, ARRIVAL, id, 0);
}

uint64_t server_model_next(const struct server *s)
{
    return s->n_heap == 0 ? UINT64_MAX : s->heap[0].at_ns;
}

void server_model_run(struct server *s, uint64_t now_ns)
{
    while (server_model_next(s) <= now_ns) {
        struct event e = pop(s);
        handlers[e.kind](s, &e);
    }
}
