/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_CONDITIONS_H
#define HAMMER_CONTROLLER_CONDITIONS_H

#include "common/err.h"
#include "controller/run/condition.h"
#include "proto/wire.h"

/* Conditions of a run as its journal keeps them: their texts, a line each. */

/* The caller's (mem_free). */
char *conditions_text(const struct condition_list *l);
/* Adds them to the list; errors begin with `whose`. */
enum err conditions_read(const struct wire_blob *text, const char *whose, struct condition_list *l,
                         struct errmsg *msg) MUST_CHECK;

#endif
