/* SPDX-License-Identifier: MIT */
#include "controller/watch/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_is_live(const struct run_options *o)
{
    const char *term = getenv("TERM");
    if (o->quiet || o->verbose || o->debug)
        return false;
    return term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0 && isatty(STDERR_FILENO);
}

void terminal_size(int fd, size_t *width, size_t *height)
{
    struct winsize size = {0};
    *width = 80;
    *height = 24;
    if (ioctl(fd, TIOCGWINSZ, &size) != 0)
        return;
    if (size.ws_col > 0)
        *width = size.ws_col;
    if (size.ws_row > 0)
        *height = size.ws_row;
}

bool terminal_is_ours(int fd)
{
    pid_t group = tcgetpgrp(fd);
    return group <= 0 || group == getpgrp(); /* none: it is not our controlling terminal */
}
