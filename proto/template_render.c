/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "proto/template_impl.h"

#define UUID_LEN 36

/* What a render is for. */
struct subject {
    uint64_t seed, index;
    size_t body_len; /* of this render */
};

/* --- randomness ----------------------------------------------------------------------------- */

/* splitmix64's finaliser. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t draw(const struct segment *s, const struct subject *of, uint64_t k)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t key = mix(mix(of->seed + golden) ^ mix(of->index + 2 * golden));
    return mix(key + (((uint64_t)s->number << 2) + k + 1) * golden);
}

/* 0 .. n-1; n >= 1 */
static uint64_t below(uint64_t random, uint64_t n)
{
    return (uint64_t)((unsigned __int128)random * n >> 64);
}

/* --- what each kind writes ------------------------------------------------------------------- */

static size_t digits_of(uint64_t n)
{
    size_t len = 1;
    for (; n >= 10; n /= 10)
        len++;
    return len;
}

static size_t hex_digits_of(uint64_t n)
{
    size_t len = 1;
    for (; n >= 16; n /= 16)
        len++;
    return len;
}

static size_t put_number(char *at, uint64_t n, unsigned base)
{
    size_t len = base == 16 ? hex_digits_of(n) : digits_of(n);
    for (size_t i = len; i-- > 0; n /= base)
        at[i] = "0123456789abcdef"[n % base];
    return len;
}

static size_t put_text(char *at, const char *text, size_t len)
{
    memcpy(at, text, len);
    return len;
}

static size_t bytes_len(const struct segment *s, const struct subject *of)
{
    (void)of;
    return s->len;
}

static size_t bytes_put(const struct segment *s, const struct subject *of, char *at)
{
    (void)of;
    return put_text(at, s->bytes, s->len);
}

static size_t seq_len(const struct segment *s, const struct subject *of)
{
    (void)s;
    return digits_of(of->index);
}

static size_t seq_put(const struct segment *s, const struct subject *of, char *at)
{
    (void)s;
    return put_number(at, of->index, 10);
}

static uint64_t rand_value(const struct segment *s, const struct subject *of)
{
    return s->low + below(draw(s, of, 0), s->high - s->low + 1);
}

static size_t rand_len(const struct segment *s, const struct subject *of)
{
    return digits_of(rand_value(s, of));
}

static size_t rand_put(const struct segment *s, const struct subject *of, char *at)
{
    return put_number(at, rand_value(s, of), 10);
}

static const struct template_span *choice(const struct segment *s, const struct subject *of)
{
    uint64_t i =
        s->kind == SEGMENT_LINE ? of->index % s->choices.n : below(draw(s, of, 0), s->choices.n);
    return &s->choices.spans[i];
}

static size_t choice_len(const struct segment *s, const struct subject *of)
{
    return choice(s, of)->len;
}

static size_t choice_put(const struct segment *s, const struct subject *of, char *at)
{
    const struct template_span *c = choice(s, of);
    return put_text(at, c->at, c->len);
}

static size_t uuid_len(const struct segment *s, const struct subject *of)
{
    (void)s, (void)of;
    return UUID_LEN;
}

static size_t uuid_put(const struct segment *s, const struct subject *of, char *at)
{
    uint64_t halves[2] = {draw(s, of, 0), draw(s, of, 1)};
    halves[0] = (halves[0] & ~UINT64_C(0xf000)) | UINT64_C(0x4000); /* the version */
    halves[1] = (halves[1] & (UINT64_MAX >> 2)) | UINT64_C(1) << 63;
    char *to = at;
    for (unsigned i = 0; i < 32; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20)
            *to++ = '-';
        *to++ = "0123456789abcdef"[halves[i / 16] >> (60 - 4 * (i % 16)) & 15];
    }
    return UUID_LEN;
}

static size_t length_len(const struct segment *s, const struct subject *of)
{
    (void)s;
    return digits_of(of->body_len);
}

static size_t length_put(const struct segment *s, const struct subject *of, char *at)
{
    (void)s;
    return put_number(at, of->body_len, 10);
}

static size_t chunk_begin_len(const struct segment *s, const struct subject *of)
{
    (void)s;
    return of->body_len == 0 ? 0 : hex_digits_of(of->body_len) + 2;
}

