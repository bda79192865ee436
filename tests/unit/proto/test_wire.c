/* SPDX-License-Identifier: MIT */
#include "proto/wire.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"

/* Reads from a copy of exactly that size, so that a sanitizer sees the first byte too many. */
struct exact {
    uint8_t *bytes;
    struct wire_in in;
};

static struct exact exact_open(const void *data, size_t len)
{
    struct exact x = {.bytes = malloc(len == 0 ? 1 : len)};
    if (len > 0)
        memcpy(x.bytes, data, len);
    wire_in_init(&x.in, x.bytes, len);
    return x;
}

static enum err exact_close(struct exact *x)
{
    enum err e = wire_end(&x->in);
    free(x->bytes);
    return e;
}

#define OPEN(...) exact_open((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* Numbers of every length: 1 to 64 bits. */
static uint64_t random_u64(uint64_t *rng)
{
    uint64_t n = check_random(rng);
    return n >> check_below(rng, 64);
}

START_TEST(test_numbers_come_back)
{
    uint64_t rng = check_seed();
    for (int i = 0; i < 20000; i++) {
        uint64_t u = random_u64(&rng);
        int64_t s = (int64_t)random_u64(&rng) * (check_below(&rng, 2) ? 1 : -1);
        uint64_t bits = check_random(&rng);
        double d;
        memcpy(&d, &bits, sizeof d);
        if (!isfinite(d))
            d = -0.5;
        struct wire_out *w = wire_out_new();
        wire_put_u64(w, u);
        wire_put_i64(w, s);
        wire_put_f64(w, d);
        wire_put_bool(w, u & 1);
        size_t len;
        uint8_t *buf = wire_out_take(w, &len);
        struct exact x = exact_open(buf, len);
        ck_assert_uint_eq(wire_get_u64(&x.in), u);
        ck_assert_int_eq(wire_get_i64(&x.in), s);
        double back = wire_get_f64(&x.in);
        ck_assert_int_eq(memcmp(&back, &d, sizeof d), 0);
        ck_assert_int_eq(wire_get_bool(&x.in), u & 1);
        ck_assert_int_eq(exact_close(&x), ERR_OK);
        mem_free(buf);
        wire_out_free(w);
    }
}
END_TEST

START_TEST(test_texts_and_bytes_of_every_length_come_back)
{
    static const size_t lens[] = {0, 1, 31, 32, 33, 255, 256, 257, 65535, 65536, 70000};
    char *text = calloc(1, 70001), *back = calloc(1, 70001);
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        memset(text, 'a', lens[i]);
        struct wire_out *w = wire_out_new();
        wire_put_text(w, text, lens[i]);
        wire_put_bin(w, text, lens[i]);
        size_t len;
        uint8_t *buf = wire_out_take(w, &len);
        struct exact x = exact_open(buf, len);
        wire_get_str(&x.in, back, lens[i] + 1);
        ck_assert_uint_eq(strlen(back), lens[i]);
        ck_assert_int_eq(memcmp(back, text, lens[i]), 0);
        struct wire_blob b = wire_get_bin(&x.in, lens[i]);
        ck_assert_uint_eq(b.len, lens[i]);
        if (b.len > 0)
            ck_assert_int_eq(memcmp(b.data, text, lens[i]), 0);
        ck_assert_int_eq(exact_close(&x), ERR_OK);
        if (lens[i] > 0) { /* one byte less of room */
            x = exact_open(buf, len);
            wire_get_str(&x.in, back, lens[i]);
            ck_assert_int_eq(exact_close(&x), ERR_TOO_BIG);
        }
        mem_free(buf);
        wire_out_free(w);
    }
    free(text);
    free(back);
}
END_TEST

