/* SPDX-License-Identifier: MIT */
#include "controller/run/stalls.h"

#include <stdlib.h>

#include "common/mem.h"

/* An interval is quiet with fewer answers than a tenth of what was due. Of several intervals sent
 * as one only the last is known to be quiet, so there an interval and a half may have had all
 * answers, but not more than 40 % of those due: an overloaded server is no stall. */
#define QUIET_PERCENT 10
#define PART_PERCENT  150
#define MOST_PERCENT  40

/* What one agent saw. */
struct sighting {
    uint32_t agent;
    bool open;
    bool censored;          /* the oldest may have ended without an answer */
    uint64_t oldest_ns;     /* the oldest request without an answer was due then */
    uint64_t max_ns;        /* what the slowest of them took in the end */
    uint64_t quiet_to_ns;   /* there was no answer until then */
    uint64_t resumed_by_ns; /* there were answers by then */
    uint64_t due, over_ns;  /* rate of the requests meanwhile */
    uint64_t begin_ns, length_ns;
};

struct watch {
    bool any, inside;
    uint64_t first_ns, last_ns, due; /* of everything it told */
    struct sighting now;
};

struct stalls {
    uint64_t interval_ns;
    size_t n_agents;
    struct watch *agents;
    size_t n, cap;
    struct sighting *seen;
    uint64_t dropped;
};

struct stalls *stalls_new(size_t n_agents, uint64_t interval_ns)
{
    struct stalls *s = mem_calloc(1, sizeof *s);
    s->interval_ns = interval_ns;
    s->n_agents = n_agents;
    s->agents = mem_calloc(n_agents + 1, sizeof *s->agents);
    return s;
}

