/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TARGET_RESPONSE_H
#define HAMMER_TARGET_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/target/options.h"

/* The bytes of every response the server can give, made once at start. */

struct httpd_response_text {
    char *bytes;
    size_t len;
};

/* Variants of one status: [with body or without][connection stays or closes][framing]. */
struct httpd_response_set {
    struct httpd_response_text text[2][2][2];
};

struct httpd_responses {
    struct httpd_response_set ok;    /* 200 */
    struct httpd_response_set other; /* --status */
    uint32_t other_status;
    struct httpd_response_text bad;   /* 400, closes */
    struct httpd_response_text go_on; /* 100 Continue */
};

void httpd_responses_init(struct httpd_responses *rs, const struct httpd_options *o);
void httpd_responses_fini(struct httpd_responses *rs);

struct httpd_response_kind {
    uint32_t status;
    bool no_body; /* HEAD */
    bool closes;  /* says Connection: close */
    bool plain;   /* HTTP/1.0: never in chunks */
};

/* Valid until httpd_responses_fini. `kind.status` is 200 or that of --status. */
const struct httpd_response_text *httpd_responses_get(const struct httpd_responses *rs,
                                                      struct httpd_response_kind kind);

#endif
