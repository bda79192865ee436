/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_TERMINAL_H
#define HAMMER_CONTROLLER_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "controller/cmd/run_options.h"

/* What is on the other side of a descriptor. */

/* Is stderr a terminal where a block can be redrawn, and do the options leave it alone? */
bool terminal_is_live(const struct run_options *o);
/* 80 by 24 where it does not say. */
void terminal_size(int fd, size_t *width, size_t *height);
/* May this process write to it now, or does another job have it? */
bool terminal_is_ours(int fd);

#endif
