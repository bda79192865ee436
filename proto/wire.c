/* SPDX-License-Identifier: MIT */
#include "proto/wire.h"

#include <math.h>
#include <msgpack.h>
#include <string.h>

#include "common/mem.h"

/* --- writing ------------------------------------------------------------------------------- */

struct wire_out {
    msgpack_packer packer;
    uint8_t *buf;
    size_t len, cap;
};

/* msgpack_sbuffer would report a failed realloc through every single pack call; ours cannot fail.
 */
static int append(void *arg, const char *data, size_t len)
{
    struct wire_out *w = arg;
    if (len == 0)
        return 0;
    if (len > w->cap - w->len) {
        size_t cap = w->cap == 0 ? 256 : w->cap;
        while (cap - w->len < len)
            cap *= 2;
        w->buf = mem_realloc(w->buf, cap, 1);
        w->cap = cap;
    }
    memcpy(w->buf + w->len, data, len);
    w->len += len;
    return 0;
}

struct wire_out *wire_out_new(void)
{
    struct wire_out *w = mem_calloc(1, sizeof *w);
    msgpack_packer_init(&w->packer, w, append);
    return w;
}

void wire_out_free(struct wire_out *w)
{
    if (w == NULL)
        return;
    mem_free(w->buf);
    mem_free(w);
}

uint8_t *wire_out_take(struct wire_out *w, size_t *len)
{
    uint8_t *buf = w->buf == NULL ? mem_calloc(1, 1) : w->buf;
    *len = w->len;
    w->buf = NULL;
    w->len = w->cap = 0;
    return buf;
}

void wire_put_map(struct wire_out *w, uint32_t n)
{
    msgpack_pack_map(&w->packer, n);
}

void wire_put_array(struct wire_out *w, uint32_t n)
{
    msgpack_pack_array(&w->packer, n);
}

void wire_put_u64(struct wire_out *w, uint64_t v)
{
    msgpack_pack_uint64(&w->packer, v);
}

void wire_put_i64(struct wire_out *w, int64_t v)
{
    msgpack_pack_int64(&w->packer, v);
}

void wire_put_bool(struct wire_out *w, bool v)
{
    if (v)
        msgpack_pack_true(&w->packer);
    else
        msgpack_pack_false(&w->packer);
}

void wire_put_f64(struct wire_out *w, double v)
{
    msgpack_pack_double(&w->packer, v);
}

void wire_put_text(struct wire_out *w, const char *s, size_t len)
{
    msgpack_pack_str(&w->packer, len);
    msgpack_pack_str_body(&w->packer, s, len);
}

void wire_put_str(struct wire_out *w, const char *s)
{
    wire_put_text(w, s, strlen(s));
}

void wire_put_bin(struct wire_out *w, const void *p, size_t len)
{
    msgpack_pack_bin(&w->packer, len);
    msgpack_pack_bin_body(&w->packer, p, len);
}

/* --- reading ------------------------------------------------------------------------------- */

enum kind {
    KIND_BAD, /* 0xc1, which the specification never uses */
    KIND_NIL,
    KIND_BOOL,
    KIND_UINT,
    KIND_NEGATIVE, /* number below zero, two's complement in n */
    KIND_FLOAT,
    KIND_DOUBLE,
    KIND_STR,
    KIND_BIN,
    KIND_EXT,
    KIND_ARRAY,
    KIND_MAP
};

/* First byte of a value and what belongs to it, taken apart; the body is still to be read. */
struct head {
    enum kind kind;
    uint64_t n; /* the number itself, bytes of the body, elements, or pairs */
};

/* Heads 0xc0 .. 0xdf: kind, and how many bytes of number follow. */
static const struct {
    uint8_t kind, width;
} long_heads[32] = {
    {KIND_NIL, 0},   {KIND_BAD, 0},      {KIND_BOOL, 0},     {KIND_BOOL, 0},     {KIND_BIN, 1},
    {KIND_BIN, 2},   {KIND_BIN, 4},      {KIND_EXT, 1},      {KIND_EXT, 2},      {KIND_EXT, 4},
    {KIND_FLOAT, 4}, {KIND_DOUBLE, 8},   {KIND_UINT, 1},     {KIND_UINT, 2},     {KIND_UINT, 4},
    {KIND_UINT, 8},  {KIND_NEGATIVE, 1}, {KIND_NEGATIVE, 2}, {KIND_NEGATIVE, 4}, {KIND_NEGATIVE, 8},
    {KIND_EXT, 0},   {KIND_EXT, 0},      {KIND_EXT, 0},      {KIND_EXT, 0},      {KIND_EXT, 0},
    {KIND_STR, 1},   {KIND_STR, 2},      {KIND_STR, 4},      {KIND_ARRAY, 2},    {KIND_ARRAY, 4},
    {KIND_MAP, 2},   {KIND_MAP, 4},
};

