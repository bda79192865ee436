/* SPDX-License-Identifier: MIT */
#include "controller/report/text.h"

#include <stdarg.h>
#include <string.h>

#include "common/units.h"

void text_label(FILE *out, const char *label)
{
    fprintf(out, "  %-*s", TEXT_INDENT - 2, label);
}

struct text_flow text_begin(FILE *out, const char *label)
{
    text_label(out, label);
    return (struct text_flow){.out = out, .indent = TEXT_INDENT, .column = TEXT_INDENT};
}

struct text_flow text_begin_at(FILE *out, size_t indent)
{
    fprintf(out, "%*s", (int)indent, "");
    return (struct text_flow){.out = out, .indent = indent, .column = indent};
}

static void put(struct text_flow *f, const char *glue, const char *piece, size_t len)
{
    if (f->items > 0 && f->column + strlen(glue) + len > TEXT_WIDTH) {
        fprintf(f->out, "%.*s\n%*s", (int)strcspn(glue, " "), glue, (int)f->indent, "");
        f->column = f->indent;
    } else if (f->items > 0) {
        fputs(glue, f->out);
        f->column += strlen(glue);
    }
    for (size_t i = 0; i < len; i++)
        fputc((unsigned char)piece[i] < 32 || piece[i] == 127 ? '?' : piece[i], f->out);
    f->column += len;
    f->items++;
}

void text_item(struct text_flow *f, const char *glue, const char *fmt, ...)
{
    char piece[128];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(piece, sizeof piece, fmt, ap);
    va_end(ap);
    put(f, glue, piece, strlen(piece));
}

void text_words(struct text_flow *f, const char *sentence)
{
    while (*sentence != '\0') {
        size_t len = strcspn(sentence, " ");
        if (len > TEXT_WIDTH)
            len = TEXT_WIDTH; /* a long address or path stays whole, so that it can be copied */
        if (len > 0)
            put(f, " ", sentence, len);
        sentence += len;
        sentence += strspn(sentence, " ");
    }
}

void text_end(struct text_flow *f)
{
    fputc('\n', f->out);
}

void text_cell(struct text_row *r, int width, const char *text, bool marked)
{
    bool dim = marked && r->dim;
    fprintf(r->out, "%s%*s%s%s", dim ? "\033[2m" : "", width - r->after_mark, text,
            marked ? "~" : "", dim ? "\033[22m" : "");
    r->after_mark = marked;
}

void text_cell_latency(struct text_row *r, int width, uint64_t ns, bool marked)
{
    char text[UNITS_TEXT];
    text_cell(r, width, units_format_latency(ns, text), marked);
}

const char *text_without_scheme(const char *address)
{
    static const char *const schemes[] = {"tls+tcp://", "tcp://"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (strncmp(address, schemes[i], strlen(schemes[i])) == 0)
            return address + strlen(schemes[i]);
    return address;
}
