/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_COLUMNS_H
#define HAMMER_CONTROLLER_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Texts of others (names, reasons) on a terminal: how many columns they take, by the C library's
 * tables for UTF-8, whatever the user's locale is. Shown is nothing that moves the cursor, changes
 * the direction of writing or takes more columns than it is counted for: such characters, and bytes
 * that are not UTF-8, become '?'. PURE but for the tables' memory; any thread.
 */

struct columns;

/* `unicode` false = the terminal is not known to take UTF-8: anything but ASCII becomes '?'. */
struct columns *columns_new(bool unicode);
void columns_free(struct columns *c); /* NULL is fine */
bool columns_unicode(const struct columns *c);

/* Writes the text as it is shown, of at most `max` columns (cut in front of what is too much, and
 * marked by a last '~'), with a NUL; cut to cap too. Returns its columns. */
size_t columns_fit(const struct columns *c, const char *text, size_t max, char *out, size_t cap);
/* Columns of the text as it is shown. */
size_t columns_count(const struct columns *c, const char *text);

/* The code point at s, and how many bytes it has (>= 1 but at the end of the text); UINT32_MAX and
 * 1 where there is no valid UTF-8. */
uint32_t columns_point(const char *s, size_t *len);

#endif
