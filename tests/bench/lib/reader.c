/* SPDX-License-Identifier: MIT */
#include "tests/bench/lib/reader.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char end_of_head[] = "\r\n\r\n";
static const char length_field[] = "\r\nContent-Length: ";

/* Length of the header with its empty line, 0 = it is not all there. */
static size_t head_size(const char *buf, size_t len)
{
    const char *end = memmem(buf, len, end_of_head, sizeof end_of_head - 1);
    return end != NULL ? (size_t)(end - buf) + sizeof end_of_head - 1 : 0;
}

static bool body_size(const char *head, size_t len, uint64_t *size)
{
    const char *field = memmem(head, len, length_field, sizeof length_field - 1);
    if (field == NULL)
        return false;
    *size = 0;
    for (const char *p = field + sizeof length_field - 1; *p >= '0' && *p <= '9'; p++)
        *size = *size * 10 + (uint64_t)(*p - '0');
    return true;
}

/* Completes the kept piece of a header; the number of bytes taken, 0 = not understood. */
static size_t feed_kept(struct reader *r, const char *buf, size_t len)
{
    size_t had = r->head_len, more = READER_HEAD - had;
    if (more > len)
        more = len;
    memcpy(r->head + had, buf, more);
    r->head_len += more;
    size_t size = head_size(r->head, r->head_len);
    if (size == 0)
        return r->head_len < READER_HEAD ? more : 0;
    if (!body_size(r->head, size, &r->body_left))
        return 0;
    r->head_len = 0;
    return size - had;
}

/* A header at the front of buf; the number of bytes taken, 0 = not understood. */
static size_t feed_head(struct reader *r, const char *buf, size_t len)
{
    size_t size = head_size(buf, len);
    if (r->head_len > 0 || size == 0)
        return feed_kept(r, buf, len);
    return body_size(buf, size, &r->body_left) ? size : 0;
}

size_t reader_feed(struct reader *r, const char *buf, size_t len)
{
    size_t done = 0;
    while (len > 0) {
        bool in_body = r->body_left > 0;
        size_t taken = in_body ? (r->body_left < len ? r->body_left : len) : feed_head(r, buf, len);
        if (taken == 0)
            return READER_BAD;
        if (in_body)
            r->body_left -= taken;
        done += r->body_left == 0 && r->head_len == 0;
        buf += taken;
        len -= taken;
    }
    return done;
}
