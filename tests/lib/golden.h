/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_GOLDEN_H
#define HAMMER_TESTS_GOLDEN_H

#include <stddef.h>
#include <stdint.h>

/*
 * Reader of the tab-separated golden files in tests/data. A line that starts with '#' is a comment.
 * Anything unreadable fails the running test.
 */

#define GOLDEN_FIELDS_MAX 32

/* fields: NUL-terminated, valid during the call. */
typedef void (*golden_row_fn)(void *arg, char *const *fields, size_t n);

/* Calls fn for each row; returns the number of rows. */
size_t golden_each(const char *path, golden_row_fn fn, void *arg);

/* Bytes of the base64 text; the caller frees. */
uint8_t *golden_base64(const char *text, size_t *len);

#endif
