/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_HIST_BYTES_H
#define HAMMER_TESTS_HIST_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "common/hist.h"

/*
 * Encoded histograms for tests. Each p is an own heap block of exactly len bytes, so that the
 * sanitizer sees a read past the end; the caller frees it. Failures end the running test.
 */

struct bytes {
    uint8_t *p;
    size_t len;
};

#define BYTES_VECTOR_COLUMN  22 /* v2_base64 in vectors.tsv */
#define BYTES_VECTOR_COLUMNS 24

struct bytes bytes_encode(const struct hist *h);
struct hist *bytes_decode(struct bytes b);
/* Copy of the first len bytes. */
struct bytes bytes_cut(struct bytes b, size_t len);
/* The bytes of a named golden vector; path is that of vectors.tsv. */
struct bytes bytes_vector(const char *path, const char *name);

#endif
