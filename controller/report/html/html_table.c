/* SPDX-License-Identifier: MIT */
#include "controller/report/html/html_table.h"

#include <stdarg.h>

#include "controller/report/html/html.h"

struct html_table html_table_begin(FILE *out, const char *id, const char *caption,
                                   const struct html_column *columns, size_t n)
{
    struct html_table t = {.out = out, .columns = columns, .n = n};
    fprintf(out,
            "<div class=\"scroll\" role=\"region\" aria-labelledby=\"%s-c\" tabindex=\"0\">\n"
            "<table id=\"%s\">\n<caption id=\"%s-c\">%s</caption>\n<thead><tr>",
            id, id, id, caption);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "<th scope=\"col\"%s>%s</th>", columns[i].number ? " class=\"n\"" : "",
                columns[i].title);
    fprintf(out, "</tr></thead>\n<tbody>\n");
    return t;
}

void html_table_end(const struct html_table *t)
{
    fprintf(t->out, "</tbody>\n</table>\n</div>\n");
}

void html_row_class(struct html_table *t, const char *class)
{
    t->at = 0;
    if (class[0] != '\0')
        fprintf(t->out, "<tr class=\"%s\">", class);
    else
        fprintf(t->out, "<tr>");
}

void html_row(struct html_table *t)
{
    html_row_class(t, "");
}

void html_row_end(struct html_table *t)
{
    fprintf(t->out, "</tr>\n");
}

static void cell(struct html_table *t, const char *text, bool weak)
{
    bool number = t->at < t->n && t->columns[t->at].number;
    const char *class = number ? (weak ? " class=\"n weak\"" : " class=\"n\"") : "";
    bool head = t->at++ == 0;
    fprintf(t->out, head ? "<th scope=\"row\"%s>" : "<td%s>", class);
    html_text(t->out, text);
    if (weak)
        fprintf(t->out, "<span class=\"mark\">~</span>");
    fprintf(t->out, head ? "</th>" : "</td>");
}

void html_cell_text(struct html_table *t, const char *text)
{
    cell(t, text, false);
}

void html_cell(struct html_table *t, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    cell(t, text, false);
}

void html_cell_count(struct html_table *t, uint64_t n)
{
    char text[HTML_NUMBER];
    cell(t, html_count(n, text), false);
}

void html_cell_rate(struct html_table *t, double per_second, bool known)
{
    char text[HTML_NUMBER];
    cell(t, known ? html_rate(per_second, text) : "-", false);
}

void html_cell_latency(struct html_table *t, uint64_t ns, bool weak)
{
    char text[HTML_NUMBER];
    cell(t, html_latency(ns, text), weak);
}
