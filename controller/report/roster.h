/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_ROSTER_H
#define HAMMER_CONTROLLER_ROSTER_H

#include <stdbool.h>
#include <stdio.h>

#include "common/err.h"
#include "controller/run/survey.h"

/* What `hammer-ctl agents` prints: one row an agent, for people (at most 100 columns, as long as
 * names and texts allow it) or as JSON (schema hammer.agents/1, docs/agents.md). */

struct roster_problem {
    bool refused;
    size_t agent; /* SIZE_MAX = of all of them */
    char *text;   /* owned by whoever collected it */
};

struct roster {
    const struct inventory *inventory;
    const struct survey_agent *agents;
    const char *target; /* "http://HOST:PORT"; NULL = none was named */
    bool checked;       /* a preflight was made: problems are its result */
    const struct roster_problem *problems;
    size_t n_problems;
};

void roster_text(const struct roster *r, FILE *out);
enum err roster_json(const struct roster *r, FILE *out) MUST_CHECK;

#endif
