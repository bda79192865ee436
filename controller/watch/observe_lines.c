/* SPDX-License-Identifier: MIT */
/* Where no block can be redrawn: a line on stderr every 10 s; -v: one for each interval. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/units.h"
#include "controller/watch/nowait.h"
#include "controller/watch/observer.h"
#include "controller/watch/progress.h"
#include "controller/watch/terminal.h"

#define EVERY_NS   (10 * NS_PER_SEC)
#define LEAVE_NS   (300 * NS_PER_MS)
#define LINE_BYTES 512

struct lines {
    const struct run_options *options;
    struct progress *progress; /* NULL with -v */
    struct nowait *out;
};

struct line {
    size_t len;
    char text[LINE_BYTES];
};

static void PRINTF_LIKE(2, 3) add(struct line *l, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(l->text + l->len, sizeof l->text - l->len, fmt, ap);
    va_end(ap);
    l->len += n > 0 ? (size_t)n : 0;
    if (l->len >= sizeof l->text)
        l->len = sizeof l->text - 1;
}

/* Nothing completed in an interval: no latency is not a latency of zero. */
static const char *latency_text(const struct result_latency *l, uint64_t ns, char buf[UNITS_TEXT])
{
    return l->count == 0 ? "-" : units_format_latency(ns, buf);
}

static void put(const struct lines *self, struct line *l)
{
    add(l, "\n");
    nowait_write(self->out, l->text, l->len);
}

static void show_interval(const struct lines *self, const struct result_interval *row)
{
    char text[UNITS_TEXT];
    struct line l = {0};
    add(&l,
        "hammer-ctl: %6.1fs  sent %" PRIu64 "  completed %" PRIu64 "  errors %" PRIu64
        "  p99 %s uncorrected",
        (double)row->to_ns / 1e9, row->sent, row->completed, row->errors,
        latency_text(&row->uncorrected, row->uncorrected.p99, text));
    if (self->options->plan.rate.num > 0)
        add(&l, ", %s corrected  backlog %" PRIu64,
            latency_text(&row->corrected, row->corrected.p99, text), row->backlog);
    if (row->warmup.sent + row->warmup.completed > 0)
        add(&l, "  warm-up: sent %" PRIu64 "  completed %" PRIu64 "  errors %" PRIu64,
            row->warmup.sent, row->warmup.completed, row->warmup.errors);
    put(self, &l);
}

static void add_clock(struct line *l, const struct result_latency *c, const char *name)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    add(l, "  p50 %s p99 %s %s", latency_text(c, c->p50, a), latency_text(c, c->p99, b), name);
}

static void show_window(const struct lines *self)
{
    const struct progress_window *w = &self->progress->last;
    struct line l = {0};
    add(&l, "hammer-ctl: %6.1fs  %.1f/s  errors %" PRIu64, (double)w->to_ns / 1e9, progress_rate(w),
        w->errors);
    if (!self->progress->one_clock)
        add_clock(&l, &w->corrected, "corrected");
    add_clock(&l, &w->uncorrected, "uncorrected");
    put(self, &l);
}

/* With the run's end comes the report. */
static void on_interval(void *arg, const struct merge_view *v)
{
    const struct lines *self = arg;
    if (self->progress == NULL)
        show_interval(self, v->row);
    else if (progress_interval(self->progress, v) && v->row->to_ns < self->progress->planned_ns)
        show_window(self);
}

static enum err open_lines(const struct observer_run *run, void **out, struct errmsg *msg)
{
    (void)msg;
    const struct run_options *o = run->options;
    if (!o->verbose && (o->quiet || terminal_is_live(o)))
        return ERR_OK;
    struct lines *self = mem_calloc(1, sizeof *self);
    self->options = o;
    if (!o->verbose)
        self->progress = progress_new(run->inventory->n, &o->plan, EVERY_NS);
    self->out = nowait_new(STDERR_FILENO);
    *out = self;
    return ERR_OK;
}

static void close_lines(void *arg)
{
    struct lines *self = arg;
    nowait_flush(self->out, LEAVE_NS);
    nowait_free(self->out);
    progress_free(self->progress);
    mem_free(self);
}

static bool finish_lines(void *arg, const struct result *r)
{
    (void)r;
    nowait_flush(((const struct lines *)arg)->out, LEAVE_NS);
    return true;
}

const struct observer_kind observe_lines = {.name = "lines",
                                            .open = open_lines,
                                            .interval = on_interval,
                                            .finish = finish_lines,
                                            .close = close_lines};
