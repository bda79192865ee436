/* SPDX-License-Identifier: MIT */
#include "agent/client/h1_head.h"

#include <stdint.h>
#include <string.h>

/* "HTTP/1.1 200 ": where the digits are, and what must not be a fourth one. */
#define DIGITS_AT  9
#define DIGITS_END 12

struct cursor {
    char *bytes;
    size_t len, at;
    struct h1_head_piece *out;
};

void h1_head_start(struct h1_head *h)
{
    *h = (struct h1_head){.line = H1_LINE_START};
}

/* Everything else about the status line is left to the parser. */
static bool three_digits(struct h1_head *h, const char *text, size_t len)
{
    for (size_t i = 0; i < len && h->column <= DIGITS_END; i++, h->column++) {
        bool digit = text[i] >= '0' && text[i] <= '9';
        if (h->column >= DIGITS_AT && digit != (h->column < DIGITS_END))
            return false;
    }
    return true;
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Any control character? Eight bytes at a time, this runs on every byte of every response head. */
static bool has_control(const char *text, size_t len)
{
    for (; len >= 8; text += 8, len -= 8) {
        uint64_t x;
        memcpy(&x, text, 8);
        uint64_t del = x ^ EACH(0x7f);
        if ((((x - EACH(0x20)) & ~x) | ((del - EACH(1)) & ~del)) & EACH(0x80))
            return true;
    }
    for (; len > 0; text++, len--)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return true;
    return false;
}

/* HTAB is the one that may be there. A lone LF ends no line (section 2.2). */
static bool clean(char *text, size_t len)
{
    if (!has_control(text, len))
        return true;
    for (size_t i = 0; i < len; i++)
        if (text[i] == '\t')
            text[i] = ' ';
    return !has_control(text, len);
}

static bool at_start(struct h1_head *h, struct cursor *c)
{
    bool blank = c->bytes[c->at] == '\r';
    h->line = blank ? H1_LINE_BLANK : H1_LINE_TEXT;
    c->at += blank;
    return c->bytes[c->at - blank] != ':'; /* a field has a name */
}

/* Empty lines before the status line mean nothing (section 2.2). */
static bool in_blank(struct h1_head *h, struct cursor *c)
{
    h->line = h->fields ? H1_LINE_END : H1_LINE_START;
    return c->bytes[c->at++] == '\n';
}

static bool in_text(struct h1_head *h, struct cursor *c)
{
    char *text = c->bytes + c->at;
    char *cr = memchr(text, '\r', c->len - c->at);
    size_t n = cr != NULL ? (size_t)(cr - text) : c->len - c->at;
    size_t taken = n + (cr != NULL);
    c->at += taken;
    if (cr != NULL)
        h->line = H1_LINE_CR;
    return clean(text, n) && (h->fields || three_digits(h, text, taken));
}

static bool after_cr(struct h1_head *h, struct cursor *c)
{
    h->line = H1_LINE_CRLF;
    return c->bytes[c->at++] == '\n';
}

/* The next byte decides what the CRLF was. Whitespace before the first field continues nothing
 * (section 2.2): the parser refuses it. */
static bool after_crlf(struct h1_head *h, struct cursor *c)
{
    char next = c->bytes[c->at];
    bool folds = h->fields && (next == ' ' || next == '\t');
    if (c->at < 2) { /* it began in an earlier call */
        c->out->held = folds ? "  " : "\r\n";
        c->out->held_len = 2;
        c->out->from = c->at;
    } else if (folds) {
        memset(c->bytes + c->at - 2, ' ', 2);
    }
    h->line = folds ? H1_LINE_TEXT : H1_LINE_START;
    h->fields = true;
    return true;
}

static bool (*const steps[])(struct h1_head *h, struct cursor *c) = {
    [H1_LINE_START] = at_start, [H1_LINE_BLANK] = in_blank,  [H1_LINE_TEXT] = in_text,
    [H1_LINE_CR] = after_cr,    [H1_LINE_CRLF] = after_crlf,
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

bool h1_head_take(struct h1_head *h, char *bytes, size_t len, struct h1_head_piece *out)
{
    struct cursor c = {.bytes = bytes, .len = len, .out = out};
    *out = (struct h1_head_piece){.held = ""};
    while (c.at < len && h->line != H1_LINE_END)
        if (!steps[h->line](h, &c))
            return false;
    size_t hold = h->line == H1_LINE_CR ? 1 : h->line == H1_LINE_CRLF ? 2 : 0;
    out->taken = c.at;
    out->len = c.at - out->from - smaller(hold, c.at - out->from);
    return true;
}
