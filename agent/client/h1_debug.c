/* SPDX-License-Identifier: MIT */
#include "agent/client/h1_debug.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "proto/snapshot.h"

#define CAP_MIN 1024

static void add(char **to, size_t *len, size_t *cap, const char *bytes, size_t n)
{
    if (n > SNAPSHOT_DEBUG - *len)
        n = SNAPSHOT_DEBUG - *len;
    if (*len + n > *cap) {
        *cap = *cap == 0 ? CAP_MIN : *cap;
        while (*cap < *len + n)
            *cap *= 2;
        *to = mem_realloc(*to, *cap, 1);
    }
    for (size_t i = 0; i < n; i++) /* it is going to be a string */
        (*to)[*len + i] = bytes[i] != '\0' ? bytes[i] : '.';
    *len += n;
}

static void text(struct h1_debug *d, const char *bytes, size_t n)
{
    add(&d->text, &d->len, &d->cap, bytes, n);
}

/* Each line with that mark before it, and without its end. */
static void lines(struct h1_debug *d, const char *mark, const char *bytes, size_t n)
{
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        size_t taken = end != NULL ? (size_t)(end - bytes) + 1 : n;
        size_t len = taken - (end != NULL);
        len -= len > 0 && bytes[len - 1] == '\r';
        text(d, mark, 2);
        text(d, bytes, len);
        text(d, "\n", 1);
        bytes += taken;
        n -= taken;
    }
}

static void content(struct h1_debug *d, const char *bytes, size_t n, size_t all)
{
    char more[64];
    n = n < H1_DEBUG_BODY ? n : H1_DEBUG_BODY;
    lines(d, "| ", bytes, n);
    int len = snprintf(more, sizeof more, "* %zu bytes of body%s\n", all,
                       n < all ? ", of which the first 4096" : "");
    if (all > 0)
        text(d, more, (size_t)len);
}

void h1_debug_sent(struct h1_debug *d, const struct request_bytes *r)
{
    d->fields_len = d->body_len = d->body_all = 0;
    lines(d, "> ", r->bytes, r->head_len);
    content(d, r->bytes + r->head_len, r->len - r->head_len, r->len - r->head_len);
}

void h1_debug_field(struct h1_debug *d, const char *name, const char *value, size_t len)
{
    add(&d->fields, &d->fields_len, &d->fields_cap, name, strlen(name));
    add(&d->fields, &d->fields_len, &d->fields_cap, ": ", 2);
    add(&d->fields, &d->fields_len, &d->fields_cap, value, len);
    add(&d->fields, &d->fields_len, &d->fields_cap, "\n", 1);
}

void h1_debug_body(struct h1_debug *d, const char *bytes, size_t len)
{
    size_t room = H1_DEBUG_BODY - d->body_len;
    d->body_all += len;
    add(&d->body, &d->body_len, &d->body_cap, bytes, len < room ? len : room);
}

void h1_debug_end(struct h1_debug *d, unsigned minor, int status)
{
    char line[64];
    int n = snprintf(line, sizeof line, "< HTTP/1.%u %d\n", minor, status);
    text(d, line, (size_t)n);
    lines(d, "< ", d->fields, d->fields_len);
    text(d, "< \n", 3);
    content(d, d->body, d->body_len, d->body_all);
}

void h1_debug_clear(struct h1_debug *d)
{
    mem_free(d->text);
    mem_free(d->fields);
    mem_free(d->body);
    *d = (struct h1_debug){0};
}
