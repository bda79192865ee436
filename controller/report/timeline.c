/* SPDX-License-Identifier: MIT */
#include "controller/report/timeline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"

#define ROUND_NS (10 * NS_PER_MS)
#define LEVELS   8
#define SLIVER   2    /* a row below half of the first one */
#define FLAT     1.05 /* largest to least: below it there is nothing to see */

const struct result_latency *timeline_latency(const struct result *r,
                                              const struct result_interval *row)
{
    return result_one_clock(r) ? &row->uncorrected : &row->corrected;
}

static uint64_t slot_ns(const struct result_interval *row)
{
    return (row->to_ns - row->from_ns) / (row->slots > 0 ? row->slots : 1);
}

/* The row that the warm-up ends in is not all there. */
static size_t first_shown(const struct result *r)
{
    size_t i = 0;
    while (i < r->n_intervals && r->intervals[i].from_ns < result_warmup_ns(r))
        i++;
    return i;
}

/* Up to which row; slivers are at the end. */
static size_t end_shown(const struct result *r)
{
    size_t n = r->n_intervals;
    while (n > 1 && (r->intervals[n - 1].to_ns - r->intervals[n - 1].from_ns) * SLIVER <
                        slot_ns(&r->intervals[0]))
        n--;
    return n;
}

static double rate_of(uint64_t completed, uint64_t ns)
{
    return ns > 0 ? (double)completed * (double)NS_PER_SEC / (double)ns : 0;
}

/* With the least and the largest of all so far. */
static void take_row(struct timeline *t, const struct result *r, size_t i)
{
    const struct result_interval *row = &r->intervals[i];
    const struct result_latency *l = timeline_latency(r, row);
    double rate = rate_of(row->completed, row->to_ns - row->from_ns);
    if (i == t->first || rate < t->rate_min)
        t->rate_min = rate;
    if (rate > t->rate_max)
        t->rate_max = rate;
    if (l->count == 0)
        return;
    if (l->p99 > t->p99_max)
        t->worst = i;
    t->p99_max = l->p99 > t->p99_max ? l->p99 : t->p99_max;
    t->p99_min = t->p99_min == 0 || l->p99 < t->p99_min ? l->p99 : t->p99_min;
}

static struct timeline_cell cell_of(const struct result *r, size_t first, size_t n)
{
    struct timeline_cell c = {.first = first, .n = n};
    const struct result_interval *rows = &r->intervals[first];
    uint64_t completed = 0;
    for (size_t i = 0; i < n; i++) {
        const struct result_latency *l = timeline_latency(r, &rows[i]);
        completed += rows[i].completed;
        if (l->count > 0 && l->p99 > c.p99)
            c.p99 = l->p99;
    }
    c.rate = rate_of(completed, rows[n - 1].to_ns - rows[0].from_ns);
    return c;
}

struct timeline timeline_of(const struct result *r)
{
    struct timeline t = {.first = first_shown(r), .per = 1};
    size_t end = end_shown(r);
    if (end <= t.first)
        return t;
    t.rows = end - t.first;
    t.per = (t.rows + TIMELINE_COLUMNS - 1) / TIMELINE_COLUMNS;
    t.n = (t.rows + t.per - 1) / t.per;
    t.from_ns = r->intervals[t.first].from_ns;
    t.to_ns = r->intervals[end - 1].to_ns;
    t.row_ns = slot_ns(&r->intervals[t.first]);
    for (size_t i = t.first; i < end; i++)
        take_row(&t, r, i);
    for (size_t c = 0; c < t.n; c++) {
        size_t at = t.first + c * t.per, left = end - at;
        t.cells[c] = cell_of(r, at, left < t.per ? left : t.per);
    }
    return t;
}

/* level -1 = blank. */
static void put(char text[TIMELINE_TEXT], int level, bool unicode)
{
    static const char *const blocks[LEVELS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const marks[LEVELS] = {"_", ".", "-", "=", "+", "*", "%", "#"};
    const char *piece = level < 0 ? " " : unicode ? blocks[level] : marks[level];
    size_t len = strlen(text);
    snprintf(text + len, TIMELINE_TEXT - len, "%s", piece);
}

static int level_of(double share)
{
    int level = (int)(share * LEVELS);
    return level < 0 ? 0 : level < LEVELS ? level : LEVELS - 1;
}

const char *timeline_p99(const struct timeline *t, bool unicode, char text[TIMELINE_TEXT])
{
    double low = log((double)t->p99_min), high = log((double)t->p99_max);
    bool flat = (double)t->p99_max < (double)t->p99_min * FLAT;
    text[0] = '\0';
    for (size_t i = 0; i < t->n; i++) {
        uint64_t p99 = t->cells[i].p99;
        double share = flat || p99 == 0 ? 0 : (log((double)p99) - low) / (high - low);
        put(text, p99 == 0 ? -1 : level_of(share), unicode);
    }
    return text;
}

const char *timeline_rate(const struct timeline *t, bool unicode, char text[TIMELINE_TEXT])
{
    text[0] = '\0';
    for (size_t i = 0; i < t->n; i++)
        put(text, t->rate_max > 0 ? level_of(t->cells[i].rate / t->rate_max) : 0, unicode);
    return text;
}

/* The column of the row in which that instant lies. */
static size_t column_at(const struct timeline *t, uint64_t ns)
{
    if (ns <= t->from_ns || t->row_ns == 0)
        return 0;
    size_t column = (size_t)((ns - t->from_ns) / t->row_ns) / t->per;
    return column < t->n ? column : t->n;
}

const char *timeline_stages(const struct timeline *t, const struct plan *p,
                            char text[TIMELINE_TEXT])
{
    uint64_t begin_ns = 0;
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; p != NULL && i < p->n_stages; i++) {
        size_t column = column_at(t, begin_ns);
        char number[24];
        int len = snprintf(number, sizeof number, "%zu", i + 1);
        begin_ns += p->stages[i].duration_ns;
        bool before = begin_ns <= t->from_ns; /* all of it in the warm-up */
        if (before || (at > 0 && column <= at) || column + (size_t)len > TIMELINE_COLUMNS ||
            column >= t->n)
            continue;
        size_t used = strlen(text);
        snprintf(text + used, TIMELINE_TEXT - used, "%*s%s", (int)(column - at), "", number);
        at = column + (size_t)len;
    }
    return text;
}

uint64_t timeline_rounded(uint64_t ns)
{
    return ns < ROUND_NS ? ns : (ns + ROUND_NS / 2) / ROUND_NS * ROUND_NS;
}

bool timeline_stalled(const struct result *r, const struct result_interval *row)
{
    for (size_t i = 0; i < r->n_stalls; i++)
        if (r->stalls[i].begin_ns < row->to_ns &&
            r->stalls[i].begin_ns + r->stalls[i].length_ns > row->from_ns)
            return true;
    return false;
}
