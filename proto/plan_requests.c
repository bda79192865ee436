/* SPDX-License-Identifier: MIT */
#include "proto/plan.h"

size_t plan_request_count(const struct plan *p)
{
    return p->n_entries > 0 ? p->n_entries : 1;
}

void plan_request_at(const struct plan *p, size_t i, struct plan_request *out)
{
    *out = (struct plan_request){.name = "",
                                 .url = p->url,
                                 .method = p->method,
                                 .headers = &p->headers,
                                 .body = p->body,
                                 .body_len = p->body_len,
                                 .weight = 1};
    if (p->n_entries == 0)
        return;
    const struct plan_entry *e = &p->entries[i];
    out->name = e->name != NULL ? e->name : "";
    out->url = e->url;
    out->own = &e->headers;
    out->weight = e->weight;
    if (e->method != NULL)
        out->method = e->method;
    if (e->body != NULL) {
        out->body = e->body;
        out->body_len = e->body_len;
    }
}
