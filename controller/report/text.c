/* SPDX-License-Identifier: MIT */
#include "controller/report/text.h"

#include <stdarg.h>
#include <string.h>

void text_label(FILE *out, const char *label)
{
    fprintf(out, "  %-*s", TEXT_INDENT - 2, label);
}

struct text_flow text_begin(FILE *out, const char *label)
{
    text_label(out, label);
    return (struct text_flow){.out = out, .column = TEXT_INDENT};
}

static void put(struct text_flow *f, const char *glue, const char *piece, size_t len)
{
    if (f->items > 0 && f->column + strlen(glue) + len > TEXT_WIDTH) {
        fprintf(f->out, "%.*s\n%*s", (int)strcspn(glue, " "), glue, TEXT_INDENT, "");
        f->column = TEXT_INDENT;
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
        if (len > TEXT_WIDTH - TEXT_INDENT)
            len = TEXT_WIDTH - TEXT_INDENT;
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

const char *text_without_scheme(const char *address)
{
    static const char *const schemes[] = {"tls+tcp://", "tcp://"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (strncmp(address, schemes[i], strlen(schemes[i])) == 0)
            return address + strlen(schemes[i]);
    return address;
}
