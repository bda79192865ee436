/* SPDX-License-Identifier: MIT */
#include "agent/client/reqset.h"

#include <string.h>
#include <strings.h>

#include "common/mem.h"

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
    enum err e = url_parse(q.url, &u, msg);
    if (e != ERR_OK)
        return e;
    e = request_compile(p, &u, r, msg);
    if (e != ERR_OK) {
        url_clear(&u);
        return e;
    }
    s->n++;
    return take_origin(s, &u, &r->origin, msg);
}

enum err reqset_new(const struct plan *p, struct reqset **out, struct errmsg *msg)
{
    size_t n = plan_request_count(p);
    struct reqset *s = mem_calloc(1, sizeof *s);
    s->requests = mem_calloc(n, sizeof *s->requests);
    s->origins = mem_calloc(REQSET_ORIGINS_MAX, sizeof *s->origins);
    s->names = mem_calloc(1, sizeof *s->names);
    s->names[s->n_names++] = mem_strdup("");
    enum err e = ERR_OK;
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        e = compile(s, p, i, msg);
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
    mem_free(s->origins);
    mem_free(s->requests);
    mem_free(s);
}
