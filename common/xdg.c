/* SPDX-License-Identifier: MIT */
#include "common/xdg.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool below(const char *variable, const char *otherwise, const char *name, char *buf,
                  size_t cap)
{
    const char *xdg = getenv(variable), *home = getenv("HOME");
    int n = -1;
    if (xdg != NULL && xdg[0] == '/')
        n = snprintf(buf, cap, "%s/hammer/%s", xdg, name);
    else if (home != NULL && home[0] == '/' && access(home, X_OK) == 0) /* a home is never made */
        n = snprintf(buf, cap, "%s/%s/hammer/%s", home, otherwise, name);
    return n >= 0 && (size_t)n < cap;
}

bool xdg_config_path(const char *name, char *buf, size_t cap)
{
    return below("XDG_CONFIG_HOME", ".config", name, buf, cap);
}

bool xdg_state_path(const char *name, char *buf, size_t cap)
{
    return below("XDG_STATE_HOME", ".local/state", name, buf, cap);
}

bool xdg_data_path(const char *name, char *buf, size_t cap)
{
    return below("XDG_DATA_HOME", ".local/share", name, buf, cap);
}
