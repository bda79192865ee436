/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_H1_TRAILER_H
#define HAMMER_AGENT_H1_TRAILER_H

#include <stddef.h>

/*
 * The trailer section of a chunked response (RFC 9112 section 7.1.2): fields up to an empty line.
 * Only its form is checked: what the fields say is not for framing (RFC 9110 section 6.5.1), and
 * versions of llhttp differ in what they make of it. No I/O, no allocation, never fails.
 */

enum h1_trailer {
    H1_TRAILER_START,
    H1_TRAILER_LINE,
    H1_TRAILER_NAME,
    H1_TRAILER_VALUE,
    H1_TRAILER_CR,
    H1_TRAILER_BLANK,
    H1_TRAILER_END, /* complete: nothing more is taken */
    H1_TRAILER_BAD  /* not a trailer section: nothing more is taken */
};

/* Goes on from `t` and returns where it got to; *used says how many bytes were taken. */
enum h1_trailer h1_trailer_take(enum h1_trailer t, const char *bytes, size_t len, size_t *used);

#endif