START_TEST(test_foreign_spellings_are_read)
{
    struct exact x = OPEN(0xd0, 0x05, 0xd3, 0, 0, 0, 0, 0, 0, 0, 7, 0xd0, 0xff, 0xca, 0x3f, 0x00,
                          0x00, 0x00, 0xcf, 0, 0, 0, 0, 0, 0, 0, 9);
    ck_assert_uint_eq(wire_get_u64(&x.in), 5); /* a signed form of a number >= 0 */
    ck_assert_uint_eq(wire_get_u64(&x.in), 7);
    ck_assert_int_eq(wire_get_i64(&x.in), -1);
    ck_assert_double_eq(wire_get_f64(&x.in), 0.5); /* single precision */
    ck_assert_int_eq(wire_get_i64(&x.in), 9);      /* longer than needed */
    ck_assert_int_eq(exact_close(&x), ERR_OK);
}
END_TEST

static void get_u64(struct wire_in *r)
{
    (void)wire_get_u64(r);
}

static void get_i64(struct wire_in *r)
{
    (void)wire_get_i64(r);
}

static void get_f64(struct wire_in *r)
{
    (void)wire_get_f64(r);
}

static void get_bool(struct wire_in *r)
{
    (void)wire_get_bool(r);
}

static void get_str(struct wire_in *r)
{
    char buf[8];
    wire_get_str(r, buf, sizeof buf);
    CHECK_MUST(strlen(buf) < sizeof buf);
}

static void get_bin(struct wire_in *r)
{
    (void)wire_get_bin(r, 8);
}

static void get_map(struct wire_in *r)
{
    CHECK_MUST(wire_get_map(r, 8) <= 8);
}

static void get_array(struct wire_in *r)
{
    CHECK_MUST(wire_get_array(r, 8) <= 8);
}