#define HEAD_FALSE   0xc2
#define HEAD_FIXEXT1 0xd4

void wire_in_init(struct wire_in *r, const void *data, size_t len)
{
    r->p = data;
    r->end = len == 0 ? r->p : r->p + len;
    r->err = ERR_OK;
}

void wire_fail(struct wire_in *r, enum err e)
{
    if (r->err == ERR_OK)
        r->err = e;
}

static size_t left(const struct wire_in *r)
{
    return (size_t)(r->end - r->p);
}

static uint64_t big_endian(const uint8_t *p, size_t width)
{
    uint64_t v = 0;
    for (size_t i = 0; i < width; i++)
        v = v << 8 | p[i];
    return v;
}

static struct head short_head(uint8_t b)
{
    if (b <= 0x7f)
        return (struct head){KIND_UINT, b};
    if (b <= 0x8f)
        return (struct head){KIND_MAP, b & 0x0f};
    if (b <= 0x9f)
        return (struct head){KIND_ARRAY, b & 0x0f};
    if (b <= 0xbf)
        return (struct head){KIND_STR, b & 0x1f};
    return (struct head){KIND_NEGATIVE, (uint64_t)(int8_t)b}; /* 0xe0 .. 0xff */
}

static struct head long_head(struct wire_in *r, uint8_t b)
{
    size_t width = long_heads[b - 0xc0].width;
    struct head h = {long_heads[b - 0xc0].kind, 0};
    if (width > left(r)) {
        wire_fail(r, ERR_TRUNCATED);
        return h;
    }
    bool sign = width > 0 && (r->p[0] & 0x80) != 0;
    h.n = big_endian(r->p, width);
    r->p += width;
    if (h.kind == KIND_BOOL)
        h.n = b != HEAD_FALSE;
    else if (h.kind == KIND_EXT)
        h.n = (width == 0 ? UINT64_C(1) << (b - HEAD_FIXEXT1) : h.n) + 1; /* type byte */
    else if (h.kind == KIND_NEGATIVE && !sign)
        h.kind = KIND_UINT; /* legal: a number >= 0 in a signed form */
    else if (h.kind == KIND_NEGATIVE && width < 8)
        h.n |= UINT64_MAX << (8 * width);
    return h;
}

/* Bytes the body takes at the very least. */
static uint64_t body_min(const struct head *h)
{
    switch (h->kind) {
    case KIND_STR:
    case KIND_BIN:
    case KIND_EXT:
    case KIND_ARRAY:
        return h->n;
    case KIND_MAP:
        return 2 * h->n;
    default:
        return 0;
    }
}

/* False after an error; else the body is known to fit the bytes left as far as can be told. */
static bool read_head(struct wire_in *r, struct head *h)
{
    if (r->err != ERR_OK)
        return false;
    if (r->p == r->end) {
        wire_fail(r, ERR_TRUNCATED);
        return false;
    }
    uint8_t b = *r->p++;
    *h = b >= 0xc0 && b <= 0xdf ? long_head(r, b) : short_head(b);
    if (h->kind == KIND_BAD)
        wire_fail(r, ERR_CORRUPT);
    else if (body_min(h) > left(r))
        wire_fail(r, ERR_TRUNCATED);
    return r->err == ERR_OK;
}

static bool expect(struct wire_in *r, enum kind kind, struct head *h)
{
    if (!read_head(r, h))
        return false;
    if (h->kind != kind)
        wire_fail(r, ERR_CORRUPT);
    return r->err == ERR_OK;
}

static uint32_t get_count(struct wire_in *r, enum kind kind, uint32_t max)
{
    struct head h;
    if (!expect(r, kind, &h))
        return 0;
    if (h.n <= max)
        return (uint32_t)h.n;
    wire_fail(r, ERR_TOO_BIG);
    return 0;
}

