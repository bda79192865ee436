/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_MEM_H
#define HAMMER_COMMON_MEM_H

#include <stddef.h>

/*
 * Allocators for set-up and for small control-path objects. Out of memory ends the process with a
 * message: a load generator without memory cannot be trusted to measure. Sizes that come from
 * foreign bytes are bounded BEFORE they reach these. Never on the hot path.
 */

/* Zeroed memory for n objects of `size` bytes; overflow of the product ends the process. */
void *mem_calloc(size_t n, size_t size);

/* Grows or shrinks; contents kept, new bytes undefined. */
void *mem_realloc(void *p, size_t n, size_t size);

/* Copy of a string / of `len` bytes plus a terminating NUL. NULL gives NULL. */
char *mem_strdup(const char *s);
void *mem_dup(const void *p, size_t len);

/* free(3); NULL is fine. */
void mem_free(void *p);

#endif
