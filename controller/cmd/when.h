/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_WHEN_H
#define HAMMER_CONTROLLER_WHEN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/*
 * PURE: instants as people write them. "30m" "2d" "1w" (ago), "today", "yesterday", "HH:MM";
 * DD.MM.YYYY, DD.MM.YY, MM/DD/YYYY, MM/DD/YY, MMDDYYYY, MMDDYY, YYYYMMDD and YYYY-MM-DD, each also
 * with HH:MM[:SS[.FRACTION]] behind a blank or '_' (behind 'T' too, with Z or +HH:MM as ISO 8601
 * has it); HH:MM_YYYYMMDD. Years 2000 to 2099. What can be read in two ways is refused with both.
 */

/* Local time. */
struct when_zone {
    /* Seconds east of UTC at that instant. */
    int64_t (*offset_s)(const void *arg, int64_t unix_s);
    const void *arg;
};

/* The process's own (TZ). */
extern const struct when_zone when_local;

/* ns since 1970. `end`: a date without a time is the last instant of that day, else its first. The
 * message begins with the text. */
enum err when_parse(const char *text, bool end, uint64_t now_ns, const struct when_zone *zone,
                    uint64_t *ns, struct errmsg *msg) MUST_CHECK;

#endif
