/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_OPTION_HELP_H
#define HAMMER_COMMON_OPTION_HELP_H

#include <stdbool.h>
#include <stddef.h>

#include "common/option.h"

/* The part of `option` that shows names to people: walking aliases, and the nearest known name.
 * (option_help itself is declared in option.h.) */

/* Longest option word with its dashes and NUL. */
#define OPTION_WORD 64

/* Walks a row's alias list: start with {row->aliases, 0}; false = no more. text is not terminated.
 */
struct option_alias {
    const char *text;
    size_t len;
};

bool option_alias_next(struct option_alias *a);

/* Walks the rows that count in a group: start with *at = 0; NULL = no more. */
const struct option_row *option_group_next(const struct option_group *g, size_t *at);

/* Writes the known word, dashes included, that is nearest to the unknown `word` (anything after '='
 * is ignored); false when none is near. */
bool option_nearest(const struct option_row *rows, size_t n_rows, const char *word,
                    char near[OPTION_WORD]);

#endif
