/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_MEM_WATCH_H
#define HAMMER_TESTS_MEM_WATCH_H

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

/*
 * common/mem's functions with an eye on what is asked for: shows that foreign bytes cannot make the
 * program allocate. Include it in ONE file of a test program; it stands in for mem.o of the
 * library.
 */

static struct {
    size_t bytes;   /* asked for since mem_watch_reset */
    size_t largest; /* of one request */
    size_t live;    /* objects not freed yet, over all time */
} mem_watch;

static inline void mem_watch_reset(void)
{
    mem_watch.bytes = mem_watch.largest = 0;
}

static inline void mem_watch_note(size_t n)
{
    mem_watch.bytes += n;
    if (n > mem_watch.largest)
        mem_watch.largest = n;
}

void *mem_calloc(size_t n, size_t size)
{
    void *p = calloc(n == 0 ? 1 : n, size == 0 ? 1 : size);
    if (p == NULL)
        abort();
    mem_watch_note(n * size);
    mem_watch.live++;
    return p;
}

void *mem_realloc(void *p, size_t n, size_t size)
{
    mem_watch.live += p == NULL;
    p = reallocarray(p, n == 0 ? 1 : n, size == 0 ? 1 : size);
    if (p == NULL)
        abort();
    mem_watch_note(n * size);
    return p;
}

char *mem_strdup(const char *s)
{
    return s == NULL ? NULL : mem_dup(s, strlen(s));
}

void *mem_dup(const void *p, size_t len)
{
    if (p == NULL)
        return NULL;
    char *copy = mem_calloc(len + 1, 1);
    memcpy(copy, p, len);
    return copy;
}

void mem_free(void *p)
{
    mem_watch.live -= p != NULL;
    free(p);
}

#endif
