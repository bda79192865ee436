/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_LOG_H
#define HAMMER_COMMON_LOG_H

#include "common/err.h"

/*
 * Log lines on stderr. warn = an operator must act, info = life cycle, debug = per event. Every
 * line starts with the object's prefix: log_info("run 7f3a", "armed"). errno is kept. Under
 * systemd (JOURNAL_STREAM set) each line carries its <N> priority. Level and name are set once in
 * main before threads start; writing is one write(2), safe from any thread. Never on the hot path.
 */

enum log_level {
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARN,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG
};

/* `program` is kept by reference and must live as long as the process. */
void log_open(const char *program, enum log_level level);

void log_write(enum log_level level, const char *prefix, const char *fmt, ...) PRINTF_LIKE(3, 4);

#define log_error(prefix, ...) log_write(LOG_LEVEL_ERROR, prefix, __VA_ARGS__)
#define log_warn(prefix, ...)  log_write(LOG_LEVEL_WARN, prefix, __VA_ARGS__)
#define log_info(prefix, ...)  log_write(LOG_LEVEL_INFO, prefix, __VA_ARGS__)
#define log_debug(prefix, ...) log_write(LOG_LEVEL_DEBUG, prefix, __VA_ARGS__)

#endif
