/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TARGET_RESPONSE_H
#define HAMMER_TARGET_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/target/options.h"

/* The bytes of every response the server can give, made once at start. */

struct response_text {
    char *bytes;
    size_t len;
};

/* Variants of one status: [with body or without][connection stays or closes][framing]. */
struct response_set {
    struct response_text text[2][2][2];
};

struct responses {
    struct response_set ok;    /* 200 */
    struct response_set other; /* --status */
    uint32_t other_status;
    struct response_text bad;   /* 400, closes */
    struct response_text go_on; /* 100 Continue */
};

void responses_init(struct responses *rs, const struct target_options *o);
void responses_fini(struct responses *rs);

struct response_kind {
    uint32_t status;
    bool no_body; /* HEAD */
    bool closes;  /* says Connection: close */
    bool plain;   /* HTTP/1.0: never in chunks */
};

/* Valid until responses_fini. `kind.status` is 200 or that of --status. */
const struct response_text *responses_get(const struct responses *rs, struct response_kind kind);

#endif
