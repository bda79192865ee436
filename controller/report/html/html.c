/* SPDX-License-Identifier: MIT */
#include "controller/report/html/html.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* --- foreign text ----------------------------------------------------------------------------- */

#define REPLACEMENT "\xef\xbf\xbd"

/* The character at `text`: its length in bytes, and its code; 0 = no UTF-8 begins here. */
static size_t utf8_at(const unsigned char *text, uint32_t *code)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if ((text[0] & forms[i].mask) != forms[i].lead)
            continue;
        *code = text[0] & (unsigned char)~forms[i].mask;
        for (size_t k = 1; k <= i; k++) {
            if ((text[k] & 0xc0) != 0x80) /* the NUL at the end as well */
                return 0;
            *code = *code << 6 | (text[k] & 0x3f);
        }
        bool surrogate = *code >= 0xd800 && *code <= 0xdfff;
        return *code < forms[i].least || *code > 0x10ffff || surrogate ? 0 : i + 1;
    }
    return 0;
}

/* Neither shown nor harmless: C0 and C1 controls, and what turns the direction of the text after
 * it. */
static bool is_hidden(uint32_t code)
{
    return code < 32 || (code >= 127 && code < 160) || (code >= 0x200e && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
           code == 0xfeff || (code & 0xfffe) == 0xfffe || (code >= 0xfdd0 && code <= 0xfdef);
}

static const char *entity_of(uint32_t code)
{
    switch (code) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void html_text(FILE *out, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    while (*p != '\0') {
        uint32_t code = 0;
        size_t len = utf8_at(p, &code);
        const char *entity = len == 0 || is_hidden(code) ? REPLACEMENT : entity_of(code);
        if (entity != NULL)
            fputs(entity, out);
        else
            fwrite(p, 1, len, out);
        p += len > 0 ? len : 1;
    }
}

void html_textf(FILE *out, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    html_text(out, text);
}

/* In JSON these stand in strings only, where \u means the same. */
static int write_data(const char *bytes, size_t n, void *arg)
{
    FILE *out = arg;
    for (size_t i = 0; i < n; i++) {
        if (strchr("<>&", bytes[i]) != NULL && bytes[i] != '\0')
            fprintf(out, "\\u%04x", (unsigned)bytes[i]);
        else
            fputc(bytes[i], out);
    }
    return ferror(out) ? -1 : 0;
}

bool html_json(FILE *out, const json_t *value)
{
    return json_dump_callback(value, write_data, out,
                              JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6)) == 0;
}

/* --- numbers ---------------------------------------------------------------------------------- */

#define NARROW_SPACE "\xe2\x80\xaf" /* that does not break */
#define MICRO        "\xc2\xb5"

const char *html_count(uint64_t n, char buf[HTML_NUMBER])
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, n);
    size_t at = 0;
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0) {
            memcpy(buf + at, NARROW_SPACE, 3);
            at += 3;
        }
        buf[at++] = digits[i];
    }
    buf[at] = '\0';
    return buf;
}

const char *html_latency(uint64_t ns, char buf[HTML_NUMBER])
{
    char text[UNITS_TEXT];
    units_format_latency(ns, text);
    size_t digits = strspn(text, "0123456789.");
    const char *unit = text + digits;
    bool micro = strcmp(unit, "us") == 0;
    snprintf(buf, HTML_NUMBER, "%.*s" NARROW_SPACE "%s%s", (int)digits, text, micro ? MICRO : "",
             micro                    ? "s"
             : strcmp(unit, "m") == 0 ? "min"
                                      : unit);
    return buf;
}

const char *html_rate(double per_second, char buf[HTML_NUMBER])
{
    if (!isfinite(per_second) || per_second < 0)
        snprintf(buf, HTML_NUMBER, "-");
    else if (per_second >= 1000 && per_second < 1e15)
        html_count((uint64_t)(per_second + 0.5), buf);
    else
        snprintf(buf, HTML_NUMBER, per_second >= 100 ? "%.1f" : "%.4g", per_second);
    return buf;
}

const char *html_share(uint64_t part, uint64_t whole, char buf[HTML_NUMBER])
{
    double percent = whole > 0 ? 100.0 * (double)part / (double)whole : 0;
    if (whole == 0)
        snprintf(buf, HTML_NUMBER, "-");
    else if (part == 0 || part == whole)
        snprintf(buf, HTML_NUMBER, "%d" NARROW_SPACE "%%", part == 0 ? 0 : 100);
    else if (percent > 99.99 && percent < 100)
        snprintf(buf, HTML_NUMBER, "> 99.99" NARROW_SPACE "%%");
    else if (percent < 0.01)
        snprintf(buf, HTML_NUMBER, "< 0.01" NARROW_SPACE "%%");
    else
        snprintf(buf, HTML_NUMBER,
                 percent < 1 ? "%.2g" NARROW_SPACE "%%" : "%.4g" NARROW_SPACE "%%", percent);
    return buf;
}