void stalls_free(struct stalls *s)
{
    if (s == NULL)
        return;
    mem_free(s->agents);
    mem_free(s->seen);
    mem_free(s);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* --- one agent, interval by interval ---------------------------------------------------------- */

static bool is_quiet(const struct stall_fact *f)
{
    uint64_t percent = QUIET_PERCENT;
    if (f->intervals > 1)
        percent = larger(percent, PART_PERCENT / f->intervals);
    if (percent > MOST_PERCENT)
        percent = MOST_PERCENT;
    return (double)f->completed * 100 < (double)f->due * (double)percent;
}

/* Requests are answered in the order they were due, by and large: those without an answer are the
 * youngest. */
static uint64_t oldest(const struct stall_fact *f)
{
    double reach =
        (double)(f->waiting + f->lost) / (double)f->due * (double)(f->to_ns - f->from_ns);
    return reach < (double)f->to_ns ? f->to_ns - (uint64_t)reach : 0;
}

static void begin(struct watch *w, size_t agent, const struct stall_fact *f)
{
    w->inside = true;
    w->now = (struct sighting){.agent = (uint32_t)agent,
                               .oldest_ns = oldest(f),
                               .censored = f->lost > 0,
                               .quiet_to_ns = f->to_ns,
                               .due = f->due,
                               .over_ns = f->to_ns - f->from_ns};
}

static void keep(struct stalls *s, const struct sighting *seen)
{
    if (s->n == STALLS_MAX) {
        s->dropped++;
        return;
    }
    if (s->n == s->cap) {
        s->cap = s->cap == 0 ? 16 : 2 * s->cap;
        s->seen = mem_realloc(s->seen, s->cap, sizeof *s->seen);
    }
    s->seen[s->n++] = *seen;
}

/* Most sightings are a single request that fell on an interval's edge: not worth keeping. */
static void end(struct stalls *s, struct watch *w, uint64_t by_ns)
{
    w->inside = false;
    w->now.resumed_by_ns = by_ns;
    if (w->now.max_ns >= s->interval_ns || w->now.censored || w->now.open)
        keep(s, &w->now);
}

static void go_on(struct stalls *s, struct watch *w, const struct stall_fact *f)
{
    w->now.max_ns = larger(w->now.max_ns, f->max_ns);
    w->now.censored = w->now.censored || f->lost > 0;
    bool quiet = f->due > 0 ? is_quiet(f) : f->completed == 0;
    if (!quiet) {
        end(s, w, f->to_ns);
        return;
    }
    w->now.quiet_to_ns = f->to_ns;
    if (f->due > 0) { /* after the load's end nothing is due, but answers are still missing */
        w->now.due += f->due;
        w->now.over_ns += f->to_ns - f->from_ns;
    }
}

void stalls_add(struct stalls *s, size_t agent, const struct stall_fact *f)
{
    struct watch *w = &s->agents[agent];
    if (f->to_ns <= f->from_ns)
        return;
    if (!w->any)
        w->first_ns = f->from_ns;
    w->any = true;
    w->last_ns = larger(w->last_ns, f->to_ns);
    w->due += f->due;
    if (w->inside)
        go_on(s, w, f);
    else if (f->due > 0 && is_quiet(f))
        begin(w, agent, f);
}

/* --- all agents, at the end ------------------------------------------------------------------- */

static uint64_t times(uint64_t ns, uint64_t due, uint64_t over_ns)
{
    return over_ns > 0 ? (uint64_t)((double)ns * (double)due / (double)over_ns + 0.5) : 0;
}

/* An answer takes its usual time without any stall. */
static void measure(struct sighting *v, uint64_t usual_ns)
{
    uint64_t length = v->max_ns > usual_ns ? v->max_ns - usual_ns : 0;
    v->begin_ns = v->oldest_ns + usual_ns;
    if (v->begin_ns > v->quiet_to_ns)
        v->begin_ns = v->quiet_to_ns;
    if ((v->open || v->censored) && v->begin_ns + length < v->quiet_to_ns)
        length = v->quiet_to_ns - v->begin_ns;
    if (!v->open && v->begin_ns + length > v->resumed_by_ns)
        length = v->resumed_by_ns - v->begin_ns;
    v->length_ns = length;
}

static bool is_stall(const struct stalls *s, const struct sighting *v, uint64_t usual_ns)
{
    return v->length_ns >= s->interval_ns && v->length_ns >= usual_ns &&
           times(v->length_ns, v->due, v->over_ns) >= STALL_MIN_DUE;
}

static int by_begin(const void *a, const void *b)
{
    const struct sighting *x = a, *y = b;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->agent < y->agent ? -1 : x->agent > y->agent;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static uint64_t median(uint64_t *values, size_t n)
{
    qsort(values, n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : values[n / 2 - 1] + (values[n / 2] - values[n / 2 - 1]) / 2;
}

static void name_agents(struct stall *out, const struct sighting *seen, size_t n, uint8_t *marks)
{
    for (size_t i = 0; i < n; i++) {
        if (marks[seen[i].agent])
            continue;
        marks[seen[i].agent] = 1;
        if (out->n_agents < STALL_AGENTS_MAX)
            out->agents[out->n_agents++] = seen[i].agent;
        out->seen_by++;
    }
}

/* Those that saw it, and those that had requests due in it and got their answers. */
static void count_witnesses(const struct stalls *s, struct stall *out, uint8_t *marks)
{
    for (size_t i = 0; i < s->n_agents; i++) {
        const struct watch *w = &s->agents[i];
        uint64_t to_ns = out->begin_ns + out->length_ns / 2;
        bool there = w->any && w->first_ns <= out->begin_ns && w->last_ns >= to_ns;
        uint64_t due = times(out->length_ns, w->due, w->last_ns - w->first_ns);
        out->of += marks[i] || (there && due >= STALL_MIN_DUE);
        marks[i] = 0;
    }
}

/* Sightings that overlap are one stall. */
static void join(const struct stalls *s, const struct sighting *seen, size_t n, uint8_t *marks,
                 struct stall *out)
{
    uint64_t *begins = mem_calloc(n, sizeof *begins), *ends = mem_calloc(n, sizeof *ends);
    *out = (struct stall){0};
    for (size_t i = 0; i < n; i++) {
        begins[i] = seen[i].begin_ns;
        ends[i] = seen[i].begin_ns + seen[i].length_ns;
        out->due += times(seen[i].length_ns, seen[i].due, seen[i].over_ns);
        out->open = out->open || seen[i].open;
    }
    out->begin_ns = median(begins, n);
    out->length_ns = median(ends, n) - out->begin_ns;
    name_agents(out, seen, n, marks);
    count_witnesses(s, out, marks);
    mem_free(begins);
    mem_free(ends);
}

static size_t overlapping(const struct sighting *seen, size_t n)
{
    uint64_t end = seen[0].begin_ns + seen[0].length_ns;
    size_t i = 1;
    for (; i < n && seen[i].begin_ns < end; i++)
        end = larger(end, seen[i].begin_ns + seen[i].length_ns);
    return i;
}

struct stall *stalls_list(struct stalls *s, const uint64_t *usual_ns, size_t *n)
{
    for (size_t i = 0; i < s->n_agents; i++) {
        s->agents[i].now.open = true;
        if (s->agents[i].inside)
            end(s, &s->agents[i], s->agents[i].last_ns);
    }
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++) {
        uint64_t usual = usual_ns[s->seen[i].agent];
        measure(&s->seen[i], usual);
        if (is_stall(s, &s->seen[i], usual))
            s->seen[kept++] = s->seen[i];
    }
    s->n = kept;
    if (kept > 0)
        qsort(s->seen, kept, sizeof *s->seen, by_begin);
    struct stall *list = mem_calloc(kept + 1, sizeof *list);
    uint8_t *marks = mem_calloc(s->n_agents + 1, 1);
    *n = 0;
    for (size_t i = 0, count; i < kept; i += count) {
        count = overlapping(&s->seen[i], kept - i);
        join(s, &s->seen[i], count, marks, &list[(*n)++]);
    }
    mem_free(marks);
    return list;
}

uint64_t stalls_dropped(const struct stalls *s)
{
    return s->dropped;
}
