/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_PLAN_AGAIN_H
#define HAMMER_CONTROLLER_PLAN_AGAIN_H

#include "common/err.h"
#include "proto/plan.h"

/* The plan of a stored run, to be run once more. */

struct plan_again {
    struct plan plan;
    char run_id[33], name[64]; /* of the stored run */
};

/* `word`: a run of the history, as store_find has it; db NULL = the default one. Secrets are not
 * stored: they are taken from `given`, where it has a header, a variable or a key of that name;
 * what it lacks is refused by name. */
enum err plan_again_load(const char *word, const char *db, const struct plan *given,
                         struct plan_again *out, struct errmsg *msg) MUST_CHECK;
void plan_again_clear(struct plan_again *a); /* a zeroed one is fine */

#endif
