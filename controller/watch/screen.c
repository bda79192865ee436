/* SPDX-License-Identifier: MIT */
#include "controller/watch/screen.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"

static void append(struct screen *s, const char *text)
{
    size_t len = strlen(text);
    if (s->len + len + 1 > s->cap) {
        s->cap = 2 * (s->len + len + 1);
        s->text = mem_realloc(s->text, s->cap, 1);
    }
    memcpy(s->text + s->len, text, len + 1);
    s->len += len;
}

static size_t rows_of(const struct screen *s, size_t width)
{
    size_t rows = 0;
    for (size_t i = 0; i < s->n; i++)
        rows += s->columns[i] > width && width > 0 ? (s->columns[i] + width - 1) / width : 1;
    return rows;
}

/* To the first column of the block's first line. */
static void go_up(struct screen *s, size_t width)
{
    char text[32];
    size_t rows = rows_of(s, width);
    if (s->beside && rows > 0)
        rows--;
    append(s, "\r");
    if (rows > 0) {
        snprintf(text, sizeof text, "\033[%zuA", rows);
        append(s, text);
    }
}

static void begin(struct screen *s)
{
    s->len = 0;
    append(s, "");
}

void screen_erase(struct screen *s, size_t width)
{
    begin(s);
    if (s->n > 0) {
        go_up(s, width);
        append(s, "\033[J");
    }
    s->n = 0;
}

/* Each line is written over the old one and the rest of it erased: nothing flickers. */
static void put_line(struct screen *s, const char *text, bool newline)
{
    append(s, text);
    append(s, "\033[K");
    if (newline)
        append(s, "\n");
}

void screen_draw(struct screen *s, size_t width, size_t height, const char *above,
                 const struct live_frame *f)
{
    begin(s);
    go_up(s, width);
    if (above != NULL) {
        append(s, "\033[J"); /* it may wrap, and so erase only its own last line */
        put_line(s, above, true);
    }
    s->beside = height < 2;
    s->n = f->n;
    for (size_t i = 0; i < f->n; i++) {
        put_line(s, live_line(f, i), !s->beside);
        s->columns[i] = f->columns[i];
    }
    append(s, "\033[J");
}

void screen_forget(struct screen *s)
{
    s->n = 0;
}

void screen_clear(struct screen *s)
{
    mem_free(s->text);
    *s = (struct screen){0};
}

size_t screen_room(size_t height)
{
    return height < 2 ? 1 : height - 1;
}
