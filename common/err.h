/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_ERR_H
#define HAMMER_COMMON_ERR_H

/*
 * One error enum for the whole program and a holder for the sentence shown to the user. A fallible
 * function returns `enum err` (0 = ERR_OK), must be checked, and gives results through its last
 * parameters.
 */

#define MUST_CHECK        __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

enum err {
    ERR_OK = 0,
    ERR_INVALID,   /* the caller's or user's input is not acceptable */
    ERR_RANGE,     /* a number is outside what is accepted */
    ERR_NOMEM,     /* out of memory or over a stated bound */
    ERR_TRUNCATED, /* foreign bytes end too early */
    ERR_CORRUPT,   /* foreign bytes contradict themselves or the format */
    ERR_TOO_BIG,   /* foreign bytes ask for more than is allowed */
    ERR_SYSTEM,    /* a system call failed; errno or the errmsg says which */
    ERR_TIMEOUT,   /* a deadline passed */
    ERR_CLOSED,    /* the other side is gone */
    ERR_BUSY,      /* somebody else holds it, or a queue is full */
    ERR_VERSION,   /* protocol versions do not meet */
    ERR_STATE,     /* not allowed in this state */
    ERR_REFUSED,   /* the other side said no */
    ERR_NOT_FOUND, /* no such thing */
    ERR_COUNT
};

/* A sentence for the user. Embedded by value; empty text = nothing was said. */
struct errmsg {
    char text[512];
};

/* Short English name of the code, never NULL. */
const char *err_str(enum err e);

/* Formats the sentence (cut at the holder's size) and returns `e`, so that a failing function can
 * say `return errmsg_set(msg, ERR_INVALID, ...)`. `msg` may be NULL. */
enum err errmsg_set(struct errmsg *msg, enum err e, const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
