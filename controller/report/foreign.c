/* SPDX-License-Identifier: MIT */
#include "controller/report/foreign.h"

#include <stdbool.h>
#include <string.h>

/* What a sequence of so many bytes begins with, and the least it may stand for. */
static const struct {
    uint8_t mask, lead;
    uint32_t least;
} sequences[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

static const struct {
    uint32_t first, last;
} unwanted[] = {
    {0, 0x1f},        {0x7f, 0x9f},     {0x200e, 0x200f},       {0x2028, 0x202e},
    {0x2066, 0x2069}, {0xd800, 0xdfff}, {0xfdd0, 0xfdef},       {0xfeff, 0xfeff},
    {0xfff9, 0xfffb}, {0xfffe, 0xffff}, {0x110000, UINT32_MAX},
};

static bool is_wanted(uint32_t c)
{
    for (size_t i = 0; i < sizeof unwanted / sizeof unwanted[0]; i++)
        if (c >= unwanted[i].first && c <= unwanted[i].last)
            return false;
    return true;
}

size_t foreign_next(const char *text, uint32_t *c)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t n = 0;
    *c = '?';
    while (n < 4 && (p[0] & sequences[n].mask) != sequences[n].lead)
        n++;
    if (n == 4)
        return 1;
    uint32_t v = p[0] & (uint8_t)~sequences[n].mask;
    for (size_t i = 1; i <= n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return i; /* the end too */
        v = v << 6 | (p[i] & 0x3f);
    }
    if (v >= sequences[n].least && is_wanted(v))
        *c = v;
    return n + 1;
}

static void put(FILE *out, const char *text, size_t len, uint32_t c)
{
    if (c == '?')
        fputc('?', out);
    else
        fwrite(text, 1, len, out);
}

void foreign_xml(FILE *out, const char *text)
{
    uint32_t c;
    for (size_t len; *text != '\0'; text += len) {
        len = foreign_next(text, &c);
        if (c < 128 && strchr("&<>\"'", (int)c) != NULL)
            fprintf(out, "&#%u;", (unsigned)c);
        else
            put(out, text, len, c);
    }
}

/* An entity is never markup. What looks for mentions and issues reads what is shown, piece by
 * piece: the comment ends a piece. Of an address the colon, or it becomes a link. */
void foreign_markdown(FILE *out, const char *text)
{
    uint32_t c;
    for (size_t len; *text != '\0'; text += len) {
        len = foreign_next(text, &c);
        if (c < 128 && strchr("@#", (int)c) != NULL)
            fprintf(out, "&#%u;<!-- -->", (unsigned)c);
        else if (c < 128 && strchr("&<>\"'|`*_[]\\~!$:{}^", (int)c) != NULL)
            fprintf(out, "&#%u;", (unsigned)c);
        else
            put(out, text, len, c);
    }
}

void foreign_csv(FILE *out, const char *text)
{
    uint32_t c;
    bool formula = text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL;
    bool quoted = formula || strpbrk(text, ",\"\r\n ;\t") != NULL;
    if (quoted)
        fputs(formula ? "\"'" : "\"", out);
    for (size_t len; *text != '\0'; text += len) {
        len = foreign_next(text, &c);
        if (c == '"')
            fputc('"', out);
        put(out, text, len, c);
    }
    if (quoted)
        fputc('"', out);
}
