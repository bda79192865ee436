/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_FORMATS_H
#define HAMMER_CONTROLLER_FORMATS_H

#include <stddef.h>

#include "controller/report/report.h"

/* PURE: the table of all formats a report can be had in. docs/formats.md. */

/* In the order in which they are listed; NULL at the end. */
extern const struct report_format *const formats_all[];

/* By its name, of which `len` bytes count; NULL = there is none. */
const struct report_format *formats_named(const char *name, size_t len);
/* By the end of a file's name; NULL = it says nothing. */
const struct report_format *formats_of_file(const char *path);
/* "text, json, ..." into buf; returns it. */
#define FORMATS_TEXT 200
const char *formats_names(char buf[FORMATS_TEXT]);
/* ".txt, .json, ..." into buf; returns it. */
const char *formats_suffixes(char buf[FORMATS_TEXT]);

#endif
