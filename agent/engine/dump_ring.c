/* SPDX-License-Identifier: MIT */
#include "agent/engine/dump_ring.h"

#include <stdatomic.h>
#include <string.h>

#include "common/mem.h"

#define CACHE_LINE 64

_Static_assert(sizeof(struct dump_record) == 48, "1.5 MiB for each worker");

/* Either side has a cache line of its own, and looks at the other's cursor only when what it knows
 * of it says that the ring is full, or empty. */
struct dump_ring {
    struct dump_record *records;
    uint64_t mask;
    char apart[CACHE_LINE];
    struct {
        _Atomic uint64_t put; /* records ever written */
        uint64_t got;         /* at least so many were read */
        _Atomic uint64_t dropped;
        atomic_bool closed; /* the rest is there */
    } writer;
    char apart_too[CACHE_LINE];
    struct {
        _Atomic uint64_t got;
        uint64_t put; /* at least so many were written */
        uint64_t dropped;
        bool has_made;
        struct dump_record made; /* of the rest */
    } reader;
    /* Written once, before closed is; from then on the reader's. */
    struct pacer pacer;
    struct pacer_range rest;
    enum dump_outcome why;
};

struct dump_ring *dump_ring_new(uint32_t records)
{
    struct dump_ring *r = mem_calloc(1, sizeof *r);
    r->records = mem_calloc(records, sizeof *r->records);
    memset(r->records, 0xff, records * sizeof *r->records); /* its pages are there */
    r->mask = records - 1;
    return r;
}

void dump_ring_free(struct dump_ring *r)
{
    if (r == NULL)
        return;
    mem_free(r->records);
    mem_free(r);
}

/* --- the worker's side ---------------------------------------------------------------------- */

static void count_dropped(struct dump_ring *r, uint64_t n)
{
    uint64_t before = atomic_load_explicit(&r->writer.dropped, memory_order_relaxed);
    atomic_store_explicit(&r->writer.dropped, before + n, memory_order_relaxed);
}

/* NULL = the ring is full. */
static struct dump_record *place(struct dump_ring *r)
{
    uint64_t put = atomic_load_explicit(&r->writer.put, memory_order_relaxed);
    if (put - r->writer.got > r->mask)
        r->writer.got = atomic_load_explicit(&r->reader.got, memory_order_acquire);
    return put - r->writer.got > r->mask ? NULL : &r->records[put & r->mask];
}

static void publish(struct dump_ring *r)
{
    uint64_t put = atomic_load_explicit(&r->writer.put, memory_order_relaxed);
    atomic_store_explicit(&r->writer.put, put + 1, memory_order_release);
}

static enum dump_outcome outcome_of(const struct client_result *res)
{
    static const enum dump_outcome of[OUTCOMES] = {
        [OUTCOME_OK] = DUMP_OK,
        [OUTCOME_TLS] = DUMP_TLS,
        [OUTCOME_READ] = DUMP_READ,
        [OUTCOME_WRITE] = DUMP_WRITE,
        [OUTCOME_PROTOCOL] = DUMP_PROTOCOL,
        [OUTCOME_TIMEOUT] = DUMP_TIMEOUT,
        [OUTCOME_UNFINISHED] = DUMP_UNFINISHED,
        [OUTCOME_CONNECT] = DUMP_CONNECT,
    };
    return res->outcome == OUTCOME_OK && res->status >= 400 ? DUMP_HTTP_ERROR : of[res->outcome];
}

void dump_ring_result(struct dump_ring *r, const struct client_result *res)
{
    struct dump_record *to = place(r);
    if (to == NULL) {
        count_dropped(r, 1);
        return;
    }
    *to = (struct dump_record){.index = res->tag,
                               .due_ns = res->due_ns,
                               .sent_ns = res->sent_ns,
                               .done_ns = res->done_ns,
                               .bytes = res->bytes,
                               .error = res->error,
                               .status = (uint16_t)res->status,
                               .outcome = (uint8_t)outcome_of(res)};
    publish(r);
}

static void make(struct dump_record *to, const struct pacer *p, uint64_t slot,
                 enum dump_outcome why)
{
    *to = (struct dump_record){.outcome = (uint8_t)why};
    to->due_ns = pacer_due(p, slot, &to->index);
}

void dump_ring_unsent(struct dump_ring *r, const struct pacer *p, struct pacer_range slots,
                      enum dump_outcome why)
{
    struct dump_record *to;
    uint64_t i = 0;
    while (i < slots.n && (to = place(r)) != NULL) {
        make(to, p, slots.from + i++, why);
        publish(r);
    }
    if (i < slots.n)
        count_dropped(r, slots.n - i);
}

void dump_ring_rest(struct dump_ring *r, const struct pacer *p, struct pacer_range slots,
                    enum dump_outcome why)
{
    r->pacer = *p;
    r->rest = slots;
    r->why = why;
    atomic_store_explicit(&r->writer.closed, true, memory_order_release);
}

/* --- the main thread's side ----------------------------------------------------------------- */

static uint64_t waiting(struct dump_ring *r)
{
    uint64_t got = atomic_load_explicit(&r->reader.got, memory_order_relaxed);
    if (r->reader.put == got)
        r->reader.put = atomic_load_explicit(&r->writer.put, memory_order_acquire);
    return r->reader.put - got;
}

static bool rest_is_there(struct dump_ring *r)
{
    return atomic_load_explicit(&r->writer.closed, memory_order_acquire);
}

const struct dump_record *dump_ring_peek(struct dump_ring *r)
{
    if (r->reader.has_made)
        return &r->reader.made;
    if (waiting(r) > 0)
        return &r->records[atomic_load_explicit(&r->reader.got, memory_order_relaxed) & r->mask];
    if (!rest_is_there(r) || r->rest.n == 0)
        return NULL;
    make(&r->reader.made, &r->pacer, r->rest.from, r->why);
    r->rest.from++;
    r->rest.n--;
    r->reader.has_made = true;
    return &r->reader.made;
}

void dump_ring_next(struct dump_ring *r)
{
    uint64_t got = atomic_load_explicit(&r->reader.got, memory_order_relaxed);
    if (r->reader.has_made)
        r->reader.has_made = false;
    else
        atomic_store_explicit(&r->reader.got, got + 1, memory_order_release);
}

void dump_ring_drop(struct dump_ring *r)
{
    uint64_t got = atomic_load_explicit(&r->reader.got, memory_order_relaxed);
    r->reader.put = atomic_load_explicit(&r->writer.put, memory_order_acquire);
    r->reader.dropped += r->reader.put - got + r->reader.has_made;
    r->reader.has_made = false;
    atomic_store_explicit(&r->reader.got, r->reader.put, memory_order_release);
    if (!rest_is_there(r))
        return;
    r->reader.dropped += r->rest.n;
    r->rest.n = 0;
}

uint64_t dump_ring_dropped(const struct dump_ring *r)
{
    return r->reader.dropped + atomic_load_explicit(&r->writer.dropped, memory_order_relaxed);
}
