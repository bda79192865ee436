/* SPDX-License-Identifier: MIT */
#include "common/hist_codec.h"

#include <stdbool.h>

#include "common/hist_impl.h"

typedef unsigned __int128 u128;

#define COOKIE         UINT32_C(0x1c849303) /* V2 */
#define COOKIE_WRITTEN (COOKIE | 0x10)
#define COOKIE_IGNORED UINT32_C(0xf0) /* word size, meaningless in V2 */
#define RATIO_ONE      UINT64_C(0x3ff0000000000000)
#define NUMBER_MAX     9 /* bytes: eight of 7 bits, then one of 8 */
#define MORE           0x80

enum header_at {
    AT_COOKIE = 0,
    AT_PAYLOAD_LEN = 4,
    AT_OFFSET = 8,
    AT_DIGITS = 12,
    AT_LOWEST = 16,
    AT_HIGHEST = 24,
    AT_RATIO = 32
};

static void put_be(uint8_t *p, size_t size, uint64_t v)
{
    for (size_t i = size; i > 0; i--, v >>= 8)
        p[i - 1] = (uint8_t)v;
}

static uint64_t get_be(const uint8_t *p, size_t size)
{
    uint64_t v = 0;
    for (size_t i = 0; i < size; i++)
        v = v << 8 | p[i];
    return v;
}

size_t hist_encode_max(const struct hist *h)
{
    /* One number for the zeros below the first count, at most one per counter from there on. */
    size_t numbers = h->total == 0 ? 1 : (size_t)(h->top - h->first) + 2;
    return HIST_V2_HEADER + numbers * NUMBER_MAX;
}

/* Where the next number goes, NULL when there is no room. */
static uint8_t *put_number(uint8_t *p, const uint8_t *end, uint64_t z)
{
    for (int i = 1; i < NUMBER_MAX && z >= MORE; i++, z >>= 7) {
        if (p == end)
            return NULL;
        *p++ = (uint8_t)(z | MORE);
    }
    if (p == end)
        return NULL;
    *p++ = (uint8_t)z;
    return p;
}

/* Zigzag: count n is 2n, the run -z is 2z - 1; a single zero is the count 0. */
static uint8_t *put_zeros(uint8_t *p, const uint8_t *end, uint32_t run)
{
    return put_number(p, end, run == 1 ? 0 : 2 * (uint64_t)run - 1);
}

static uint8_t *put_counters(const struct hist *h, uint8_t *p, const uint8_t *end)
{
    if (h->total == 0)
        return put_zeros(p, end, 1);
    struct hist_cursor c;
    uint32_t i, from = 0;
    uint64_t n;
    hist_cursor_init(&c, h, h->first);
    while (p != NULL && hist_cursor_next(&c, &i, &n)) {
        if (i > from)
            p = put_zeros(p, end, i - from);
        if (p != NULL)
            p = put_number(p, end, n << 1);
        from = i + 1;
    }
    return p;
}

enum err hist_encode(const struct hist *h, uint8_t *buf, size_t cap, size_t *len)
{
    if (cap < HIST_V2_HEADER)
        return ERR_TOO_BIG;
    uint8_t *payload = buf + HIST_V2_HEADER;
    const uint8_t *end = put_counters(h, payload, buf + cap);
    if (end == NULL)
        return ERR_TOO_BIG;
    put_be(buf + AT_COOKIE, 4, COOKIE_WRITTEN);
    put_be(buf + AT_PAYLOAD_LEN, 4, (uint64_t)(end - payload));
    put_be(buf + AT_OFFSET, 4, 0);
    put_be(buf + AT_DIGITS, 4, h->g.digits);
    put_be(buf + AT_LOWEST, 8, h->g.lowest);
    put_be(buf + AT_HIGHEST, 8, h->g.highest);
    put_be(buf + AT_RATIO, 8, RATIO_ONE);
    *len = (size_t)(end - buf);
    return ERR_OK;
}

/* Steps through the counters of a payload, zeros left out. */
struct walk {
    const uint8_t *p, *end;
    uint32_t index; /* of the next counter */
    uint32_t counts_len;
    enum err error; /* why walk_next said no; ERR_OK = the end */
};

static inline bool get_number(struct walk *w, uint64_t *z)
{
    uint64_t v = 0;
    const uint8_t *p = w->p;
    for (uint32_t shift = 0; p < w->end; shift += 7) {
        uint8_t b = *p++;
        bool last = b < MORE || shift == 7 * (NUMBER_MAX - 1);
        v |= (uint64_t)(last ? b : b - MORE) << shift;
        if (last) {
            w->p = p;
            *z = v;
            return true;
        }
    }
    w->error = ERR_TRUNCATED;
    return false;
}

/* The next counter that is not 0. */
static inline bool walk_next(struct walk *w, uint32_t *index, uint64_t *count)
{
    while (w->p < w->end) {
        uint64_t z;
        if (!get_number(w, &z))
            return false;
        uint64_t step = (z & 1) != 0 ? (z >> 1) + 1 : 1; /* a run of zeros or one counter */
        if (step > w->counts_len - w->index) {
            w->error = ERR_TOO_BIG;
            return false;
        }
        *index = w->index;
        w->index += (uint32_t)step;
        *count = z >> 1;
        if ((z & 1) == 0 && z != 0)
            return true;
    }
    return false;
}

