/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_HTML_SVG_H
#define HAMMER_CONTROLLER_HTML_SVG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "controller/report/html/html_curves.h"
#include "controller/report/html/html_scale.h"

/*
 * One static chart of the HTML report: SVG inside the page, looks by class (web/report.css), so
 * that it follows the colour scheme and needs no style attribute. Order: begin, bands and lines,
 * end.
 */

/* Widths of pictures in their own units, which are pixels where there is room. */
#define SVG_WIDE 1072
#define SVG_HALF 720

struct svg {
    FILE *out;
    const char *id; /* of the figure; a word */
    double whole;   /* its width */
    struct scale x, y;
    double left, top, width, height; /* of the plot */
};

/* Title and description are for those who do not see it; both are escaped here. */
void svg_begin(struct svg *c, const char *title, const char *description);
/* Grid lines and labels; what is drawn next lies above them. `y_title` stands over the y axis. */
void svg_axes(const struct svg *c, const char *x_title, const char *y_title);
void svg_end(const struct svg *c);

double svg_x(const struct svg *c, double value);
double svg_y(const struct svg *c, double value);

/* Stages and the like behind, stalls and losses; times on the x axis. */
void svg_bands(const struct svg *c, const struct bands *b);
/* NAN interrupts the line; `class` says how it looks. */
void svg_line(const struct svg *c, const char *class, size_t n, const double *x, const double *y);
/* A line's area down to the bottom. */
void svg_area(const struct svg *c, const char *class, size_t n, const double *x, const double *y);

#endif
