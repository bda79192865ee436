/* SPDX-License-Identifier: MIT */
#include "common/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"

#define MESSAGE_MAX 1024
#define ESCAPE_MAX  6 /* bytes of "\u0000" */
#define CLOSING     4 /* the quote, the brace, the newline, NUL */
#define PREFIX_MAX  128

/* The one allowed file-scope state: set in main before any thread exists, read-only afterwards, but
 * for the level. */
static struct {
    const char *program;
    atomic_int level;
    bool journal, json;
} log_state = {.program = "hammer", .level = LOG_LEVEL_INFO};

static const struct {
    const char *name;
    int priority; /* syslog priority, sd-daemon(3) */
} levels[] = {
    [LOG_LEVEL_ERROR] = {"error", 3},
    [LOG_LEVEL_WARN] = {"warning", 4},
    [LOG_LEVEL_INFO] = {"info", 6},
    [LOG_LEVEL_DEBUG] = {"debug", 7},
};

/* The variable is inherited by everything below the service, also by what writes elsewhere. */
static bool stderr_is_journal(void)
{
    const char *text = getenv("JOURNAL_STREAM");
    uint64_t dev, ino;
    struct stat st;
    return text != NULL && sscanf(text, "%" SCNu64 ":%" SCNu64, &dev, &ino) == 2 &&
           fstat(STDERR_FILENO, &st) == 0 && (uint64_t)st.st_dev == dev &&
           (uint64_t)st.st_ino == ino;
}

void log_open(const char *program, enum log_level level)
{
    log_state.program = program;
    log_state.journal = stderr_is_journal();
    log_set_level(level);
}

void log_use_json(bool on)
{
    log_state.json = on;
}

void log_set_level(enum log_level level)
{
    atomic_store_explicit(&log_state.level, (int)level, memory_order_relaxed);
}

bool log_level_parse(const char *name, enum log_level *level)
{
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        if (strcmp(name, levels[i].name) != 0)
            continue;
        *level = (enum log_level)i;
        return true;
    }
    return false;
}

/* --- JSON ----------------------------------------------------------------------------------- */

/* UTC date of the days since 1970 (proleptic Gregorian, years counted from March); gmtime_r may
 * allocate and takes a lock. */
static void civil_date(uint64_t days, unsigned *year, unsigned *month, unsigned *day)
{
    uint64_t z = days + 719468, era = z / 146097, of_era = z % 146097;
    uint64_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint64_t of_year = of_era - (365 * y + y / 4 - y / 100), m = (5 * of_year + 2) / 153;
    *day = (unsigned)(of_year - (153 * m + 2) / 5 + 1);
    *month = (unsigned)(m < 10 ? m + 3 : m - 9);
    *year = (unsigned)(y + era * 400 + (*month <= 2));
}

static int json_time(char *buf, size_t cap, uint64_t wall_ns)
{
    unsigned year, month, day;
    uint64_t s = wall_ns / NS_PER_SEC, of_day = s % 86400;
    civil_date(s / 86400, &year, &month, &day);
    return snprintf(buf, cap, "\"time\":\"%04u-%02u-%02uT%02u:%02u:%02u.%06uZ\"", year, month, day,
                    (unsigned)(of_day / 3600), (unsigned)(of_day / 60 % 60),
                    (unsigned)(of_day % 60), (unsigned)(wall_ns % NS_PER_SEC / NS_PER_US));
}

/* Length of the UTF-8 character at p, 0 when it is none (RFC 3629: no surrogates, shortest form).
 */
static size_t utf8_length(const unsigned char *p)
{
    if (p[0] < 0x80)
        return 1;
    size_t len = p[0] >= 0xc2 && p[0] < 0xe0   ? 2
                 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
                 : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                               : 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90))
        return 0;
    return len;
}

/* Escapes as much of the text as fits into cap bytes, NUL included; whole characters only. */
static size_t json_escape(char *buf, size_t cap, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t n = 0;
    while (*p != '\0' && n + ESCAPE_MAX < cap) {
        size_t len = utf8_length(p);
        if (len == 0) {
            n += (size_t)snprintf(buf + n, cap - n, "\\ufffd");
            len = 1;
        } else if (*p == '"' || *p == '\\') {
            buf[n++] = '\\';
            buf[n++] = (char)*p;
        } else if (*p < 0x20 || *p == 0x7f) {
            n += (size_t)snprintf(buf + n, cap - n, "\\u%04x", *p);
        } else {
            memcpy(buf + n, p, len);
            n += len;
        }
        p += len;
    }
    buf[n] = '\0';
    return n;
}

static size_t json_line(char *line, size_t cap, enum log_level level, const char *prefix,
                        const char *message)
{
    size_t n = 0;
    line[n++] = '{';
    n += (size_t)json_time(line + n, cap - n, clock_wall_ns());
    n += (size_t)snprintf(line + n, cap - n, ",\"level\":\"%s\",\"prefix\":\"", levels[level].name);
    n += json_escape(line + n, PREFIX_MAX, prefix);
    n += (size_t)snprintf(line + n, cap - n, "\",\"msg\":\"");
    n += json_escape(line + n, cap - n - CLOSING, message);
    n += (size_t)snprintf(line + n, cap - n, "\"}");
    return n;
}

/* --- lines ---------------------------------------------------------------------------------- */

static size_t text_line(char *line, size_t cap, enum log_level level, const char *prefix,
                        const char *message)
{
    int n = log_state.journal ? snprintf(line, cap, "%.*s: %s", PREFIX_MAX, prefix, message)
                              : snprintf(line, cap, "%s: %s: %.*s: %s", log_state.program,
                                         levels[level].name, PREFIX_MAX, prefix, message);
    return n < 0 ? 0 : (size_t)n < cap ? (size_t)n : cap - 1;
}

void log_write(enum log_level level, const char *prefix, const char *fmt, ...)
{
    if ((int)level > atomic_load_explicit(&log_state.level, memory_order_relaxed))
        return;
    int saved = errno;
    char message[MESSAGE_MAX], line[LOG_LINE_MAX];
    size_t n = 0;
    va_list ap;
    va_start(ap, fmt);
    if (vsnprintf(message, sizeof message, fmt, ap) < 0)
        message[0] = '\0';
    va_end(ap);
    if (log_state.journal)
        n = (size_t)snprintf(line, sizeof line, "<%d>", levels[level].priority);
    size_t cap = sizeof line - n - 1;
    n += (log_state.json ? json_line : text_line)(line + n, cap, level, prefix, message);
    line[n++] = '\n';
    if (write(STDERR_FILENO, line, n) < 0) {
        /* stderr is gone: there is nobody left to tell */
    }
    errno = saved;
}
