/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_HTML_TABLE_H
#define HAMMER_CONTROLLER_HTML_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

/*
 * One table of the HTML report, cell by cell: a caption, heads with their scope, the first cell of
 * a row its head. It may be wider than the screen: what is around it scrolls then, with the
 * keyboard too. Texts of cells are escaped here; captions and titles of columns are our own.
 */

struct html_column {
    const char *title;
    bool number; /* to the right, digits below each other */
};

struct html_table {
    FILE *out;
    const struct html_column *columns;
    size_t n, at; /* at: cells of the row so far */
};

/* `id`: a word. */
struct html_table html_table_begin(FILE *out, const char *id, const char *caption,
                                   const struct html_column *columns, size_t n);
void html_table_end(const struct html_table *t);

void html_row(struct html_table *t);
/* Of that class, "" = none. */
void html_row_class(struct html_table *t, const char *class);
void html_row_end(struct html_table *t);
void html_cell(struct html_table *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
void html_cell_text(struct html_table *t, const char *text);
void html_cell_count(struct html_table *t, uint64_t n);
void html_cell_rate(struct html_table *t, double per_second, bool known);
/* `weak`: too few samples for it. */
void html_cell_latency(struct html_table *t, uint64_t ns, bool weak);

#endif
