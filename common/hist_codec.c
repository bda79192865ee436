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

/* Encoded bytes whose header is sound. */
struct payload {
    struct hist_geometry g;
    const uint8_t *p, *end; /* read up to here */
};

static enum err read_header(const uint8_t *buf, size_t len, struct payload *in)
{
    if (len < HIST_V2_HEADER)
        return ERR_TRUNCATED;
    if ((get_be(buf + AT_COOKIE, 4) & ~(uint64_t)COOKIE_IGNORED) != COOKIE)
        return ERR_CORRUPT;
    uint64_t payload_len = get_be(buf + AT_PAYLOAD_LEN, 4);
    if (payload_len != len - HIST_V2_HEADER)
        return payload_len > len - HIST_V2_HEADER ? ERR_TRUNCATED : ERR_CORRUPT;
    in->p = buf + HIST_V2_HEADER;
    in->end = buf + len;
    enum err e = hist_geometry_init(&in->g, get_be(buf + AT_LOWEST, 8), get_be(buf + AT_HIGHEST, 8),
                                    (uint32_t)get_be(buf + AT_DIGITS, 4));
    return e == ERR_INVALID ? ERR_CORRUPT : e;
}

static bool get_number(struct payload *in, uint64_t *z)
{
    uint64_t v = 0;
    const uint8_t *p = in->p;
    for (uint32_t shift = 0; p < in->end; shift += 7) {
        uint8_t b = *p++;
        bool last = b < MORE || shift == 7 * (NUMBER_MAX - 1);
        v |= (uint64_t)(last ? b : b - MORE) << shift;
        if (last) {
            in->p = p;
            *z = v;
            return true;
        }
    }
    return false;
}

/* What the samples so far add up to: at the low end of their buckets, and how wide these are. */
struct tally {
    uint64_t total;
    u128 low, width, half;
};

/* n samples in neighbouring buckets of the same width; `steps`: each one's distance from `from`. */
static bool tally_add(struct tally *t, const struct hist_geometry *g, uint32_t from, uint64_t n,
                      uint64_t steps)
{
    struct hist_span span = hist_span_of(g, from);
    if (n > HIST_TOTAL_MAX - t->total)
        return false;
    t->total += n;
    t->low += (u128)span.low * n + (u128)span.width * steps;
    t->width += (u128)span.width * n;
    t->half += (u128)(span.width >> 1) * n;
    return true;
}

/* Counters of a block that is there, from `*i` on, as long as numbers are of one byte, which nearly
 * all are. Whether such a byte is a count or a run of zeros nobody can foresee, so no branch asks:
 * a run writes 0 where 0 is. */
static bool fill_block(struct payload *in, uint8_t *bytes, uint32_t *i, struct tally *t,
                       uint32_t *top)
{
    const uint8_t *p = in->p, *end = in->end;
    uint32_t base = *i - *i % HIST_BLOCK, at = *i % HIST_BLOCK, last = 0, n = 0, steps = 0;
    while (at < HIST_BLOCK && p < end && *p < MORE) {
        uint32_t z = *p++, run = -(z & 1), count = (z >> 1) & ~run;
        bytes[at] = (uint8_t)count;
        n += count;
        steps += count * at;
        last = count != 0 ? at : last;
        at += 1 + ((z >> 1) & run);
    }
    in->p = p;
    *i = base + at;
    if (n > 0)
        *top = base + last;
    return tally_add(t, &in->g, base, n, steps);
}

/* One counter or one run of zeros, of any size. */
static enum err fill_one(struct payload *in, struct hist *h, uint32_t *i, struct tally *t)
{
    uint64_t z;
    if (!get_number(in, &z))
        return ERR_TRUNCATED;
    uint64_t step = (z & 1) != 0 ? (z >> 1) + 1 : 1;
    if (step > in->g.counts_len - *i)
        return ERR_TOO_BIG;
    if ((z & 1) == 0 && z != 0) {
        if (!tally_add(t, &in->g, *i, z >> 1, 0))
            return ERR_RANGE;
        hist_blocks_count(h, *i, z >> 1);
        h->first = *i < h->first ? *i : h->first;
        h->top = *i;
    }
    *i += (uint32_t)step;
    return ERR_OK;
}

/* Fills an empty histogram of that geometry; on an error it has some of the counters. */
static enum err fill_counters(struct payload *in, struct hist *h, struct tally *t)
{
    uint32_t i = 0, counts_len = in->g.counts_len;
    bool even = in->g.sub_half_magnitude >= HIST_BLOCK_LOG2; /* a block has buckets of one width */
    while (in->p < in->end && i <= counts_len) {
        uint8_t z = *in->p, *bytes = NULL;
        if (even && z < MORE && (z & 1) == 0 && z != 0 && i < counts_len)
            bytes = hist_blocks_bytes(h, i / HIST_BLOCK);
        if (bytes != NULL) {
            h->first = i < h->first ? i : h->first;
            if (!fill_block(in, bytes, &i, t, &h->top))
                return ERR_RANGE;
        } else {
            enum err e = fill_one(in, h, &i, t);
            if (e != ERR_OK)
                return e;
        }
    }
    return i > counts_len ? ERR_TOO_BIG : ERR_OK;
}

/* Into an empty histogram of that geometry, which is empty again after an error. */
static enum err fill(struct payload *in, struct hist *h, struct hist_edges *edges)
{
    struct tally t = {0};
    enum err e = fill_counters(in, h, &t);
    if (e != ERR_OK) {
        hist_reset(h);
        return e;
    }
    if (t.total == 0)
        return ERR_OK;
    h->total = t.total;
    h->sum = t.low + t.half;
    h->min = hist_low(&h->g, h->first);
    h->max = hist_high(&h->g, h->top);
    *edges = (struct hist_edges){.low = t.low, .high = t.low + t.width - t.total};
    return ERR_OK;
}

enum err hist_decode(const uint8_t *buf, size_t len, struct hist **out)
{
    struct payload in;
    struct hist_edges edges = {0};
    *out = NULL;
    enum err e = read_header(buf, len, &in);
    if (e != ERR_OK)
        return e;
    struct hist *h = hist_new(&in.g);
    e = fill(&in, h, &edges);
    if (e == ERR_OK)
        *out = h;
    else
        hist_free(h);
    return e;
}

enum err hist_decode_exact(const uint8_t *buf, size_t len, const struct hist_exact *x,
                           struct hist *h)
{
    struct payload in;
    struct hist_edges edges = {0};
    hist_reset(h);
    enum err e = read_header(buf, len, &in);
    if (e == ERR_OK && !hist_same_geometry(&in.g, &h->g))
        e = ERR_CORRUPT;
    if (e == ERR_OK)
        e = fill(&in, h, &edges);
    if (e == ERR_OK)
        e = hist_set_exact_within(h, x, &edges);
    if (e != ERR_OK)
        hist_reset(h);
    return e;
}

enum err hist_decode_add(const uint8_t *buf, size_t len, struct hist *h)
{
    struct hist *other;
    enum err e = hist_decode(buf, len, &other);
    if (e == ERR_OK)
        e = hist_add(h, other);
    hist_free(other);
    return e;
}
