/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_ALLOC_COUNT_H
#define HAMMER_TESTS_ALLOC_COUNT_H

#include <stdint.h>
#include <stdlib.h>

/*
 * Counts this thread's allocations by standing in front of glibc's allocator, so that those of
 * libraries count as well. Include it in ONE file of a test program. A sanitizer brings its own
 * allocator: there is nothing to stand in front of, and the count stays 0.
 */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTING 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTING 0
#endif
#endif
#ifndef COUNTING
#define COUNTING 1
#endif

/* By thread: the server's threads share the process. Volatile: a compiler knows malloc, and that it
 * touches no variable of ours. */
static _Thread_local volatile uint64_t allocations;
/* Of one; to be reset by the user, where there is one. */
static _Thread_local size_t alloc_largest __attribute__((unused));

#if COUNTING
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static void alloc_note(size_t size)
{
    allocations++;
    if (size > alloc_largest)
        alloc_largest = size;
}

void *malloc(size_t n)
{
    alloc_note(n);
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    alloc_note(n * size);
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    alloc_note(n);
    return __libc_realloc(p, n);
}
#endif

static inline uint64_t alloc_count(void)
{
    return allocations;
}

#endif
