/* SPDX-License-Identifier: MIT */
#include "common/hist_log.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/hist_codec.h"
#include "common/mem.h"

#define COOKIE         UINT32_C(0x1c849304) /* V2, compressed */
#define COOKIE_WRITTEN (COOKIE | 0x10)
#define COOKIE_IGNORED UINT32_C(0xf0)
#define ENVELOPE       8
#define COUNTER_MAX    9 /* bytes of one */

enum {
    AT_PAYLOAD_LEN = 4,
    AT_DIGITS = 12,
    AT_LOWEST = 16,
    AT_HIGHEST = 24
};

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void put_be32(uint8_t *p, uint32_t v)
{
    for (size_t i = 4; i > 0; i--, v >>= 8)
        p[i - 1] = (uint8_t)v;
}

static uint64_t get_be(const uint8_t *p, size_t size)
{
    uint64_t v = 0;
    for (size_t i = 0; i < size; i++)
        v = v << 8 | p[i];
    return v;
}

/* --- base64 --------------------------------------------------------------------------------- */

static char *to_base64(const uint8_t *p, size_t len)
{
    char *text = mem_calloc((len + 2) / 3 * 4 + 1, 1), *to = text;
    for (size_t i = 0; i < len; i += 3) {
        size_t n = len - i < 3 ? len - i : 3;
        uint32_t v = 0;
        for (size_t k = 0; k < 3; k++)
            v = v << 8 | (k < n ? p[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            *to++ = k <= n ? letters[v >> (18 - 6 * k) & 63] : '=';
    }
    return text;
}

/* Whole groups of four, padded; `out` has room for three bytes each. */
static bool from_base64(const char *text, size_t len, uint8_t *out, size_t *n)
{
    size_t pad = 0, filled = 0;
    if (len == 0 || len % 4 != 0)
        return false;
    while (pad < 2 && text[len - 1 - pad] == '=')
        pad++;
    for (size_t i = 0; i < len; i += 4) {
        uint32_t v = 0;
        for (size_t k = 0; k < 4; k++) {
            bool padding = i + k >= len - pad;
            const char *at = text[i + k] == '\0' ? NULL : strchr(letters, text[i + k]);
            if (at == NULL && !padding)
                return false;
            v = v << 6 | (padding ? 0 : (uint32_t)(at - letters));
        }
        for (size_t k = 0; k < 3; k++)
            out[filled++] = (uint8_t)(v >> (16 - 8 * k));
    }
    *n = filled - pad;
    return true;
}

/* --- the envelope --------------------------------------------------------------------------- */

char *hist_log_encode(const struct hist *h)
{
    size_t cap = hist_encode_max(h), len = 0;
    uint8_t *bytes = mem_calloc(cap, 1);
    if (hist_encode(h, bytes, cap, &len) != ERR_OK)
        abort(); /* hist_encode_max was wrong */
    uLongf packed = compressBound((uLong)len);
    uint8_t *all = mem_calloc(ENVELOPE + packed, 1);
    if (compress2(all + ENVELOPE, &packed, bytes, (uLong)len, Z_DEFAULT_COMPRESSION) != Z_OK)
        abort(); /* there is room; it had no memory */
    put_be32(all, COOKIE_WRITTEN);
    put_be32(all + 4, (uint32_t)packed);
    char *text = to_base64(all, ENVELOPE + packed);
    mem_free(all);
    mem_free(bytes);
    return text;
}

/* How long the encoding is that begins with this header; 0 = no histogram has it. */
static size_t whole_len(const uint8_t header[HIST_V2_HEADER])
{
    struct hist_geometry g;
    uint64_t payload = get_be(header + AT_PAYLOAD_LEN, 4);
    if (hist_geometry_init(&g, get_be(header + AT_LOWEST, 8), get_be(header + AT_HIGHEST, 8),
                           (uint32_t)get_be(header + AT_DIGITS, 4)) != ERR_OK)
        return 0;
    return payload <= (uint64_t)g.counts_len * COUNTER_MAX ? HIST_V2_HEADER + (size_t)payload : 0;
}

/* Fills exactly `len` bytes. */
static bool inflate_to(z_stream *z, uint8_t *to, size_t len)
{
    z->next_out = to;
    z->avail_out = (uInt)len;
    int rc = inflate(z, Z_SYNC_FLUSH);
    return (rc == Z_OK || rc == Z_STREAM_END) && z->avail_out == 0;
}

/* Nothing more comes out, and nothing is left over. */
static bool inflate_ends(z_stream *z)
{
    uint8_t more;
    z->next_out = &more;
    z->avail_out = 1;
    return inflate(z, Z_FINISH) == Z_STREAM_END && z->avail_out == 1 && z->avail_in == 0;
}

static enum err unpack(const uint8_t *packed, size_t len, struct hist **out)
{
    uint8_t header[HIST_V2_HEADER], *bytes = NULL;
    z_stream z = {.next_in = (Bytef *)packed, .avail_in = (uInt)len};
    enum err e = ERR_CORRUPT;
    if (inflateInit(&z) != Z_OK)
        return ERR_NOMEM;
    size_t whole = inflate_to(&z, header, sizeof header) ? whole_len(header) : 0;
    if (whole > 0) {
        bytes = mem_calloc(whole, 1);
        memcpy(bytes, header, sizeof header);
        if ((whole == sizeof header ||
             inflate_to(&z, bytes + sizeof header, whole - sizeof header)) &&
            inflate_ends(&z))
            e = hist_decode(bytes, whole, out);
    }
    inflateEnd(&z);
    mem_free(bytes);
    return e;
}

enum err hist_log_decode(const char *text, size_t len, struct hist **out)
{
    uint8_t *bytes = mem_calloc(len / 4 * 3 + 1, 1);
    size_t n = 0;
    enum err e = ERR_CORRUPT;
    *out = NULL;
    if (from_base64(text, len, bytes, &n) && n > ENVELOPE)
        e = (get_be(bytes, 4) & ~COOKIE_IGNORED) == COOKIE && get_be(bytes + 4, 4) == n - ENVELOPE
                ? unpack(bytes + ENVELOPE, n - ENVELOPE, out)
                : ERR_CORRUPT;
    mem_free(bytes);
    return e;
}
