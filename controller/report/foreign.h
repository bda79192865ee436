/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_FOREIGN_H
#define HAMMER_CONTROLLER_FOREIGN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* PURE: text of servers, agents and users on its way into a format that gives some characters a
 * meaning. Control characters, what turns the direction of writing, what is no UTF-8 and what XML
 * cannot have become '?'. */

/* The next character of a text that is not at its end; returns its length in bytes. */
size_t foreign_next(const char *text, uint32_t *c);
/* XML, HTML: & < > " ' as entities. */
void foreign_xml(FILE *out, const char *text);
/* GitHub-flavoured Markdown, in a table too: nothing in it is markup, a link or a mention. */
void foreign_markdown(FILE *out, const char *text);
/* A cell of a CSV file (RFC 4180) that no spreadsheet takes for a formula: an apostrophe stands
 * before what begins with = + - @ or a tab. */
void foreign_csv(FILE *out, const char *text);

#endif