START_TEST(test_wrong_values_say_why)
{
    static const struct {
        void (*get)(struct wire_in *r);
        enum err err;
        size_t len;
        uint8_t bytes[12];
    } rows[] = {
        {get_u64, ERR_TRUNCATED, 0, {0}},
        {get_u64, ERR_TRUNCATED, 8, {0xcf, 1, 2, 3, 4, 5, 6, 7}},
        {get_u64, ERR_RANGE, 1, {0xff}}, /* -1 */
        {get_u64, ERR_RANGE, 2, {0xd0, 0x80}},
        {get_u64, ERR_CORRUPT, 1, {0xc0}}, /* nil */
        {get_u64, ERR_CORRUPT, 1, {0xc1}}, /* never used */
        {get_u64, ERR_CORRUPT, 2, {5, 5}}, /* bytes left */
        {get_i64, ERR_RANGE, 9, {0xcf, 0x80, 0, 0, 0, 0, 0, 0, 0}},
        {get_i64, ERR_CORRUPT, 1, {0xc3}},
        {get_bool, ERR_CORRUPT, 1, {1}},
        {get_f64, ERR_RANGE, 9, {0xcb, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0}}, /* infinity */
        {get_f64, ERR_RANGE, 5, {0xca, 0x7f, 0xc0, 0, 0}},             /* NaN */
        {get_f64, ERR_CORRUPT, 1, {1}},
        {get_str, ERR_CORRUPT, 4, {0xa3, 'a', 0, 'b'}},
        {get_str, ERR_TRUNCATED, 3, {0xa3, 'a', 'b'}},
        {get_str, ERR_TOO_BIG, 9, {0xa8, '1', '2', '3', '4', '5', '6', '7', '8'}},
        {get_str, ERR_CORRUPT, 2, {0xc4, 0}}, /* bytes, not text */
        {get_str, ERR_TRUNCATED, 5, {0xdb, 0xff, 0xff, 0xff, 0xff}},
        {get_bin, ERR_CORRUPT, 1, {0xa0}},
        {get_bin, ERR_TOO_BIG, 11, {0xc4, 9}},
        {get_bin, ERR_TRUNCATED, 5, {0xc6, 0x7f, 0xff, 0xff, 0xff}},
        {get_array, ERR_TRUNCATED, 5, {0xdd, 0x0f, 0xff, 0xff, 0xff}},
        {get_array, ERR_TRUNCATED, 5, {0xdd, 0xff, 0xff, 0xff, 0xff}},
        {get_array, ERR_TRUNCATED, 2, {0x92, 0}},
        {get_array, ERR_TOO_BIG, 10, {0x99}},
        {get_map, ERR_TRUNCATED, 5, {0xdf, 0x0f, 0xff, 0xff, 0xff}},
        {get_map, ERR_TRUNCATED, 4, {0x82, 0, 0, 0}},
        {get_map, ERR_CORRUPT, 1, {0x90}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct exact x = exact_open(rows[i].bytes, rows[i].len);
        rows[i].get(&x.in);
        enum err e = exact_close(&x);
        ck_assert_msg(e == rows[i].err, "row %zu: %s instead of %s", i, err_str(e),
                      err_str(rows[i].err));
    }
}
END_TEST

START_TEST(test_the_first_error_sticks)
{
    struct exact x = OPEN(0xc0, 5, 0xa1, 'x', 0x91, 1);
    (void)wire_get_u64(&x.in);
    ck_assert_uint_eq(wire_get_u64(&x.in), 0);
    char text[4] = "old";
    wire_get_str(&x.in, text, sizeof text);
    ck_assert_str_eq(text, "");
    ck_assert_uint_eq(wire_get_array(&x.in, 5), 0);
    wire_skip(&x.in);
    wire_fail(&x.in, ERR_RANGE);
    ck_assert_int_eq(exact_close(&x), ERR_CORRUPT);
}
END_TEST

/* A random value of any kind, at most `depth` deep. */
static void put_random(struct wire_out *w, uint64_t *rng, int depth)
{
    uint64_t kind = check_below(rng, depth > 0 ? 8 : 6);
    uint32_t n = (uint32_t)check_below(rng, 20);
    char text[20] = "nineteen characters";
    switch (kind) {
    case 0:
        wire_put_u64(w, random_u64(rng));
        break;
    case 1:
        wire_put_i64(w, -(int64_t)(random_u64(rng) >> 1));
        break;
    case 2:
        wire_put_bool(w, n & 1);
        break;
    case 3:
        wire_put_f64(w, 1.5);
        break;
    case 4:
        wire_put_text(w, text, n);
        break;
    case 5:
        wire_put_bin(w, text, n);
        break;
    case 6:
        wire_put_array(w, n);
        for (uint32_t i = 0; i < n; i++)
            put_random(w, rng, depth - 1);
        break;
    default:
        wire_put_map(w, n);
        for (uint32_t i = 0; i < 2 * n; i++)
            put_random(w, rng, depth - 1);
    }
}

START_TEST(test_skip_passes_exactly_one_value)
{
    uint64_t rng = check_seed();
    for (int i = 0; i < 2000; i++) {
        struct wire_out *w = wire_out_new();
        put_random(w, &rng, 3);
        size_t len;
        uint8_t *buf = wire_out_take(w, &len);
        struct exact x = exact_open(buf, len);
        wire_skip(&x.in);
        ck_assert_int_eq(exact_close(&x), ERR_OK);
        for (size_t cut = 0; cut < len; cut += 1 + len / 64) {
            x = exact_open(buf, cut);
            wire_skip(&x.in);
            CHECK_MUST(exact_close(&x) == ERR_TRUNCATED);
        }
        mem_free(buf);
        wire_out_free(w);
    }
    struct exact x = OPEN(0xc7, 3, 1, 0, 0, 0, 0xd4, 1, 2, 0xd8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
                          10, 11, 12, 13, 14, 15, 0xc0);
    for (int i = 0; i < 4; i++) /* extension types, nil */
        wire_skip(&x.in);
    ck_assert_int_eq(exact_close(&x), ERR_OK);
}
END_TEST

START_TEST(test_deep_nesting_takes_no_stack)
{
    size_t len = 4u << 20;
    uint8_t *deep = malloc(len);
    memset(deep, 0x91, len);
    struct exact x = exact_open(deep, len);
    wire_skip(&x.in);
    ck_assert_int_eq(exact_close(&x), ERR_TRUNCATED);
    deep[len - 1] = 0xc0;
    x = exact_open(deep, len);
    wire_skip(&x.in);
    ck_assert_int_eq(exact_close(&x), ERR_OK);
    free(deep);
}
END_TEST

START_TEST(test_nested_bombs_are_truncated)
{
    /* Each level claims what the bytes left could hold; their sum cannot be. */
    uint8_t bomb[64];
    for (size_t i = 0; i < sizeof bomb; i++)
        bomb[i] = 0x9f;
    struct exact x = exact_open(bomb, sizeof bomb);
    wire_skip(&x.in);
    ck_assert_int_eq(exact_close(&x), ERR_TRUNCATED);
}
END_TEST

START_TEST(test_random_bytes_never_read_too_far)
{
    static void (*const gets[])(struct wire_in * r) = {
        get_u64, get_i64, get_f64, get_bool, get_str, get_bin, get_map, get_array, wire_skip};
    uint64_t rng = check_seed();
    for (int i = 0; i < 50000; i++) {
        uint8_t bytes[40];
        size_t len = check_below(&rng, sizeof bytes + 1);
        for (size_t k = 0; k < len; k++)
            bytes[k] =
                (uint8_t)(check_below(&rng, 2) ? 0xc0 + check_below(&rng, 32) : check_random(&rng));
        struct exact x = exact_open(bytes, len);
        for (int k = 0; k < 12; k++)
            gets[check_below(&rng, sizeof gets / sizeof gets[0])](&x.in);
        CHECK_MUST(x.in.p >= x.bytes && x.in.p <= x.in.end);
        (void)!exact_close(&x);
    }
}
END_TEST

/* --- field tables ---------------------------------------------------------------------------- */

struct sample {
    uint64_t u64;
    uint32_t u32;
    int64_t i64;
    bool flag;
    char text[10];
    uint8_t id[4];
    struct wire_blob blob;
};

#define FIELD(key, type, member, size, required)                                                   \
    {                                                                                              \
        key, #member, type, offsetof(struct sample, member), size, required                        \
    }

static const struct wire_field fields[] = {
    FIELD(1, WIRE_U64, u64, 0, true),     FIELD(2, WIRE_U32, u32, 0, false),
    FIELD(3, WIRE_I64, i64, 0, false),    FIELD(4, WIRE_BOOL, flag, 0, false),
    FIELD(5, WIRE_STR, text, 10, false),  FIELD(6, WIRE_ID, id, 4, false),
    FIELD(7, WIRE_BLOB, blob, 16, false),
};

#define N_FIELDS (sizeof fields / sizeof fields[0])

static enum err read_sample(const void *data, size_t len, struct sample *s)
{
    struct exact x = exact_open(data, len);
    memset(s, 0, sizeof *s);
    wire_get_fields(&x.in, fields, N_FIELDS, s);
    return exact_close(&x);
}

START_TEST(test_fields_come_back)
{
    struct sample s = {UINT64_MAX, UINT32_MAX, INT64_MIN, true, "ninechars", {1, 2, 3, 4}, {0}};
    struct sample back;
    s.blob = (struct wire_blob){(const uint8_t *)"\0bytes", 6};
    struct wire_out *w = wire_out_new();
    wire_put_fields(w, fields, N_FIELDS, &s);
    size_t len;
    uint8_t *buf = wire_out_take(w, &len);
    struct wire_in r;
    memset(&back, 0, sizeof back);
    wire_in_init(&r, buf, len);
    wire_get_fields(&r, fields, N_FIELDS, &back);
    ck_assert_int_eq(wire_end(&r), ERR_OK);
    ck_assert_uint_eq(back.u64, s.u64);
    ck_assert_uint_eq(back.u32, s.u32);
    ck_assert_int_eq(back.i64, s.i64);
    ck_assert(back.flag);
    ck_assert_str_eq(back.text, s.text);
    ck_assert_int_eq(memcmp(back.id, s.id, 4), 0);
    ck_assert_uint_eq(back.blob.len, 6);
    ck_assert_int_eq(memcmp(back.blob.data, s.blob.data, 6), 0);
    ck_assert(back.blob.data >= buf && back.blob.data < buf + len);
    for (size_t cut = 0; cut < len; cut++)
        ck_assert_int_ne(read_sample(buf, cut, &back), ERR_OK);
    mem_free(buf);
    wire_out_free(w);
}
END_TEST

START_TEST(test_maps_of_fields_are_strict)
{
    static const struct {
        enum err err;
        size_t len;
        uint8_t bytes[12];
    } rows[] = {
        {ERR_OK, 3, {0x81, 1, 5}},
        {ERR_OK, 9, {0x83, 1, 5, 40, 0x92, 1, 2, 63, 0xc0}}, /* unknown keys */
        {ERR_OK, 9, {0x83, 1, 5, 0xcc, 200, 0, 0xcc, 200, 0}},
        {ERR_OK, 5, {0x82, 2, 7, 1, 5}},               /* any order */
        {ERR_CORRUPT, 5, {0x82, 1, 5, 1, 5}},          /* duplicate */
        {ERR_CORRUPT, 7, {0x83, 1, 5, 40, 1, 40, 1}},  /* duplicate of an unknown one */
        {ERR_CORRUPT, 3, {0x81, 2, 5}},                /* key 1 is required */
        {ERR_CORRUPT, 1, {0x80}},                      /* the same */
        {ERR_CORRUPT, 5, {0x82, 1, 5, 0xa0, 5}},       /* a key that is no number */
        {ERR_CORRUPT, 3, {0x92, 1, 5}},                /* no map */
        {ERR_CORRUPT, 7, {0x82, 1, 5, 6, 0xc4, 1, 9}}, /* an id of another length */
    };
    struct sample s;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum err e = read_sample(rows[i].bytes, rows[i].len, &s);
        ck_assert_msg(e == rows[i].err, "row %zu: %s instead of %s", i, err_str(e),
                      err_str(rows[i].err));
    }
    const uint8_t over[] = {0x82, 1, 5, 2, 0xcf, 0, 0, 0, 1, 0, 0, 0, 0};
    ck_assert_int_eq(read_sample(over, sizeof over, &s), ERR_RANGE); /* 2^32 in a u32 */
    uint8_t many[3 + 2 * 65] = {0xde, 0, 65};
    ck_assert_int_eq(read_sample(many, sizeof many, &s), ERR_TOO_BIG);
}
END_TEST

