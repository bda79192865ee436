/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_GIVEN_H
#define HAMMER_CONTROLLER_GIVEN_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/plan.h"

/*
 * PURE: the plan's options as the user gave them, ready to be shown: what is secret is replaced,
 * and a body is told by its length. Made from the option rows, so that a new option appears by
 * itself; what is special about an option stands in one table here.
 */

struct given {
    char name[OPTION_GIVEN_NAME]; /* without the dashes */
    bool flag;                    /* it has no value */
    bool list;                    /* it was given n times; value is the i-th */
    bool in_head;                 /* the head of the text report says it in its own words */
    size_t n, i;
    char *value; /* valid during the call */
};

typedef void (*given_fn)(void *arg, const struct given *g);

/* Calls fn for every option that was given, a list's items one after another. `secret_headers`:
 * see redact_header. */
void given_each(const struct plan *p, const char *secret_headers, given_fn fn, void *arg);

#endif
