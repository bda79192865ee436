/* SPDX-License-Identifier: MIT */
#include "agent/service/run_dump.h"

#include "agent/client/expectation.h"
#include "common/mem.h"

/* Errors come in masses, of a few kinds: their texts are made once. */
#define TEXTS 16

struct run_dump {
    const struct series_map *series;
    uint64_t t0_ns;
    uint64_t rows;       /* in messages that were sent */
    uint64_t given_up;   /* packed, and never sent */
    uint32_t first_ring; /* which is read first: in turn */
    uint32_t n_rings;
    bool busy;
    struct {
        int kind, code;
        char text[DUMP_TEXT];
    } texts[TEXTS];
    struct dump_writer writer; /* holds a message if it holds anything */
    struct dump_ring *rings[]; /* of the workers */
};

struct run_dump *run_dump_new(uint32_t workers, uint32_t records, const struct series_map *series)
{
    struct run_dump *d = mem_calloc(1, sizeof *d + workers * sizeof(struct dump_ring *));
    d->series = series;
    d->n_rings = workers;
    for (uint32_t i = 0; i < workers; i++)
        d->rings[i] = dump_ring_new(records);
    for (size_t i = 0; i < TEXTS; i++)
        d->texts[i].kind = -1;
    return d;
}

void run_dump_free(struct run_dump *d)
{
    if (d == NULL)
        return;
    for (uint32_t i = 0; i < d->n_rings; i++)
        dump_ring_free(d->rings[i]);
    mem_free(d);
}

struct dump_ring *run_dump_ring(struct run_dump *d, uint32_t worker)
{
    return d == NULL ? NULL : d->rings[worker];
}

void run_dump_start(struct run_dump *d, uint64_t t0_ns)
{
    if (d != NULL)
        d->t0_ns = t0_ns;
}

/* --- packing -------------------------------------------------------------------------------- */

static const enum outcome client_outcomes[DUMP_OUTCOMES] = {
    [DUMP_TLS] = OUTCOME_TLS,         [DUMP_READ] = OUTCOME_READ,
    [DUMP_WRITE] = OUTCOME_WRITE,     [DUMP_PROTOCOL] = OUTCOME_PROTOCOL,
    [DUMP_CONNECT] = OUTCOME_CONNECT, [DUMP_TIMEOUT] = OUTCOME_TIMEOUT,
};

/* Of those that the report counts by their text, as it has it. */
static const char *error_text(struct run_dump *d, const struct dump_record *from)
{
    bool complete = dump_was_completed((enum dump_outcome)from->outcome);
    int kind = (int)client_outcomes[from->outcome];
    if ((complete && from->error == EXPECT_MET) || (!complete && kind == OUTCOME_OK))
        return NULL;
    size_t i = ((unsigned)kind * 7 + (unsigned)from->error) % TEXTS;
    char *text = d->texts[i].text;
    if (d->texts[i].kind == kind && d->texts[i].code == from->error)
        return text;
    d->texts[i].kind = kind;
    d->texts[i].code = from->error;
    if (complete)
        expectation_text(from->error, text, DUMP_TEXT);
    else
        outcome_text((enum outcome)kind, from->error, text, DUMP_TEXT);
    msg_sanitise(text);
    return text;
}

static bool pack(struct run_dump *d, const struct dump_record *from)
{
    uint64_t due_ns = from->due_ns - d->t0_ns;
    uint32_t row = series_map_row(d->series, from->index, due_ns);
    const struct reqset *requests = d->series->reqset;
    struct dump_row to = {.index = from->index,
                          .due_ns = due_ns,
                          .stage = series_map_stage(d->series, row),
                          .request = requests != NULL ? reqset_pick(requests, from->index) : 0,
                          .status = from->status,
                          .bytes = from->bytes,
                          .outcome = (enum dump_outcome)from->outcome,
                          .error = error_text(d, from)};
    if (dump_was_sent(to.outcome)) {
        to.sent_ns = from->sent_ns - d->t0_ns;
        to.done_ns = from->done_ns - d->t0_ns;
    }
    return dump_put(&d->writer, &to);
}

/* false = the message is full. */
static bool pack_ring(struct run_dump *d, struct dump_ring *ring)
{
    const struct dump_record *from;
    while ((from = dump_ring_peek(ring)) != NULL) {
        if (!pack(d, from))
            return false;
        dump_ring_next(ring);
    }
    return true;
}

static uint64_t dropped(const struct run_dump *d)
{
    uint64_t sum = d->given_up;
    for (uint32_t i = 0; i < d->n_rings; i++)
        sum += dump_ring_dropped(d->rings[i]);
    return sum;
}

bool run_dump_next(struct run_dump *d, struct msg_requests *m)
{
    if (d->writer.n == 0) {
        d->busy = false;
        for (uint32_t i = 0; i < d->n_rings && !d->busy; i++)
            d->busy = !pack_ring(d, d->rings[(d->first_ring + i) % d->n_rings]);
        d->first_ring = (d->first_ring + 1) % d->n_rings;
    }
    *m = (struct msg_requests){.first = d->rows,
                               .dropped = dropped(d),
                               .n = d->writer.n,
                               .data = {d->writer.bytes, d->writer.len}};
    return d->writer.n > 0;
}

void run_dump_sent(struct run_dump *d)
{
    d->rows += d->writer.n;
    dump_writer_clear(&d->writer);
}

bool run_dump_busy(const struct run_dump *d)
{
    return d->busy;
}

void run_dump_give_up(struct run_dump *d)
{
    d->given_up += d->writer.n;
    dump_writer_clear(&d->writer);
    for (uint32_t i = 0; i < d->n_rings; i++)
        dump_ring_drop(d->rings[i]);
}

void run_dump_totals(const struct run_dump *d, uint64_t *rows, uint64_t *n_dropped)
{
    *rows = d->rows;
    *n_dropped = dropped(d);
}