START_TEST(test_taking_empties_the_writer)
{
    struct wire_out *w = wire_out_new();
    size_t len = 9;
    uint8_t *none = wire_out_take(w, &len);
    ck_assert_uint_eq(len, 0);
    ck_assert_ptr_nonnull(none);
    mem_free(none);
    wire_put_u64(w, 1);
    wire_put_bin(w, NULL, 0);
    uint8_t *some = wire_out_take(w, &len);
    ck_assert_uint_eq(len, 3);
    mem_free(some);
    wire_put_u64(w, 1);
    wire_out_free(w); /* with bytes inside */
    wire_out_free(NULL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("wire");
    TCase *t = tcase_create("wire");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_numbers_come_back);
    tcase_add_test(t, test_texts_and_bytes_of_every_length_come_back);
    tcase_add_test(t, test_foreign_spellings_are_read);
    tcase_add_test(t, test_wrong_values_say_why);
    tcase_add_test(t, test_the_first_error_sticks);
    tcase_add_test(t, test_skip_passes_exactly_one_value);
    tcase_add_test(t, test_deep_nesting_takes_no_stack);
    tcase_add_test(t, test_nested_bombs_are_truncated);
    tcase_add_test(t, test_random_bytes_never_read_too_far);
    tcase_add_test(t, test_fields_come_back);
    tcase_add_test(t, test_maps_of_fields_are_strict);
    tcase_add_test(t, test_taking_empties_the_writer);
    suite_add_tcase(s, t);
    return check_main(s);
}
