/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_HTML_CHECK_H
#define HAMMER_TESTS_HTML_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Is this a page that stands alone? Strict: every element that is opened is closed in order,
 * attributes are quoted and among those that can make no request and run nothing, ids are there
 * once and what refers to one finds it, text is UTF-8 without control characters.
 */

#define HTML_PROBLEM 200

/* false: `problem` says where and what. */
bool html_check(const char *page, char problem[HTML_PROBLEM]);
/* How often the text is in the page. */
size_t html_times(const char *page, const char *text);
/* Content of the one element that begins so ("<style>") up to its end tag; the caller frees it. */
char *html_inside(const char *page, const char *begin, const char *end);

#endif
