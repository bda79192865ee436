/* SPDX-License-Identifier: MIT */
#include "controller/run/blocks.h"

#include "common/mem.h"

#define CLOCKS 2

struct part {
    struct block sums;
    struct hist *hists[CLOCKS]; /* NULL = nothing recorded */
};

struct blocks {
    size_t n;
    uint64_t length_ns; /* of all but the last, at least; 0 = no row yet */
    struct part parts[BLOCKS_MAX];
};

struct blocks *blocks_new(void)
{
    return mem_calloc(1, sizeof(struct blocks));
}

void blocks_free(struct blocks *b)
{
    if (b == NULL)
        return;
    for (size_t i = 0; i < b->n; i++)
        for (size_t c = 0; c < CLOCKS; c++)
            hist_free(b->parts[i].hists[c]);
    mem_free(b);
}

/* A sum that would overflow is refused and left out: the run's own totals, which are larger, have
 * been refused long before. */
static void add_hist(struct hist **into, const struct hist *from)
{
    if (from == NULL || hist_count(from) == 0)
        return;
    if (*into == NULL)
        *into = hist_new_default();
    enum err e = hist_add(*into, from);
    (void)e;
}

/* `from` is emptied. */
static void join(struct part *into, struct part *from)
{
    into->sums.to_ns = from->sums.to_ns;
    into->sums.sent += from->sums.sent;
    into->sums.completed += from->sums.completed;
    into->sums.errors += from->sums.errors;
    for (size_t c = 0; c < CLOCKS; c++) {
        add_hist(&into->hists[c], from->hists[c]);
        hist_free(from->hists[c]);
    }
    *from = (struct part){0};
}

/* Blocks twice as long, half as many. */
static void halve(struct blocks *b)
{
    for (size_t i = 0; i < BLOCKS_MAX / 2; i++) {
        struct part pair = b->parts[2 * i];
        b->parts[2 * i] = (struct part){0};
        join(&pair, &b->parts[2 * i + 1]);
        b->parts[i] = pair;
    }
    b->n = BLOCKS_MAX / 2;
    b->length_ns *= 2;
}

static struct part *part_for(struct blocks *b, const struct result_interval *row)
{
    if (b->n > 0) {
        struct part *last = &b->parts[b->n - 1];
        if (row->from_ns < last->sums.from_ns + b->length_ns)
            return last;
    }
    if (b->n == BLOCKS_MAX)
        halve(b);
    struct part *next = &b->parts[b->n++];
    next->sums.from_ns = row->from_ns;
    return next;
}

void blocks_add(struct blocks *b, const struct merge_view *v)
{
    const struct result_interval *row = v->row;
    /* What lies before the first request, the warm-up above all, is no block. */
    if (b->n == 0 && row->sent == 0 && row->completed == 0 && row->errors == 0)
        return;
    if (b->length_ns == 0)
        b->length_ns = (row->to_ns - row->from_ns) / (row->slots > 0 ? row->slots : 1);
    struct part *p = part_for(b, row);
    if (row->to_ns > p->sums.to_ns)
        p->sums.to_ns = row->to_ns;
    p->sums.sent += row->sent;
    p->sums.completed += row->completed;
    p->sums.errors += row->errors;
    add_hist(&p->hists[BLOCKS_CORRECTED], v->corrected);
    add_hist(&p->hists[BLOCKS_UNCORRECTED], v->uncorrected);
}

size_t blocks_n(const struct blocks *b)
{
    return b->n;
}

struct block blocks_at(const struct blocks *b, size_t i)
{
    return b->parts[i].sums;
}

struct hist *blocks_hist(const struct blocks *b, size_t i, enum blocks_clock clock)
{
    const struct hist *h = b->parts[i].hists[clock];
    return h != NULL ? hist_copy(h) : hist_new_default();
}

uint64_t blocks_length_ns(const struct blocks *b)
{
    return b->length_ns;
}
