/* SPDX-License-Identifier: MIT */
#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The one allowed file-scope state: set in main before any thread exists, read-only afterwards. */
static struct {
    const char *program;
    enum log_level level;
    int journal;
} log_state = {"hammer", LOG_LEVEL_INFO, 0};

static const struct {
    const char *name;
    int priority; /* syslog priority, sd-daemon(3) */
} levels[] = {
    [LOG_LEVEL_ERROR] = {"error", 3},
    [LOG_LEVEL_WARN] = {"warning", 4},
    [LOG_LEVEL_INFO] = {"info", 6},
    [LOG_LEVEL_DEBUG] = {"debug", 7},
};

void log_open(const char *program, enum log_level level)
{
    log_state.program = program;
    log_state.level = level;
    log_state.journal = getenv("JOURNAL_STREAM") != NULL;
}

void log_write(enum log_level level, const char *prefix, const char *fmt, ...)
{
    if (level > log_state.level)
        return;
    int saved = errno;
    char line[1024];
    int n;
    if (log_state.journal)
        n = snprintf(line, sizeof line, "<%d>%s: ", levels[level].priority, prefix);
    else
        n = snprintf(line, sizeof line, "%s: %s: %s: ", log_state.program, levels[level].name,
                     prefix);
    if (n < 0 || (size_t)n >= sizeof line - 2)
        n = 0;
    va_list ap;
    va_start(ap, fmt);
    int m = vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, ap);
    va_end(ap);
    size_t len = (size_t)n + (m > 0 ? (size_t)m : 0);
    if (len > sizeof line - 2)
        len = sizeof line - 2;
    line[len++] = '\n';
    if (write(STDERR_FILENO, line, len) < 0) {
        /* stderr is gone: there is nobody left to tell */
    }
    errno = saved;
}
