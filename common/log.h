/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_LOG_H
#define HAMMER_COMMON_LOG_H

#include <stdbool.h>

#include "common/err.h"

/*
 * Log lines on stderr. warn = an operator must act, info = life cycle, debug = per event. Every
 * line starts with the object's prefix: log_info("run 7f3a", "armed"). errno is kept. Where stderr
 * is the journal (JOURNAL_STREAM names it) each line carries its <N> priority. Name and format are
 * set in main before threads start; the level may change at any time. Writing is one write(2) of at
 * most LOG_LINE_MAX bytes, allocates nothing and is safe from any thread. Never on the hot path.
 *
 * The JSON form is one object a line: {"time":"2026-09-01T12:00:00.123456Z","level":"info",
 * "prefix":"main","msg":"..."}. A message that is too long is cut, bytes that are not UTF-8 become
 * U+FFFD.
 */

#define LOG_LINE_MAX 4096

enum log_level {
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARN,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG
};

/* `program` is kept by reference and must live as long as the process. */
void log_open(const char *program, enum log_level level);
/* From text, the default, to one JSON object a line. */
void log_use_json(bool on);
void log_set_level(enum log_level level);
/* "error", "warning", "info", "debug"; false = none of them. */
bool log_level_parse(const char *name, enum log_level *level);

void log_write(enum log_level level, const char *prefix, const char *fmt, ...) PRINTF_LIKE(3, 4);

#define log_error(prefix, ...) log_write(LOG_LEVEL_ERROR, prefix, __VA_ARGS__)
#define log_warn(prefix, ...)  log_write(LOG_LEVEL_WARN, prefix, __VA_ARGS__)
#define log_info(prefix, ...)  log_write(LOG_LEVEL_INFO, prefix, __VA_ARGS__)
#define log_debug(prefix, ...) log_write(LOG_LEVEL_DEBUG, prefix, __VA_ARGS__)

#endif
