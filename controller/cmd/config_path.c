/* SPDX-License-Identifier: MIT */
#include "controller/cmd/config_path.h"

#include <stdio.h>
#include <stdlib.h>

bool config_path(const char *name, char *buf, size_t cap)
{
    /* Relative ones are invalid and ignored: XDG Base Directory Specification. */
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int n = -1;
    if (xdg != NULL && xdg[0] == '/')
        n = snprintf(buf, cap, "%s/hammer/%s", xdg, name);
    else if (home != NULL && home[0] == '/')
        n = snprintf(buf, cap, "%s/.config/hammer/%s", home, name);
    return n >= 0 && (size_t)n < cap;
}
