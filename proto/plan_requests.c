/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "common/mem.h"
#include "proto/plan.h"
#include "proto/snapshot.h"

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

struct plan_entry *plan_add_entry(struct plan *p)
{
    if ((p->n_entries & (p->n_entries - 1)) == 0) /* grows at every power of two */
        p->entries =
            mem_realloc(p->entries, p->n_entries == 0 ? 1 : 2 * p->n_entries, sizeof *p->entries);
    struct plan_entry *e = &p->entries[p->n_entries++];
    *e = (struct plan_entry){.weight = 1};
    return e;
}

void plan_entry_clear(struct plan_entry *e)
{
    mem_free(e->name);
    mem_free(e->url);
    mem_free(e->method);
    option_list_clear(&e->headers);
    mem_free(e->body);
    *e = (struct plan_entry){0};
}

bool plan_header_removes(const char *line)
{
    const char *colon = strchr(line, ':');
    return colon != NULL && colon[1 + strspn(colon + 1, " \t")] == '\0';
}

/* --- order ---------------------------------------------------------------------------------- */

static const char *const order_names[] = {
    [PLAN_ORDER_AUTO] = "auto",
    [PLAN_ORDER_SEQUENTIAL] = "sequential",
    [PLAN_ORDER_WEIGHT] = "weight",
    [PLAN_ORDER_RANDOM] = "random",
};

enum err plan_parse_order(const struct option_row *row, const char *value, void *target,
                          struct errmsg *msg)
{
    (void)row, (void)msg; /* the row says what is accepted */
    for (uint32_t i = PLAN_ORDER_SEQUENTIAL; i <= PLAN_ORDER_RANDOM; i++) {
        if (strcmp(value, order_names[i]) != 0)
            continue;
        ((struct plan *)target)->order = i;
        return ERR_OK;
    }
    return ERR_INVALID;
}

enum plan_order plan_order_of(const struct plan *p)
{
    if (p->order != PLAN_ORDER_AUTO)
        return (enum plan_order)p->order;
    for (size_t i = 1; i < p->n_entries; i++)
        if (p->entries[i].weight != p->entries[0].weight)
            return PLAN_ORDER_WEIGHT;
    return PLAN_ORDER_SEQUENTIAL;
}

const char *plan_order_name(enum plan_order o)
{
    return o <= PLAN_ORDER_RANDOM ? order_names[o] : "unknown";
}

/* --- names ---------------------------------------------------------------------------------- */

static size_t find_name(const char *name, const char *const *names, size_t n)
{
    size_t i = 0;
    while (i < n && strcmp(names[i], name) != 0)
        i++;
    return i;
}

enum err plan_names(const struct plan *p, size_t max, const char **names, size_t *n, uint32_t *of)
{
    *n = 0;
    for (size_t i = 0; i < plan_request_count(p); i++) {
        struct plan_request q;
        plan_request_at(p, i, &q);
        size_t at = find_name(q.name, names, *n);
        if (at == max)
            return ERR_RANGE;
        if (at == *n)
            names[(*n)++] = q.name;
        if (of != NULL)
            of[i] = (uint32_t)at;
    }
    return ERR_OK;
}

size_t plan_rows(const struct plan *p)
{
    const char *names[SNAPSHOT_SERIES_MAX];
    size_t n, stages = p->n_stages > 0 ? p->n_stages : 1;
    if (plan_names(p, SNAPSHOT_SERIES_MAX, names, &n, NULL) != ERR_OK)
        return SIZE_MAX;
    return n * stages + (p->warmup_ns > 0);
}

enum err plan_check_rows(const struct plan *p, uint32_t threads, struct errmsg *msg)
{
    size_t rows = plan_rows(p);
    if (threads == 0 || rows <= PLAN_ROWS_MAX / threads)
        return ERR_OK;
    return errmsg_set(msg, ERR_RANGE,
                      "--threads %" PRIu32
                      " with %zu rows of figures (request names times stages): "
                      "accepted are at most %d together, for each thread keeps all of them",
                      threads, rows, PLAN_ROWS_MAX);
}

enum err plan_check_names(const struct plan *p, struct errmsg *msg)
{
    const char *names[SNAPSHOT_SERIES_MAX];
    size_t n, stages = p->n_stages > 0 ? p->n_stages : 1;
    if (plan_names(p, SNAPSHOT_SERIES_MAX, names, &n, NULL) != ERR_OK)
        return errmsg_set(msg, ERR_RANGE,
                          "the requests have more than %d names: accepted are at most so many rows "
                          "in the report; requests of the same name share one",
                          SNAPSHOT_SERIES_MAX);
    size_t rows = n * stages + (p->warmup_ns > 0);
    if (rows <= SNAPSHOT_SERIES_MAX)
        return plan_check_rows(p, p->threads, msg);
    return errmsg_set(msg, ERR_RANGE,
                      "%zu names of requests times %zu stages%s are %zu rows in the report: "
                      "accepted are at most %d; requests of the same name share one",
                      n, stages, p->warmup_ns > 0 ? " and the warm-up" : "", rows,
                      SNAPSHOT_SERIES_MAX);
}
