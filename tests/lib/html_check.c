/* SPDX-License-Identifier: MIT */
#include "tests/lib/html_check.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"

#define DEPTH_MAX 64
#define WORD_MAX  32
#define IDS_MAX   512

struct check {
    const char *page, *at;
    char *problem;
    char open[DEPTH_MAX][WORD_MAX];
    size_t depth;
    char ids[IDS_MAX][WORD_MAX], wanted[IDS_MAX][WORD_MAX];
    size_t n_ids, n_wanted;
};

static bool wrong(struct check *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

static bool wrong(struct check *c, const char *fmt, ...)
{
    int len = snprintf(c->problem, HTML_PROBLEM, "byte %td: ", c->at - c->page);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->problem + len, HTML_PROBLEM - (size_t)len, fmt, ap);
    va_end(ap);
    return false;
}

static bool in(const char *name, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(name, *list) == 0)
            return true;
    return false;
}

/* Without src, href, style, action and on...: no request, nothing that runs. */
static const char *const attributes[] = {
    "id",          "class",     "lang",   "charset",     "content",         "name",
    "http-equiv",  "role",      "scope",  "tabindex",    "aria-label",      "aria-labelledby",
    "aria-hidden", "aria-live", "for",    "type",        "checked",         "viewBox",
    "d",           "x",         "y",      "width",       "height",          "cx",
    "cy",          "r",         "hidden", "text-anchor", "shape-rendering", NULL};

static const char *const voids[] = {"meta", "input", NULL};

static void remember(char list[IDS_MAX][WORD_MAX], size_t *n, const char *text, size_t len)
{
    if (*n < IDS_MAX)
        snprintf(list[(*n)++], WORD_MAX, "%.*s", (int)len, text);
}

static bool new_id(struct check *c, const char *value, size_t len)
{
    for (size_t i = 0; i < c->n_ids; i++)
        if (strlen(c->ids[i]) == len && memcmp(c->ids[i], value, len) == 0)
            return wrong(c, "id %s twice", c->ids[i]);
    remember(c->ids, &c->n_ids, value, len);
    return true;
}

static bool value_of(struct check *c, const char *name, const char *value, size_t len)
{
    if (memchr(value, '<', len) != NULL)
        return wrong(c, "< within the attribute %s", name);
    if (strcmp(name, "id") == 0)
        return new_id(c, value, len);
    if (strcmp(name, "aria-labelledby") != 0 && strcmp(name, "for") != 0)
        return true;
    for (size_t i = 0; i < len;) {
        size_t word = 0;
        while (i + word < len && value[i + word] != ' ')
            word++;
        remember(c->wanted, &c->n_wanted, value + i, word);
        i += word + 1;
    }
    return true;
}

static size_t word_at(const char *p, char word[WORD_MAX])
{
    size_t n = 0;
    while (n + 1 < WORD_MAX && (isalnum((unsigned char)p[n]) || p[n] == '-'))
        n++;
    memcpy(word, p, n);
    word[n] = '\0';
    return n;
}

/* Up to the end of the tag. */
static bool attributes_of(struct check *c, bool *closed)
{
    *closed = false;
    for (;;) {
        char name[WORD_MAX];
        c->at += strspn(c->at, " \n");
        if (c->at[0] == '>' || strncmp(c->at, "/>", 2) == 0) {
            *closed = c->at[0] == '/';
            c->at += *closed ? 2 : 1;
            return true;
        }
        size_t n = word_at(c->at, name);
        if (n == 0 || !in(name, attributes))
            return wrong(c, "attribute '%.20s' is none that is known", c->at);
        c->at += n;
        if (c->at[0] != '=')
            continue;
        const char *end = c->at[1] == '"' ? strchr(c->at + 2, '"') : NULL;
        if (end == NULL)
            return wrong(c, "the value of %s is not quoted", name);
        if (!value_of(c, name, c->at + 2, (size_t)(end - c->at) - 2))
            return false;
        c->at = end + 1;
    }
}

static bool end_tag(struct check *c)
{
    char name[WORD_MAX];
    size_t n = word_at(c->at + 2, name);
    if (c->depth == 0 || strcmp(c->open[c->depth - 1], name) != 0 || c->at[2 + n] != '>')
        return wrong(c, "</%s> closes <%s>", name, c->depth > 0 ? c->open[c->depth - 1] : "");
    c->depth--;
    c->at += n + 3;
    return true;
}

/* Their content is no markup. */
static bool raw(struct check *c, const char *name)
{
    char end[WORD_MAX + 4];
    if (strcmp(name, "script") != 0 && strcmp(name, "style") != 0)
        return true;
    snprintf(end, sizeof end, "</%s", name);
    const char *at = strcasestr(c->at, end);
    if (at == NULL)
        return wrong(c, "<%s> never ends", name);
    c->at = at;
    return true;
}

static bool tag(struct check *c)
{
    char name[WORD_MAX];
    bool closed;
    if (c->at[1] == '/')
        return end_tag(c);
    size_t n = word_at(c->at + 1, name);
    if (n == 0)
        return wrong(c, "a < that begins no tag: %.20s", c->at);
    c->at += n + 1;
    if (!attributes_of(c, &closed))
        return false;
    if (closed || in(name, voids))
        return true;
    if (c->depth >= DEPTH_MAX)
        return wrong(c, "too deep");
    memcpy(c->open[c->depth++], name, WORD_MAX);
    return raw(c, name);
}

static bool text(struct check *c)
{
    unsigned char byte = (unsigned char)*c->at;
    if ((byte < 32 && byte != '\n') || byte == 127)
        return wrong(c, "control character %d", byte);
    if (byte == '>')
        return wrong(c, "a lone >");
    if (byte == '&' && strspn(c->at + 1, "abcdefghijklmnopqrstuvwxyz#0123456789") == 0)
        return wrong(c, "a lone &");
    c->at++;
    return true;
}

static bool references(struct check *c)
{
    for (size_t i = 0; i < c->n_wanted; i++) {
        bool found = false;
        for (size_t k = 0; k < c->n_ids && !found; k++)
            found = strcmp(c->wanted[i], c->ids[k]) == 0;
        if (!found)
            return wrong(c, "nothing has the id %s", c->wanted[i]);
    }
    return true;
}

bool html_check(const char *page, char problem[HTML_PROBLEM])
{
    static const char doctype[] = "<!DOCTYPE html>\n";
    struct check *c = mem_calloc(1, sizeof *c);
    c->page = c->at = page;
    c->problem = problem;
    problem[0] = '\0';
    bool good = strncmp(page, doctype, strlen(doctype)) == 0 || wrong(c, "no doctype");
    c->at += good ? strlen(doctype) : 0;
    while (good && *c->at != '\0')
        good = *c->at == '<' ? tag(c) : text(c);
    good = good && (c->depth == 0 || wrong(c, "<%s> is open", c->open[c->depth - 1]));
    good = good && references(c);
    mem_free(c);
    return good;
}

size_t html_times(const char *page, const char *text)
{
    size_t n = 0;
    for (const char *at = strstr(page, text); at != NULL; at = strstr(at + 1, text))
        n++;
    return n;
}

char *html_inside(const char *page, const char *begin, const char *end)
{
    const char *from = strstr(page, begin), *to = from != NULL ? strstr(from, end) : NULL;
    if (to == NULL)
        return NULL;
    from += strlen(begin);
    char *inside = mem_calloc((size_t)(to - from) + 1, 1);
    memcpy(inside, from, (size_t)(to - from));
    return inside;
}
