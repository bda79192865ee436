/* SPDX-License-Identifier: MIT */
/* -v: a line on stderr for each interval. */
#include <inttypes.h>
#include <stdio.h>

#include "common/mem.h"
#include "common/units.h"
#include "controller/cmd/observer.h"

/* Nothing completed in an interval: no latency is not a latency of zero. */
static const char *latency_text(const struct result_latency *l, char buf[UNITS_TEXT])
{
    if (l->count == 0)
        return "-";
    return units_format_latency(l->p99, buf);
}

static void on_interval(void *self, const struct merge_view *v)
{
    const struct run_options *o = *(const struct run_options *const *)self;
    const struct result_interval *row = v->row;
    char text[UNITS_TEXT];
    fprintf(stderr,
            "hammer-ctl: %6.1fs  sent %" PRIu64 "  completed %" PRIu64 "  errors %" PRIu64
            "  p99 %s uncorrected",
            (double)row->to_ns / 1e9, row->sent, row->completed, row->errors,
            latency_text(&row->uncorrected, text));
    if (o->plan.rate.num > 0)
        fprintf(stderr, ", %s corrected  backlog %" PRIu64, latency_text(&row->corrected, text),
                row->backlog);
    if (row->warmup.sent + row->warmup.completed > 0)
        fprintf(stderr, "  warm-up: sent %" PRIu64 "  completed %" PRIu64 "  errors %" PRIu64,
                row->warmup.sent, row->warmup.completed, row->warmup.errors);
    fputc('\n', stderr);
}

static enum err open_lines(const struct observer_run *run, void **self, struct errmsg *msg)
{
    (void)msg;
    if (run->options->verbose) {
        const struct run_options **o = mem_calloc(1, sizeof(const struct run_options *));
        *o = run->options;
        *self = (void *)o;
    }
    return ERR_OK;
}

static void close_lines(void *self)
{
    mem_free(self);
}

const struct observer_kind observe_lines = {
    .name = "lines", .open = open_lines, .interval = on_interval, .close = close_lines};
