/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_PROTOCOL_DOC_H
#define HAMMER_TESTS_PROTOCOL_DOC_H

#include <stddef.h>

#include "proto/wire.h"

/*
 * docs/protocol.md against the tables in the code: each section's table must hold exactly the rows
 * the code has. A failure prints what is expected, ready to be pasted. `data_dir` is TEST_DATA_DIR.
 */

/* The table under the heading (without the #s) is made of `header` and these field rows. */
void protocol_doc_fields(const char *data_dir, const char *heading, const struct wire_field *f,
                         size_t n);

/* The text appears under the heading. */
void protocol_doc_has(const char *data_dir, const char *heading, const char *text);

/* Rows of the table(s) under the heading, head lines not counted. */
size_t protocol_doc_rows(const char *data_dir, const char *heading);

#endif
