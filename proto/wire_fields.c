/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "proto/wire.h"

/* Structs by field table, on top of the two primitives of wire.c. */

static void put_field(struct wire_out *w, const struct wire_field *f, const void *at)
{
    const struct wire_blob *blob = at;
    switch (f->type) {
    case WIRE_U64:
        wire_put_u64(w, *(const uint64_t *)at);
        break;
    case WIRE_U32:
        wire_put_u64(w, *(const uint32_t *)at);
        break;
    case WIRE_I64:
        wire_put_i64(w, *(const int64_t *)at);
        break;
    case WIRE_BOOL:
        wire_put_bool(w, *(const bool *)at);
        break;
    case WIRE_STR:
        wire_put_text(w, at, strnlen(at, f->size - 1));
        break;
    case WIRE_ID:
        wire_put_bin(w, at, f->size);
        break;
    case WIRE_BLOB:
        wire_put_bin(w, blob->data, blob->len);
        break;
    }
}

void wire_put_fields(struct wire_out *w, const struct wire_field *f, size_t n, const void *s)
{
    wire_put_map(w, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        wire_put_u64(w, f[i].key);
        put_field(w, &f[i], (const char *)s + f[i].offset);
    }
}

static void get_u32(struct wire_in *r, uint32_t *at)
{
    uint64_t v = wire_get_u64(r);
    if (v > UINT32_MAX)
        wire_fail(r, ERR_RANGE);
    else
        *at = (uint32_t)v;
}

static void get_id(struct wire_in *r, uint8_t *at, size_t size)
{
    struct wire_blob b = wire_get_bin(r, size);
    if (b.len == size)
        memcpy(at, b.data, size);
    else
        wire_fail(r, ERR_CORRUPT);
}

static void get_field(struct wire_in *r, const struct wire_field *f, void *at)
{
    switch (f->type) {
    case WIRE_U64:
        *(uint64_t *)at = wire_get_u64(r);
        break;
    case WIRE_U32:
        get_u32(r, at);
        break;
    case WIRE_I64:
        *(int64_t *)at = wire_get_i64(r);
        break;
    case WIRE_BOOL:
        *(bool *)at = wire_get_bool(r);
        break;
    case WIRE_STR:
        wire_get_str(r, at, f->size);
        break;
    case WIRE_ID:
        get_id(r, at, f->size);
        break;
    case WIRE_BLOB:
        *(struct wire_blob *)at = wire_get_bin(r, f->size);
        break;
    }
}

static const struct wire_field *find_field(const struct wire_field *f, size_t n, uint64_t key)
{
    for (size_t i = 0; i < n; i++)
        if (f[i].key == key)
            return &f[i];
    return NULL;
}

void wire_get_fields(struct wire_in *r, const struct wire_field *f, size_t n, void *s)
{
    uint64_t seen = 0;
    uint32_t pairs = wire_get_map(r, WIRE_PAIRS_MAX);
    for (uint32_t i = 0; i < pairs && r->err == ERR_OK; i++) {
        const struct wire_field *field = find_field(f, n, wire_get_key(r, &seen));
        if (field == NULL)
            wire_skip(r);
        else
            get_field(r, field, (char *)s + field->offset);
    }
    for (size_t i = 0; i < n; i++)
        if (f[i].required && (seen >> f[i].key & 1) == 0)
            wire_fail(r, ERR_CORRUPT);
}