/* Encoded bytes that were found to be sound. */
struct sound {
    struct hist_geometry g;
    const uint8_t *payload, *end;
    uint64_t total;
    uint32_t first, top; /* occupied counters, if total > 0 */
};

static struct walk walk_start(const struct sound *s)
{
    return (struct walk){.p = s->payload, .end = s->end, .counts_len = s->g.counts_len};
}

static enum err check_header(const uint8_t *buf, size_t len, struct sound *s)
{
    if (len < HIST_V2_HEADER)
        return ERR_TRUNCATED;
    if ((get_be(buf + AT_COOKIE, 4) & ~(uint64_t)COOKIE_IGNORED) != COOKIE)
        return ERR_CORRUPT;
    uint64_t payload_len = get_be(buf + AT_PAYLOAD_LEN, 4);
    if (payload_len != len - HIST_V2_HEADER)
        return payload_len > len - HIST_V2_HEADER ? ERR_TRUNCATED : ERR_CORRUPT;
    s->payload = buf + HIST_V2_HEADER;
    s->end = buf + len;
    enum err e = hist_geometry_init(&s->g, get_be(buf + AT_LOWEST, 8), get_be(buf + AT_HIGHEST, 8),
                                    (uint32_t)get_be(buf + AT_DIGITS, 4));
    return e == ERR_INVALID ? ERR_CORRUPT : e;
}

static enum err check_counters(struct sound *s)
{
    struct walk w = walk_start(s);
    uint32_t i;
    uint64_t n;
    s->total = 0;
    s->first = s->top = 0;
    while (walk_next(&w, &i, &n)) {
        if (n > HIST_TOTAL_MAX - s->total)
            return ERR_RANGE;
        if (s->total == 0)
            s->first = i;
        s->top = i;
        s->total += n;
    }
    return w.error;
}

static enum err check(const uint8_t *buf, size_t len, struct sound *s)
{
    enum err e = check_header(buf, len, s);
    return e != ERR_OK ? e : check_counters(s);
}

/* The block that is being added to. */
struct place {
    uint32_t block; /* UINT32_MAX = none */
    uint8_t *bytes; /* NULL = its counters are wider */
};

static inline void count(struct hist *h, struct place *at, uint32_t i, uint64_t n)
{
    uint32_t in = i % HIST_BLOCK;
    if (i / HIST_BLOCK != at->block) {
        at->block = i / HIST_BLOCK;
        at->bytes = hist_blocks_bytes(h, at->block);
    }
    if (at->bytes != NULL && n <= (uint64_t)(UINT8_MAX - at->bytes[in])) {
        at->bytes[in] = (uint8_t)(at->bytes[in] + n);
    } else {
        hist_blocks_count(h, i, n);
        at->block = UINT32_MAX;
    }
}

/* h += sound bytes of the same geometry whose total fits; their edges are added to *edges. */
static void add_counters(const struct sound *s, struct hist *h, struct hist_edges *edges)
{
    if (s->total == 0)
        return;
    struct walk w = walk_start(s);
    uint32_t i;
    uint64_t n;
    u128 sum = 0;
    struct place at = {.block = UINT32_MAX};
    while (walk_next(&w, &i, &n)) {
        count(h, &at, i, n);
        struct hist_span span = hist_span_of(&s->g, i);
        sum += (u128)(span.low + (span.width >> 1)) * n;
        hist_edges_add(edges, span, n);
    }
    h->total += s->total;
    h->sum += sum;
    hist_widen(h, s->first, s->top, hist_low(&s->g, s->first), hist_high(&s->g, s->top));
}

enum err hist_decode(const uint8_t *buf, size_t len, struct hist **out)
{
    struct sound s;
    struct hist_edges edges = {0};
    *out = NULL;
    enum err e = check(buf, len, &s);
    if (e != ERR_OK)
        return e;
    *out = hist_new(&s.g);
    add_counters(&s, *out, &edges);
    return ERR_OK;
}

enum err hist_decode_exact(const uint8_t *buf, size_t len, const struct hist_exact *x,
                           struct hist **out)
{
    struct sound s;
    struct hist_edges edges = {0};
    *out = NULL;
    enum err e = check(buf, len, &s);
    if (e != ERR_OK)
        return e;
    struct hist *h = hist_new(&s.g);
    add_counters(&s, h, &edges);
    e = hist_set_exact_within(h, x, &edges);
    if (e == ERR_OK)
        *out = h;
    else
        hist_free(h);
    return e;
}

/* The rare way: bytes of another geometry need their own counters first. */
static enum err add_other_geometry(const struct sound *s, struct hist *h)
{
    struct hist *other = hist_new(&s->g);
    struct hist_edges edges = {0};
    add_counters(s, other, &edges);
    enum err e = hist_add(h, other);
    hist_free(other);
    return e;
}

enum err hist_decode_add(const uint8_t *buf, size_t len, struct hist *h)
{
    struct sound s;
    enum err e = check(buf, len, &s);
    if (e != ERR_OK)
        return e;
    if (s.total > HIST_TOTAL_MAX - h->total)
        return ERR_RANGE;
    if (!hist_same_geometry(&s.g, &h->g))
        return add_other_geometry(&s, h);
    struct hist_edges edges = {0};
    add_counters(&s, h, &edges);
    return ERR_OK;
}
