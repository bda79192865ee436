/* SPDX-License-Identifier: MIT */
#include "controller/watch/live_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"

#define PIECE_MAX 2048 /* bytes; LIVE_WIDTH_MAX columns of 4 bytes */

static void append(struct live_frame *f, const char *text, size_t len)
{
    if (f->len + len + 1 > f->cap) {
        f->cap = 2 * (f->len + len + 1);
        f->text = mem_realloc(f->text, f->cap, 1);
    }
    memcpy(f->text + f->len, text, len);
    f->len += len;
    f->text[f->len] = '\0';
}

void live_begin(struct live_writer *w)
{
    struct live_frame *f = w->f;
    if (f->n > 0)
        append(f, "", 1);
    f->at[f->n] = f->len;
    f->columns[f->n++] = 0;
    append(f, "", 0);
    w->full = false;
}

static size_t *columns_of_line(const struct live_writer *w)
{
    return &w->f->columns[w->f->n - 1];
}

size_t live_left(const struct live_writer *w)
{
    return w->full ? 0 : w->o->width - *columns_of_line(w);
}

bool live_is_wide(const struct live_writer *w)
{
    return w->o->width >= LIVE_WIDE;
}

static void append_styled(struct live_writer *w, enum live_style style, const char *text)
{
    static const char *const begin[LIVE_STYLES] = {[LIVE_PLAIN] = "",
                                                   [LIVE_LABELLED] = "\033[1m",
                                                   [LIVE_GOOD] = "\033[32m",
                                                   [LIVE_WARN] = "\033[33m",
                                                   [LIVE_BAD] = "\033[31m"};
    bool coloured = w->o->colour && begin[style][0] != '\0';
    if (coloured)
        append(w->f, begin[style], strlen(begin[style]));
    append(w->f, text, strlen(text));
    if (coloured)
        append(w->f, "\033[0m", 4);
}

void live_piece(struct live_writer *w, enum live_style style, const char *fmt, ...)
{
    char text[PIECE_MAX], shown[PIECE_MAX];
    va_list ap;
    if (w->full)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    size_t *columns = columns_of_line(w), left = live_left(w);
    if (*columns > 0 && columns_count(w->o->columns, text) > left) {
        w->full = true;
        return;
    }
    *columns += columns_fit(w->o->columns, text, left, shown, sizeof shown);
    append_styled(w, style, shown);
}

void live_text(struct live_writer *w, enum live_style style, const char *text, size_t max, bool pad)
{
    char shown[PIECE_MAX];
    size_t left = live_left(w);
    if (max > left)
        max = left;
    size_t columns = columns_fit(w->o->columns, text, max, shown, sizeof shown);
    append_styled(w, style, shown);
    for (; pad && columns < max; columns++)
        append(w->f, " ", 1);
    *columns_of_line(w) += columns;
}

void live_label(struct live_writer *w, enum live_style style, const char *text)
{
    if (live_is_wide(w))
        live_text(w, style, text, LIVE_LABEL, true);
    else
        live_piece(w, style, "%s ", text);
}
