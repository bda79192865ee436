/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_YAML_BOUNDS_H
#define HAMMER_COMMON_YAML_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A look at a YAML text before libyaml makes a document of it, for which it takes a time that grows
 * with the square of the depth and of the number of anchors: minutes for a file of 200 kB.
 */

#define YAML_DEPTH_MAX   32
#define YAML_ANCHORS_MAX 256

struct yaml_excess {
    const char *what;    /* "more than 32 lists and mappings inside each other" */
    size_t line, column; /* from 1 */
};

/* false = *out says what there is too much of. A text that is no YAML is left to who reads it next.
 */
bool yaml_within_bounds(const void *text, size_t len, struct yaml_excess *out);

#endif