static size_t chunk_begin_put(const struct segment *s, const struct subject *of, char *at)
{
    (void)s;
    if (of->body_len == 0) /* a chunk of no bytes is the end */
        return 0;
    size_t len = put_number(at, of->body_len, 16);
    return len + put_text(at + len, "\r\n", 2);
}

static size_t chunk_end_len(const struct segment *s, const struct subject *of)
{
    (void)s;
    return of->body_len == 0 ? 5 : 7;
}

static size_t chunk_end_put(const struct segment *s, const struct subject *of, char *at)
{
    static const char end[] = "\r\n0\r\n\r\n";
    size_t len = chunk_end_len(s, of);
    return put_text(at, end + 7 - len, len);
}

static const struct {
    size_t (*len)(const struct segment *s, const struct subject *of);
    size_t (*put)(const struct segment *s, const struct subject *of, char *at);
} kinds[SEGMENT_KINDS] = {
    [SEGMENT_BYTES] = {bytes_len, bytes_put},
    [SEGMENT_SEQ] = {seq_len, seq_put},
    [SEGMENT_RAND] = {rand_len, rand_put},
    [SEGMENT_PICK] = {choice_len, choice_put},
    [SEGMENT_UUID] = {uuid_len, uuid_put},
    [SEGMENT_LINE] = {choice_len, choice_put},
    [SEGMENT_LENGTH] = {length_len, length_put},
    [SEGMENT_CHUNK_BEGIN] = {chunk_begin_len, chunk_begin_put},
    [SEGMENT_CHUNK_END] = {chunk_end_len, chunk_end_put},
};

/* --- lengths -------------------------------------------------------------------------------- */

static size_t plus(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

static size_t segment_max(const struct segment *s, size_t body_max)
{
    const size_t longest[SEGMENT_KINDS] = {
        [SEGMENT_BYTES] = s->len,
        [SEGMENT_SEQ] = digits_of(UINT64_MAX),
        [SEGMENT_RAND] = digits_of(s->high),
        [SEGMENT_PICK] = s->choices.max,
        [SEGMENT_UUID] = UUID_LEN,
        [SEGMENT_LINE] = s->choices.max,
        [SEGMENT_LENGTH] = digits_of(body_max),
        [SEGMENT_CHUNK_BEGIN] = hex_digits_of(body_max) + 2,
        [SEGMENT_CHUNK_END] = 7,
    };
    return longest[s->kind];
}

static size_t max_of(const struct template_form *t, size_t from, size_t to, size_t body_max)
{
    size_t sum = 0;
    for (size_t i = from; i < to; i++)
        sum = plus(sum, segment_max(&t->segments[i], body_max));
    return sum;
}

size_t template_body_max(const struct template_form *t)
{
    return max_of(t, t->body_from, t->body_to, 0);
}

size_t template_max(const struct template_form *t)
{
    return max_of(t, 0, t->n, template_body_max(t));
}

bool template_is_constant(const struct template_form *t)
{
    return t->placeholders == 0;
}

/* --- rendering ------------------------------------------------------------------------------ */

static size_t len_of(const struct template_form *t, size_t from, size_t to,
                     const struct subject *of)
{
    size_t sum = 0;
    for (size_t i = from; i < to; i++)
        sum += kinds[t->segments[i].kind].len(&t->segments[i], of);
    return sum;
}

static struct subject subject_of(const struct template_form *t, uint64_t seed, uint64_t index)
{
    struct subject of = {.seed = seed, .index = index};
    of.body_len = len_of(t, t->body_from, t->body_to, &of);
    return of;
}

size_t template_len(const struct template_form *t, uint64_t seed, uint64_t index)
{
    struct subject of = subject_of(t, seed, index);
    return len_of(t, 0, t->n, &of);
}

size_t template_render(const struct template_form *t, uint64_t seed, uint64_t index, char *buf,
                       size_t *head_len)
{
    struct subject of = subject_of(t, seed, index);
    size_t len = 0, head = SIZE_MAX;
    for (size_t i = 0; i < t->n; i++) {
        const struct segment *s = &t->segments[i];
        if (t->has_body && i == t->body_from)
            head = len;
        len += kinds[s->kind].put(s, &of, buf + len);
    }
    if (head_len != NULL)
        *head_len = head == SIZE_MAX ? len : head;
    return len;
}
