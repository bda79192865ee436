/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "common/mem.h"
#include "proto/plan.h"
#include "proto/template_text.h"

/* The texts of a plan's requests, which may be templates. */

/* Digits stand in for the placeholders, as many as they have bytes: what stands around them keeps
 * its position in error texts. */
static enum err fill_in(char *url, struct errmsg *msg)
{
    struct template_scan scan = {url, url + strlen(url)};
    struct template_piece p;
    bool more = true;
    enum err e = ERR_OK;
    size_t at = 0;
    while (e == ERR_OK && more) {
        e = template_next(&scan, &p, &more, msg);
        if (e == ERR_OK && more && p.kind != TEMPLATE_LITERAL)
            memset(url + at, '0', p.len);
        at += p.len;
    }
    return e;
}

static const char *authority_end(const char *url)
{
    const char *scheme = strstr(url, "://");
    const char *from = scheme != NULL && scheme < url + strcspn(url, "/?#") ? scheme + 3 : url;
    return from + strcspn(from, "/?#");
}

static enum err parse_template(const char *url, struct url_parts *out, struct errmsg *msg)
{
    const char *path = authority_end(url), *first = strstr(url, "{{");
    if (first < path)
        return errmsg_set(msg, ERR_INVALID,
                          "URL: a template in scheme, host or port; accepted are templates in path "
                          "and query");
    char *filled = mem_strdup(url);
    enum err e = fill_in(filled, msg);
    if (e == ERR_OK)
        e = url_parse(filled, out, msg);
    mem_free(filled);
    if (e == ERR_OK) {
        size_t slash = *path != '/', len = strlen(out->path_query);
        memcpy(out->path_query + slash, path, len - slash);
    }
    return e;
}

bool plan_is_template(const struct plan *p, const void *bytes, size_t len)
{
    return !p->no_templates && template_is_in(bytes, len) && memchr(bytes, 0, len) == NULL;
}

enum err plan_url_parse(const struct plan *p, const char *url, struct url_parts *out,
                        struct errmsg *msg)
{
    if (!plan_is_template(p, url, strlen(url)))
        return url_parse(url, out, msg);
    return parse_template(url, out, msg);
}

enum err plan_book(const struct plan *p, struct template_book **out, struct errmsg *msg)
{
    *out = NULL;
    if (p->no_templates)
        return ERR_OK;
    return template_book_new(p->files, p->n_files, p->env, p->n_env, out, msg);
}

enum err plan_put_text(const struct plan *p, struct template_form *t,
                       const struct template_book *book, const void *text, size_t len,
                       enum template_place place, struct errmsg *msg)
{
    if (plan_is_template(p, text, len))
        return template_add(t, book, text, len, place, msg);
    template_put(t, text, len);
    return ERR_OK;
}

enum err plan_text_max(const struct plan *p, const struct template_book *book, const void *text,
                       size_t len, enum template_place place, size_t *max, size_t *size,
                       struct errmsg *msg)
{
    size_t ignored;
    size = size != NULL ? size : &ignored;
    *max = *size = len;
    if (!plan_is_template(p, text, len))
        return ERR_OK;
    struct template_form *t = template_new();
    enum err e = template_add(t, book, text, len, place, msg);
    *max = template_max(t);
    *size = template_size(t);
    template_free(t);
    return e;
}
