/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_HIST_CODEC_H
#define HAMMER_COMMON_HIST_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/hist.h"

/*
 * HdrHistogram V2 encoding (cookie 0x1c849313), big-endian header of 40 bytes and a payload of
 * zigzag LEB128-64b9B counters with zero runs; byte-compatible with Java HdrHistogram 2.1.11.
 * Offset 0 and ratio 1.0 are written, both are ignored on reading; one zero may be spelled 0 or as
 * a run of 1. The compressed form (files) is added with the formats that need it.
 */

#define HIST_V2_HEADER 40

/* Upper bound of the encoded size. */
size_t hist_encode_max(const struct hist *h);
/* Writes the V2 form; *len is what was used. ERR_TOO_BIG when cap is too small. */
enum err hist_encode(const struct hist *h, uint8_t *buf, size_t cap, size_t *len) MUST_CHECK;

/* A NEW histogram with the geometry of the bytes; caller frees. Truncated, oversized, overflowing,
 * lying input gives ERR_TRUNCATED / ERR_TOO_BIG / ERR_RANGE / ERR_CORRUPT and *out stays NULL. */
enum err hist_decode(const uint8_t *buf, size_t len, struct hist **out) MUST_CHECK;

/* Replaces what is in h, whose memory is used again, by the bytes and the figures that travelled
 * beside them (hist_set_exact). ERR_CORRUPT also when the geometry is not h's. After an error h is
 * empty. */
enum err hist_decode_exact(const uint8_t *buf, size_t len, const struct hist_exact *x,
                           struct hist *h) MUST_CHECK;

/* h += the bytes. On an error h is untouched. */
enum err hist_decode_add(const uint8_t *buf, size_t len, struct hist *h) MUST_CHECK;

#endif
