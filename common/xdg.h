/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_XDG_H
#define HAMMER_COMMON_XDG_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Where files of this user are (XDG Base Directory Specification): below $XDG_CONFIG_HOME/hammer,
 * else ~/.config/hammer; below $XDG_STATE_HOME/hammer, else ~/.local/state/hammer; below
 * $XDG_DATA_HOME/hammer, else ~/.local/share/hammer. Relative values are invalid and ignored, and a
 * home that is not there is none: it is never made. Nothing else is looked for. false = there is no
 * folder, or the path does not fit.
 */
bool xdg_config_path(const char *name, char *buf, size_t cap);
bool xdg_state_path(const char *name, char *buf, size_t cap);
bool xdg_data_path(const char *name, char *buf, size_t cap);

#endif
