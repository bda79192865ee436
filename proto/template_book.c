/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "common/mem.h"
#include "common/units.h"
#include "proto/template_impl.h"

static size_t line_length(const char *line, const char *end)
{
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    return (size_t)((newline != NULL ? newline : end) - line);
}

/* Counts the lines; fills `out` unless it is NULL. */
static size_t find_lines(const struct template_named *f, struct template_span *out)
{
    const char *at = (const char *)f->bytes, *end = at + f->len;
    size_t n = 0;
    while (at < end) {
        size_t len = line_length(at, end);
        if (out != NULL)
            out[n] = (struct template_span){at, len > 0 && at[len - 1] == '\r' ? len - 1 : len};
        n++;
        at += len < (size_t)(end - at) ? len + 1 : len;
    }
    return n;
}

static enum err add_file(struct template_lines *l, const struct template_named *f,
                         struct errmsg *msg)
{
    char shown[UNITS_SHOWN];
    l->name = f->name;
    l->choices.n = find_lines(f, NULL);
    if (l->choices.n == 0)
        return errmsg_set(msg, ERR_INVALID, "file %s: empty; accepted is one line or more",
                          units_format_shown(f->name, shown));
    l->choices.spans = mem_calloc(l->choices.n, sizeof *l->choices.spans);
    find_lines(f, l->choices.spans);
    for (size_t i = 0; i < l->choices.n; i++)
        if (l->choices.spans[i].len > l->choices.max)
            l->choices.max = l->choices.spans[i].len;
    return ERR_OK;
}

enum err template_book_new(const struct template_named *files, size_t n_files,
                           const struct template_named *env, size_t n_env,
                           struct template_book **out, struct errmsg *msg)
{
    struct template_book *b = mem_calloc(1, sizeof *b);
    enum err e = ERR_OK;
    b->env = env;
    b->n_env = n_env;
    b->files = mem_calloc(n_files, sizeof *b->files);
    for (size_t i = 0; i < n_files && e == ERR_OK; i++)
        e = add_file(&b->files[b->n_files++], &files[i], msg);
    if (e != ERR_OK) {
        template_book_free(b);
        b = NULL;
    }
    *out = b;
    return e;
}

void template_book_free(struct template_book *b)
{
    if (b == NULL)
        return;
    for (size_t i = 0; i < b->n_files; i++)
        mem_free(b->files[i].choices.spans);
    mem_free(b->files);
    mem_free(b);
}

static bool is_named(const char *name, const char *text, size_t len)
{
    return strlen(name) == len && memcmp(name, text, len) == 0;
}

struct template_lines *template_book_file(const struct template_book *b, const char *name,
                                          size_t len)
{
    for (size_t i = 0; b != NULL && i < b->n_files; i++)
        if (is_named(b->files[i].name, name, len))
            return &b->files[i];
    return NULL;
}

const struct template_named *template_book_env(const struct template_book *b, const char *name,
                                               size_t len)
{
    for (size_t i = 0; b != NULL && i < b->n_env; i++)
        if (is_named(b->env[i].name, name, len))
            return &b->env[i];
    return NULL;
}
