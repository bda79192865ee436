/* SPDX-License-Identifier: MIT */
#include "controller/watch/columns.h"

#include <locale.h>
#include <string.h>
#include <wchar.h>

#include "common/mem.h"

#define MARKS_MAX 4 /* combining characters on one base; more are dropped */

struct columns {
    bool unicode;
    locale_t locale; /* 0 = there is none for UTF-8: ASCII only */
};

struct columns *columns_new(bool unicode)
{
    struct columns *c = mem_calloc(1, sizeof *c);
    c->locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    c->unicode = unicode && c->locale != (locale_t)0;
    return c;
}

void columns_free(struct columns *c)
{
    if (c == NULL)
        return;
    if (c->locale != (locale_t)0)
        freelocale(c->locale);
    mem_free(c);
}

bool columns_unicode(const struct columns *c)
{
    return c->unicode;
}

/* --- UTF-8 ---------------------------------------------------------------------------------- */

uint32_t columns_point(const char *s, size_t *len)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *b = (const unsigned char *)s;
    size_t n = b[0] < 0x80   ? 1
               : b[0] < 0xc2 ? 0
               : b[0] < 0xe0 ? 2
               : b[0] < 0xf0 ? 3
               : b[0] < 0xf5 ? 4
                             : 0;
    *len = 1;
    if (n == 0)
        return UINT32_MAX;
    uint32_t c = n == 1 ? b[0] : b[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((b[i] & 0xc0) != 0x80)
            return UINT32_MAX; /* a NUL, too */
        c = c << 6 | (b[i] & 0x3f);
    }
    if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return UINT32_MAX;
    *len = n;
    return c;
}

/* --- columns -------------------------------------------------------------------------------- */

static const struct {
    uint32_t first, last;
} refused[] = {
    {0x0000, 0x001f},    {0x007f, 0x009f}, /* controls */
    {0x00ad, 0x00ad},                      /* soft hyphen: shown by some */
    {0x061c, 0x061c},    {0x200b, 0x200f}, {0x2028, 0x202e},
    {0x2060, 0x206f}, /* invisible,
                         direction */
    {0xfe00, 0xfe0f}, /* variants: they change the width */
    {0xfeff, 0xfeff},    {0xfff0, 0xfffb}, {0xe000, 0xf8ff},
    {0xe0000, 0x10ffff},
};

/* -1 = not to be shown. The locale is in use. */
static int width_of(uint32_t c)
{
    if (c >= 0x20 && c < 0x7f)
        return 1;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (c >= refused[i].first && c <= refused[i].last)
            return -1;
    return c == UINT32_MAX ? -1 : wcwidth((wchar_t)c);
}

struct output {
    char *out;
    size_t cap, len, columns;
    unsigned marks;  /* on the last base */
    size_t tail_len; /* what is to be kept if it is cut: with room for the mark */
    size_t tail_columns;
};

/* false = no more fits. */
static bool put(struct output *o, const char *bytes, size_t len, int width, size_t max)
{
    if (width == 0 && (o->columns == 0 || o->marks++ >= MARKS_MAX))
        return true;
    if (o->len + len + 1 > o->cap || o->columns + (size_t)width > max)
        return false;
    memcpy(o->out + o->len, bytes, len);
    o->len += len;
    o->columns += (size_t)width;
    o->marks = width > 0 ? 0 : o->marks;
    if (o->columns < max && o->len + 2 <= o->cap) {
        o->tail_len = o->len;
        o->tail_columns = o->columns;
    }
    return true;
}

static void fit(const struct columns *c, const char *text, size_t max, struct output *o)
{
    for (size_t len; *text != '\0'; text += len) {
        uint32_t point = columns_point(text, &len);
        int width = point < 0x80 || c->unicode ? width_of(point) : -1;
        if (width >= 0 ? put(o, text, len, width, max) : put(o, "?", 1, 1, max))
            continue;
        o->len = o->tail_len;
        o->columns = o->tail_columns;
        if (max > 0 && o->len + 2 <= o->cap) {
            o->out[o->len++] = '~';
            o->columns++;
        }
        break;
    }
    o->out[o->len] = '\0';
}

size_t columns_fit(const struct columns *c, const char *text, size_t max, char *out, size_t cap)
{
    struct output o = {.out = out, .cap = cap};
    if (cap == 0)
        return 0;
    locale_t before = (locale_t)0;
    if (c->locale != (locale_t)0)
        before = uselocale(c->locale);
    fit(c, text, max, &o);
    if (before != (locale_t)0)
        uselocale(before);
    return o.columns;
}

size_t columns_count(const struct columns *c, const char *text)
{
    size_t cap = strlen(text) + 1;
    char *out = mem_calloc(cap, 1);
    size_t n = columns_fit(c, text, SIZE_MAX, out, cap);
    mem_free(out);
    return n;
}
