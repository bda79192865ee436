/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_H1_HEAD_H
#define HAMMER_AGENT_H1_HEAD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What a header block goes through before llhttp sees it, so that every version of llhttp says the
 * same of it: a folded line becomes one line (RFC 9112 section 5.2), HTAB becomes SP (RFC 9110
 * section 5.6.3), a status code has three digits (RFC 9112 section 4), and the block ends with its
 * empty line. Byte for byte, in place: no I/O, no allocation; the result does not depend on the
 * cut.
 */

enum h1_line {
    H1_LINE_START,
    H1_LINE_TEXT,
    H1_LINE_CR,    /* held back: is it the line's end? */
    H1_LINE_CRLF,  /* held back: does the next line continue this one? */
    H1_LINE_BLANK, /* the CR of an empty line */
    H1_LINE_END    /* of the block */
};

struct h1_head {
    enum h1_line line;
    bool fields;     /* past the status line */
    unsigned column; /* in the status line, as far as it matters */
};

/* What the parser is to see: `held`, then `len` bytes from `from` on. */
struct h1_head_piece {
    const char *held;
    size_t held_len;
    size_t from, len;
    size_t taken; /* all of these, and what is held back now */
};

/* Before the first byte of each block. */
void h1_head_start(struct h1_head *h);
/* Takes bytes up to the end of the block at most; false = not a header block. */
bool h1_head_take(struct h1_head *h, char *bytes, size_t len, struct h1_head_piece *out);

#endif
