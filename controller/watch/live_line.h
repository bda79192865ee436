/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_LIVE_LINE_H
#define HAMMER_CONTROLLER_LIVE_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "controller/watch/live.h"

/* Pieces of the live view, private to it: a line that grows to the right as far as there is room.
 */

#define LIVE_WIDE  60 /* columns from which on labels and cells stand in columns */
#define LIVE_LABEL 13 /* then where values begin */

enum live_style {
    LIVE_PLAIN,
    LIVE_LABELLED,
    LIVE_GOOD,
    LIVE_WARN,
    LIVE_BAD,
    LIVE_STYLES
};

struct live_writer {
    const struct progress *p;
    const struct live_options *o;
    struct live_frame *f;
    bool full; /* of the line under way: a piece did not fit, no later one is shown */
};

void live_begin(struct live_writer *w);
/* Shown whole or not at all, nor is what comes after it; the first one of a line is cut. */
void live_piece(struct live_writer *w, enum live_style style, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* Somebody else's text: cut to the columns that are left, and to `max`; with `pad` filled up with
 * spaces to `max`. */
void live_text(struct live_writer *w, enum live_style style, const char *text, size_t max,
               bool pad);
/* A label at the line's begin. */
void live_label(struct live_writer *w, enum live_style style, const char *text);
/* Columns that are left. */
size_t live_left(const struct live_writer *w);
bool live_is_wide(const struct live_writer *w);

/* Rows for at most `room` lines. */
void live_agents(struct live_writer *w, size_t room);

#endif
