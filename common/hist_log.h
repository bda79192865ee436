/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_HIST_LOG_H
#define HAMMER_COMMON_HIST_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/hist.h"

/*
 * The compressed form of HdrHistogram's V2 encoding, as histogram logs have it: a cookie
 * (0x1c849314), a length, a zlib stream of the encoding, all of it in base64. Pure but for memory.
 */

/* A new string, the caller's (mem_free): "HISTFAAAA...". */
char *hist_log_encode(const struct hist *h);
/* A NEW histogram; the caller frees. What is foreign: memory is bounded by the geometry the bytes
 * claim before any of it is taken. ERR_TRUNCATED / ERR_TOO_BIG / ERR_RANGE / ERR_CORRUPT, and *out
 * stays NULL. */
enum err hist_log_decode(const char *text, size_t len, struct hist **out) MUST_CHECK;

#endif
