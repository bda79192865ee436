/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_HTML_H
#define HAMMER_CONTROLLER_HTML_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/units.h"

/*
 * Writes what goes between the tags of the HTML report. Whatever came from a user, an agent or a
 * server goes through html_text or html_json, in content and in (double-quoted) attributes alike:
 * nothing it says can end a tag, a script or a comment, and what is not UTF-8, control characters
 * and characters that turn the direction of writing become U+FFFD. Write errors are the stream's.
 */

void html_text(FILE *out, const char *text);
/* Formatted, then escaped; cut to 1 KiB. */
void html_textf(FILE *out, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* A JSON value as the content of a script element of type application/json. false = it could not be
 * made or written. */
bool html_json(FILE *out, const json_t *value);

/* For people: thousands apart, number and unit apart, "us" with its Greek letter. */
#define HTML_NUMBER 40
const char *html_count(uint64_t n, char buf[HTML_NUMBER]);
const char *html_latency(uint64_t ns, char buf[HTML_NUMBER]);
const char *html_rate(double per_second, char buf[HTML_NUMBER]);
/* Of a whole, "99.9 %"; "-" without one. Never rounded to 0 or 100 % that it is not. */
const char *html_share(uint64_t part, uint64_t whole, char buf[HTML_NUMBER]);

#endif