uint32_t wire_get_map(struct wire_in *r, uint32_t max)
{
    return get_count(r, KIND_MAP, max);
}

uint32_t wire_get_array(struct wire_in *r, uint32_t max)
{
    return get_count(r, KIND_ARRAY, max);
}

uint64_t wire_get_u64(struct wire_in *r)
{
    struct head h;
    if (!read_head(r, &h))
        return 0;
    if (h.kind == KIND_UINT)
        return h.n;
    wire_fail(r, h.kind == KIND_NEGATIVE ? ERR_RANGE : ERR_CORRUPT);
    return 0;
}

int64_t wire_get_i64(struct wire_in *r)
{
    struct head h;
    if (!read_head(r, &h))
        return 0;
    if (h.kind == KIND_NEGATIVE || (h.kind == KIND_UINT && h.n <= INT64_MAX))
        return (int64_t)h.n;
    wire_fail(r, h.kind == KIND_UINT ? ERR_RANGE : ERR_CORRUPT);
    return 0;
}

bool wire_get_bool(struct wire_in *r)
{
    struct head h;
    return expect(r, KIND_BOOL, &h) && h.n != 0;
}

double wire_get_f64(struct wire_in *r)
{
    struct head h;
    if (!read_head(r, &h))
        return 0;
    double v = 0;
    if (h.kind == KIND_DOUBLE) {
        memcpy(&v, &h.n, sizeof v);
    } else if (h.kind == KIND_FLOAT) {
        uint32_t bits = (uint32_t)h.n;
        float f;
        memcpy(&f, &bits, sizeof f);
        v = (double)f;
    } else {
        wire_fail(r, ERR_CORRUPT);
    }
    if (isfinite(v))
        return v;
    wire_fail(r, ERR_RANGE);
    return 0;
}

static struct wire_blob get_body(struct wire_in *r, enum kind kind, size_t max)
{
    struct head h;
    if (!expect(r, kind, &h))
        return (struct wire_blob){NULL, 0};
    if (h.n > max) {
        wire_fail(r, ERR_TOO_BIG);
        return (struct wire_blob){NULL, 0};
    }
    struct wire_blob b = {r->p, (size_t)h.n};
    r->p += b.len;
    return b;
}

struct wire_blob wire_get_bin(struct wire_in *r, size_t max)
{
    return get_body(r, KIND_BIN, max);
}

struct wire_blob wire_get_text(struct wire_in *r, size_t max)
{
    struct wire_blob b = get_body(r, KIND_STR, max);
    if (b.len == 0 || memchr(b.data, 0, b.len) == NULL)
        return b;
    wire_fail(r, ERR_CORRUPT);
    return (struct wire_blob){NULL, 0};
}

void wire_get_str(struct wire_in *r, char *buf, size_t cap)
{
    struct wire_blob b = wire_get_text(r, cap - 1);
    if (b.len > 0)
        memcpy(buf, b.data, b.len);
    buf[b.len] = '\0';
}

uint64_t wire_get_key(struct wire_in *r, uint64_t *seen)
{
    uint64_t key = wire_get_u64(r);
    if (r->err != ERR_OK)
        return UINT64_MAX;
    if (key >= 64)
        return key;
    uint64_t bit = UINT64_C(1) << key;
    if ((*seen & bit) != 0) {
        wire_fail(r, ERR_CORRUPT);
        return UINT64_MAX;
    }
    *seen |= bit;
    return key;
}

/* Depth needs no memory: only how many values are still to come matters. Each takes a byte at
 * least, so the bytes left bound the work. */
void wire_skip(struct wire_in *r)
{
    uint64_t pending = 1;
    struct head h;
    while (pending > 0 && read_head(r, &h)) {
        pending--;
        if (h.kind == KIND_STR || h.kind == KIND_BIN || h.kind == KIND_EXT)
            r->p += h.n;
        else
            pending += body_min(&h); /* elements of a container; none of a number */
    }
}

enum err wire_end(const struct wire_in *r)
{
    if (r->err != ERR_OK)
        return r->err;
    return r->p == r->end ? ERR_OK : ERR_CORRUPT;
}
