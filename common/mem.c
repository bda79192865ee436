/* SPDX-License-Identifier: MIT */
#include "common/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *p, size_t n, size_t size)
{
    if (p == NULL) {
        fprintf(stderr, "hammer: out of memory (%zu x %zu bytes)\n", n, size);
        abort();
    }
    return p;
}

void *mem_calloc(size_t n, size_t size)
{
    if (n == 0 || size == 0)
        n = size = 1;
    return checked(calloc(n, size), n, size);
}

void *mem_realloc(void *p, size_t n, size_t size)
{
    if (n == 0 || size == 0)
        n = size = 1;
    return checked(reallocarray(p, n, size), n, size);
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
    free(p);
}
