/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_LIVE_H
#define HAMMER_CONTROLLER_LIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "controller/watch/columns.h"
#include "controller/watch/progress.h"

/*
 * PURE: a run that goes on, as lines for a terminal. No line takes more columns than asked for;
 * where there is little room, what matters less is left out. Each line ends what colours it began.
 */

#define LIVE_LINES_MAX 256
#define LIVE_WIDTH_MAX 500

struct live_options {
    size_t width, height; /* columns and lines at most; 0 = nothing is shown */
    bool colour;
    const struct columns *columns;
};

/* The lines one after the other, each a NUL-terminated text. */
struct live_frame {
    size_t n;
    size_t at[LIVE_LINES_MAX];      /* where in `text` each begins */
    size_t columns[LIVE_LINES_MAX]; /* that it takes */
    char *text;                     /* owned */
    size_t len, cap;
};

/* Overwrites *f, which is zeroed before the first time; keeps its memory. */
void live_render(const struct progress *p, const struct live_options *o, struct live_frame *f);
const char *live_line(const struct live_frame *f, size_t i);
void live_clear(struct live_frame *f);

/* "12.3s" "1m02s" "1h02m03s". */
#define LIVE_TIME 40
const char *live_time(uint64_t ns, char buf[LIVE_TIME]);

#endif
