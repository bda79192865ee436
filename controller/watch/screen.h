/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_SCREEN_H
#define HAMMER_CONTROLLER_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "controller/watch/live.h"

/*
 * PURE: the bytes that keep a block of lines at the end of what a terminal shows. The cursor rests
 * in front of the line below it, so that whatever else is written stands in lines of its own. No
 * mode of the terminal is changed: it can be left at any time.
 */

struct screen {
    size_t n;                       /* lines of the block that is shown */
    size_t columns[LIVE_LINES_MAX]; /* that they take */
    bool beside;                    /* the only line of the terminal: the cursor is at its end */
    char *text;                     /* owned: what is to be written */
    size_t len, cap;
};

/* Each begins a new text in s->text, s->len. Width and height are those of the terminal now; where
 * it is narrower than it was, it is taken to have wrapped the lines. */
void screen_erase(struct screen *s, size_t width);
/* Replaces the block, under a line of text above it (NULL = none). */
void screen_draw(struct screen *s, size_t width, size_t height, const char *above,
                 const struct live_frame *f);
/* The block is nobody's any more: another job has written since. */
void screen_forget(struct screen *s);
void screen_clear(struct screen *s);

/* Lines of a block that fit into a terminal of that height. */
size_t screen_room(size_t height);

#endif
