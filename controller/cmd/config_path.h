/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_CONFIG_PATH_H
#define HAMMER_CONTROLLER_CONFIG_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* The user's own file of that name: $XDG_CONFIG_HOME/hammer/NAME, else ~/.config/hammer/NAME;
 * whether it exists or not. false = there is no home, or the path does not fit. */
bool config_path(const char *name, char *buf, size_t cap);

#endif
