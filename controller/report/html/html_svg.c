/* SPDX-License-Identifier: MIT */
#include "controller/report/html/html_svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "controller/report/html/html.h"

#define LEFT   72
#define RIGHT  16
#define TOP    30
#define BOTTOM 46
#define HEIGHT 320 /* of the picture */
#define LETTER 7.2 /* width of one, about */

void svg_begin(struct svg *c, const char *title, const char *description)
{
    c->left = LEFT;
    c->top = TOP;
    c->width = c->whole - LEFT - RIGHT;
    c->height = HEIGHT - TOP - BOTTOM;
    fprintf(c->out,
            "<svg class=\"chart\" role=\"img\" aria-labelledby=\"%s-t %s-d\" viewBox=\"0 0 %d "
            "%d\">\n<title id=\"%s-t\">",
            c->id, c->id, (int)c->whole, HEIGHT, c->id);
    html_text(c->out, title);
    fprintf(c->out, "</title>\n<desc id=\"%s-d\">", c->id);
    html_text(c->out, description);
    fprintf(c->out, "</desc>\n");
}

void svg_end(const struct svg *c)
{
    fprintf(c->out, "</svg>\n");
}

double svg_x(const struct svg *c, double value)
{
    return c->left + c->width * scale_place(&c->x, value);
}

double svg_y(const struct svg *c, double value)
{
    return c->top + c->height * (1 - scale_place(&c->y, value));
}

/* --- axes ------------------------------------------------------------------------------------- */

static void y_axis(const struct svg *c)
{
    for (size_t i = 0; i < c->y.n; i++) {
        const struct scale_tick *t = &c->y.ticks[i];
        double y = svg_y(c, t->at);
        fprintf(c->out, "<path class=\"%s\" d=\"M%g %.1fh%.1f\"/>", t->minor ? "grid2" : "grid",
                c->left, y, c->width);
        if (!t->minor || c->y.n <= 8)
            fprintf(c->out,
                    "<text class=\"tick\" x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
                    c->left - 8, y + 4, t->label);
        fputc('\n', c->out);
    }
}

/* Labels that would touch are left out; narrow screens show every other one (class minor). */
static void x_axis(const struct svg *c)
{
    double free_from = 0, bottom = c->top + c->height;
    for (size_t i = 0; i < c->x.n; i++) {
        const struct scale_tick *t = &c->x.ticks[i];
        double x = svg_x(c, t->at), half = LETTER * (double)strlen(t->label) / 2;
        fprintf(c->out, "<path class=\"%s\" d=\"M%.1f %gv%.1f\"/>", t->minor ? "grid2" : "grid", x,
                c->top, c->height + 5);
        if (x - half >= free_from) {
            fprintf(c->out,
                    "<text class=\"tick%s\" x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%s</text>",
                    t->minor ? " minor" : "", x, bottom + 20, t->label);
            free_from = x + half + LETTER;
        }
        fputc('\n', c->out);
    }
}

void svg_axes(const struct svg *c, const char *x_title, const char *y_title)
{
    y_axis(c);
    x_axis(c);
    fprintf(c->out, "<path class=\"axis\" d=\"M%g %gv%gh%g\"/>\n", c->left, c->top, c->height,
            c->width);
    fprintf(c->out, "<text class=\"axis-title\" x=\"%g\" y=\"%d\">", c->left - 64, 14);
    html_text(c->out, y_title);
    fprintf(c->out, "</text>\n<text class=\"axis-title\" x=\"%g\" y=\"%g\" text-anchor=\"end\">",
            c->left + c->width, c->top + c->height + 40);
    html_text(c->out, x_title);
    fprintf(c->out, "</text>\n");
}

/* --- what is drawn ---------------------------------------------------------------------------- */

static void band_label(const struct svg *c, const struct band *b, double x, double width)
{
    if (width < LETTER * (double)strlen(b->text) + 8)
        return;
    fprintf(c->out, "<text class=\"band-label %s\" x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">",
            band_kind_name(b->kind), x + width / 2, c->top + (b->kind == BAND_STAGE ? 14 : 30));
    html_text(c->out, b->text);
    fprintf(c->out, "</text>\n");
}

/* Every other stage is shaded; a stall is never narrower than the eye sees. */
void svg_bands(const struct svg *c, const struct bands *b)
{
    size_t stages = 0;
    for (size_t i = 0; i < b->n; i++) {
        const struct band *one = &b->items[i];
        double x = svg_x(c, (double)one->from_ns);
        double width = fmax(svg_x(c, (double)one->to_ns) - x, 1.5);
        bool odd = one->kind == BAND_STAGE && stages++ % 2 == 0;
        fprintf(
            c->out,
            "<rect class=\"band %s%s\" x=\"%.1f\" y=\"%g\" width=\"%.1f\" height=\"%g\"><title>",
            band_kind_name(one->kind), odd ? " odd" : "", x, c->top, width, c->height);
        html_text(c->out, one->text);
        fprintf(c->out, "</title></rect>\n");
        if (one->kind != BAND_STALL)
            band_label(c, one, x, width);
    }
}

static void path(const struct svg *c, size_t n, const double *x, const double *y, bool to_bottom)
{
    double first = 0, last = 0, bottom = c->top + c->height;
    bool open = false;
    for (size_t i = 0; i < n; i++) {
        if (isnan(y[i])) {
            if (open && to_bottom)
                fprintf(c->out, "L%.1f %gH%.1fZ", last, bottom, first);
            open = false;
            continue;
        }
        last = svg_x(c, x[i]);
        first = open ? first : last;
        /* A point alone is seen too: round ends of a line without length. */
        fprintf(c->out, open ? "L%.1f %.1f" : "M%.1f %.1fh0", last, svg_y(c, y[i]));
        open = true;
    }
    if (open && to_bottom)
        fprintf(c->out, "L%.1f %gH%.1fZ", last, bottom, first);
}

void svg_line(const struct svg *c, const char *class, size_t n, const double *x, const double *y)
{
    fprintf(c->out, "<path class=\"line %s\" d=\"", class);
    path(c, n, x, y, false);
    fprintf(c->out, "\"/>\n");
}

void svg_area(const struct svg *c, const char *class, size_t n, const double *x, const double *y)
{
    fprintf(c->out, "<path class=\"area %s\" d=\"", class);
    path(c, n, x, y, true);
    fprintf(c->out, "\"/>\n");
}
