/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_EXPECT_H
#define HAMMER_PROTO_EXPECT_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * What a response should be, as the options --expect-status and --expect-body have it. PURE.
 */

#define EXPECT_STATUS_TEXT 256
#define EXPECT_BODY_TEXT   4096
#define EXPECT_STATUS_MIN  100
#define EXPECT_STATUS_MAX  599
#define EXPECT_SHA256      32
#define EXPECT_REGEX_BYTES (64u << 10) /* a regular expression sees so much of a body */

struct expect_status {
    bool codes[EXPECT_STATUS_MAX + 1];
};

/* "200,204", "2xx", "200-299", and several of them with commas between. ERR_INVALID. */
enum err expect_status_parse(const char *text, struct expect_status *out) MUST_CHECK;

enum expect_kind {
    EXPECT_ANY,
    EXPECT_TEXT,   /* "=TEXT": exactly that */
    EXPECT_DIGEST, /* "sha256:HEX": of the whole body */
    EXPECT_REGEX   /* anything else: POSIX extended */
};

struct expect_body {
    enum expect_kind kind;
    const char *text; /* of TEXT and REGEX; borrowed from what was parsed */
    size_t len;       /* of text */
    uint8_t sha256[EXPECT_SHA256];
};

/* ERR_INVALID; of a regular expression only its size is looked at: see expect_compile. */
enum err expect_body_parse(const char *text, struct expect_body *out) MUST_CHECK;
/* Caller: regfree. Not for back-references, nor repetitions whose product is over 1000, for their
 * time or memory would have no bound. `why` (at least 80 bytes) is set on ERR_INVALID. */
enum err expect_compile(const char *regex, regex_t *out, char *why, size_t cap) MUST_CHECK;

#endif
