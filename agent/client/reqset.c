/* SPDX-License-Identifier: MIT */
#include "agent/client/reqset.h"

#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "proto/snapshot.h"

static bool same_origin(const struct url_parts *a, const struct url_parts *b)
{
    return a->tls == b->tls && strcasecmp(a->host, b->host) == 0 && strcmp(a->port, b->port) == 0;
}

/* Number of the URL's origin, listed when it is new; takes over what is in *u. */
static enum err take_origin(struct reqset *s, struct url_parts *u, uint32_t *number,
                            struct errmsg *msg)
{
    for (size_t i = 0; i < s->n_origins; i++) {
        if (same_origin(&s->origins[i], u)) {
            *number = (uint32_t)i;
            url_clear(u);
            return ERR_OK;
        }
    }
    if (s->n_origins == REQSET_ORIGINS_MAX) {
        url_clear(u);
        return errmsg_set(msg, ERR_INVALID,
                          "the requests go to more than %d hosts: accepted is at most so many",
                          REQSET_ORIGINS_MAX);
    }
    *number = (uint32_t)s->n_origins;
    s->origins[s->n_origins++] = *u;
    return ERR_OK;
}

static enum err compile(struct reqset *s, const struct plan *p, size_t i, struct errmsg *msg)
{
    struct plan_request q;
    struct url_parts u;
    struct request *r = &s->requests[i];
    plan_request_at(p, i, &q);
    enum err e = plan_url_parse(p, q.url, &u, msg);
    if (e != ERR_OK)
        return e;
    e = request_compile_entry(p, i, s->book, &u, r, msg);
    if (e != ERR_OK) {
        url_clear(&u);
        return e;
    }
    s->n++;
    return take_origin(s, &u, &r->origin, msg);
}

/* Which rows of the report there are, and which one is each request's. */
static enum err take_names(struct reqset *s, const struct plan *p, size_t n, struct errmsg *msg)
{
    const char *names[SNAPSHOT_SERIES_MAX];
    size_t n_names;
    uint32_t *of = mem_calloc(n, sizeof *of);
    if (plan_names(p, SNAPSHOT_SERIES_MAX, names, &n_names, of) != ERR_OK) {
        mem_free(of);
        return errmsg_set(msg, ERR_RANGE, "the requests have more than %d names",
                          SNAPSHOT_SERIES_MAX);
    }
    s->names = mem_calloc(n_names, sizeof *s->names);
    for (; s->n_names < n_names; s->n_names++)
        s->names[s->n_names] = mem_strdup(names[s->n_names]);
    for (size_t i = 0; i < n; i++)
        s->requests[i].name = of[i];
    mem_free(of);
    return ERR_OK;
}

enum err reqset_new(const struct plan *p, struct reqset **out, struct errmsg *msg)
{
    size_t n = plan_request_count(p);
    struct reqset *s = mem_calloc(1, sizeof *s);
    s->requests = mem_calloc(n, sizeof *s->requests);
    s->origins = mem_calloc(REQSET_ORIGINS_MAX, sizeof *s->origins);
    pick_init(&s->pick, p);
    enum err e = plan_book(p, &s->book, msg);
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        e = compile(s, p, i, msg);
    if (e == ERR_OK)
        e = take_names(s, p, n, msg);
    if (e != ERR_OK) {
        reqset_free(s);
        return e;
    }
    *out = s;
    return ERR_OK;
}

void reqset_free(struct reqset *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->n; i++)
        request_clear(&s->requests[i]);
    for (size_t i = 0; i < s->n_origins; i++)
        url_clear(&s->origins[i]);
    for (size_t i = 0; i < s->n_names; i++)
        mem_free(s->names[i]);
    mem_free(s->names);
    pick_clear(&s->pick);
    template_book_free(s->book);
    mem_free(s->origins);
    mem_free(s->requests);
    mem_free(s);
}

size_t reqset_longest(const struct reqset *s)
{
    size_t longest = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->requests[i].len > longest)
            longest = s->requests[i].len;
    return longest;
}
