/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_EXPECTATION_H
#define HAMMER_AGENT_EXPECTATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/expect.h"

/*
 * Is a response as the plan wants it? One `expectation` a worker (matching an expression changes
 * it), one `expect_seen` for each response that is under way. No I/O. The first 64 KiB of a body
 * are kept for an expression, in a buffer that grows to the longest so far; the others keep nothing
 * of it.
 */

struct expectation {
    bool any_status, regex_made;
    struct expect_status status;
    struct expect_body body;
    regex_t regex;
    size_t searched; /* bytes, since it was made */
};

struct expect_seen {
    char *kept;
    size_t len, cap;
    void *digest;     /* libcrypto's */
    uint64_t matched; /* bytes that are as expected */
    bool differs;
};

/* What is not as expected; a status code stands for itself. */
#define EXPECT_MET  0
#define EXPECT_DIFF 1 /* the body */

/* NULL = nothing is expected. What is borrowed must outlive it. */
enum err expectation_init(struct expectation *e, const char *status, const char *body,
                          struct errmsg *msg) MUST_CHECK;
void expectation_clear(struct expectation *e);
static inline bool expectation_wants_body(const struct expectation *e)
{
    return e->body.kind != EXPECT_ANY;
}

/* Before the first byte of a body, which may be empty. */
void expectation_begin(const struct expectation *e, struct expect_seen *s);
void expectation_bytes(const struct expectation *e, struct expect_seen *s, const char *bytes,
                       size_t len);
/* EXPECT_MET, EXPECT_DIFF, or the status if that is not expected. */
int expectation_judge(struct expectation *e, struct expect_seen *s, int status);
void expectation_seen_clear(struct expect_seen *s);
/* "expectation: status 404" */
void expectation_text(int code, char *buf, size_t cap);

#endif
