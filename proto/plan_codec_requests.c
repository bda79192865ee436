/* SPDX-License-Identifier: MIT */
#include "common/mem.h"
#include "proto/plan_wire.h"
#include "proto/template_text.h"

/* Keys of an entry's map; docs/protocol.md lists them. */
enum entry_key {
    ENTRY_NAME = 1,
    ENTRY_URL,
    ENTRY_METHOD,
    ENTRY_HEADERS,
    ENTRY_BODY,
    ENTRY_WEIGHT
};

#define NAMED_PARTS 2 /* name, bytes */

/* --- basic ---------------------------------------------------------------------------------- */

void plan_put_list(struct wire_out *w, const struct option_list *l)
{
    wire_put_array(w, (uint32_t)l->n);
    for (size_t i = 0; i < l->n; i++)
        wire_put_str(w, l->items[i]);
}

char *plan_get_text(struct wire_in *r, size_t max)
{
    struct wire_blob b = wire_get_text(r, max);
    return r->err == ERR_OK ? mem_dup(b.data, b.len) : NULL;
}

void plan_get_list(struct wire_in *r, uint32_t max_items, size_t max, struct option_list *l)
{
    uint32_t n = wire_get_array(r, max_items);
    l->items = n > 0 ? mem_calloc(n, sizeof *l->items) : NULL;
    for (uint32_t i = 0; i < n && r->err == ERR_OK; i++) {
        char *line = plan_get_text(r, max);
        if (line != NULL)
            l->items[l->n++] = line;
    }
}

void plan_get_bytes(struct wire_in *r, size_t max, uint8_t **bytes, size_t *len)
{
    struct wire_blob b = wire_get_bin(r, max);
    if (r->err != ERR_OK)
        return;
    *bytes = mem_dup(b.data, b.len);
    *len = b.len;
}

/* --- entries -------------------------------------------------------------------------------- */

static void put_text(struct wire_out *w, enum entry_key key, const char *text)
{
    if (text == NULL)
        return;
    wire_put_u64(w, key);
    wire_put_str(w, text);
}

static void put_entry(struct wire_out *w, const struct plan_entry *e)
{
    const bool sent[] = {e->name != NULL, e->method != NULL, e->headers.n > 0, e->body != NULL};
    uint32_t n = 2; /* URL and weight */
    for (size_t i = 0; i < sizeof sent / sizeof sent[0]; i++)
        n += sent[i];
    wire_put_map(w, n);
    put_text(w, ENTRY_NAME, e->name);
    put_text(w, ENTRY_URL, e->url != NULL ? e->url : "");
    put_text(w, ENTRY_METHOD, e->method);
    if (e->headers.n > 0) {
        wire_put_u64(w, ENTRY_HEADERS);
        plan_put_list(w, &e->headers);
    }
    if (e->body != NULL) {
        wire_put_u64(w, ENTRY_BODY);
        wire_put_bin(w, e->body, e->body_len);
    }
    wire_put_u64(w, ENTRY_WEIGHT);
    wire_put_u64(w, e->weight);
}

void plan_put_entries(struct wire_out *w, const struct plan *p)
{
    wire_put_array(w, (uint32_t)p->n_entries);
    for (size_t i = 0; i < p->n_entries; i++)
        put_entry(w, &p->entries[i]);
}

static void get_name(struct wire_in *r, struct plan_entry *e)
{
    e->name = plan_get_text(r, PLAN_NAME_MAX);
}

static void get_url(struct wire_in *r, struct plan_entry *e)
{
    e->url = plan_get_text(r, PLAN_URL_MAX);
}

static void get_method(struct wire_in *r, struct plan_entry *e)
{
    e->method = plan_get_text(r, PLAN_METHOD_MAX);
}

static void get_headers(struct wire_in *r, struct plan_entry *e)
{
    plan_get_list(r, PLAN_HEADERS_MAX, PLAN_HEADER_LINE_MAX, &e->headers);
}

static void get_body(struct wire_in *r, struct plan_entry *e)
{
    plan_get_bytes(r, PLAN_BODY_MAX, &e->body, &e->body_len);
}

static void get_weight(struct wire_in *r, struct plan_entry *e)
{
    uint64_t weight = wire_get_u64(r);
    if (weight > PLAN_WEIGHT_MAX)
        wire_fail(r, ERR_CORRUPT);
    e->weight = (uint32_t)weight;
}

static void (*const getters[])(struct wire_in *, struct plan_entry *) = {
    [ENTRY_NAME] = get_name,       [ENTRY_URL] = get_url,   [ENTRY_METHOD] = get_method,
    [ENTRY_HEADERS] = get_headers, [ENTRY_BODY] = get_body, [ENTRY_WEIGHT] = get_weight,
};

static void get_entry(struct wire_in *r, struct plan_entry *e)
{
    const uint64_t needed = 1u << ENTRY_URL | 1u << ENTRY_WEIGHT;
    uint64_t seen = 0;
    uint32_t n = wire_get_map(r, WIRE_PAIRS_MAX);
    for (uint32_t i = 0; i < n && r->err == ERR_OK; i++) {
        uint64_t key = wire_get_key(r, &seen);
        if (key < sizeof getters / sizeof getters[0] && getters[key] != NULL)
            getters[key](r, e);
        else
            wire_skip(r);
    }
    if ((seen & needed) != needed)
        wire_fail(r, ERR_CORRUPT);
}

void plan_get_entries(struct wire_in *r, struct plan *p)
{
    uint32_t n = wire_get_array(r, PLAN_ENTRIES_MAX);
    for (uint32_t i = 0; i < n && r->err == ERR_OK; i++)
        get_entry(r, plan_add_entry(p));
}

/* --- files and variables -------------------------------------------------------------------- */

void plan_put_named(struct wire_out *w, const struct template_named *list, size_t n)
{
    wire_put_array(w, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        wire_put_array(w, NAMED_PARTS);
        wire_put_str(w, list[i].name);
        wire_put_bin(w, list[i].bytes, list[i].len);
    }
}

void plan_get_named(struct wire_in *r, uint32_t max_items, size_t max, struct template_named **list,
                    size_t *n)
{
    uint32_t items = wire_get_array(r, max_items);
    *list = items > 0 ? mem_calloc(items, sizeof **list) : NULL;
    for (uint32_t i = 0; i < items && r->err == ERR_OK; i++) {
        struct template_named *one = &(*list)[(*n)++];
        if (wire_get_array(r, NAMED_PARTS) != NAMED_PARTS)
            wire_fail(r, ERR_CORRUPT);
        one->name = plan_get_text(r, TEMPLATE_NAME_MAX);
        plan_get_bytes(r, max, &one->bytes, &one->len);
        max -= one->len;
    }
}
