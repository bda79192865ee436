/* SPDX-License-Identifier: MIT */
#include "common/hist_codec.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/hist_bytes.h"

#define COUNT_OF(a) (sizeof(a) / sizeof(a)[0])
#define VECTORS     TEST_DATA_DIR "/golden/vectors.tsv"

static bool same_counters(const struct hist *a, const struct hist *b)
{
    uint32_t top = hist_top_index(a);
    if (hist_count(a) != hist_count(b) || top != hist_top_index(b))
        return false;
    for (uint32_t i = 0; i <= top; i++)
        if (hist_count_at(a, i) != hist_count_at(b, i))
            return false;
    return true;
}

static struct hist *random_hist(uint64_t *rng)
{
    static const struct {
        uint64_t lowest, highest;
        uint32_t digits;
    } shapes[] = {{1, HIST_HIGHEST, 3}, {1, HIST_HIGHEST, 3}, {1000, 60000000000, 3},
                  {1, 60000000000, 2},  {1, 1000000, 4},      {1, INT64_MAX, 1}};
    size_t k = check_below(rng, COUNT_OF(shapes));
    struct hist_geometry g;
    ck_assert_int_eq(hist_geometry_init(&g, shapes[k].lowest, shapes[k].highest, shapes[k].digits),
                     ERR_OK);
    struct hist *h = hist_new(&g);
    uint64_t bits = check_below(rng, 56); /* of the counts: one to nine bytes */
    for (uint64_t n = check_below(rng, 100); n > 0; n--)
        hist_record(h, check_random(rng) >> (20 + check_below(rng, 43)),
                    1 + (check_random(rng) >> (63 - bits)));
    return h;
}

START_TEST(test_random_round_trips)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 200; round++) {
        struct hist *h = random_hist(&rng);
        struct bytes b = bytes_encode(h);
        struct hist *back = bytes_decode(b);
        ck_assert(same_counters(h, back));
        uint64_t hi, lo;
        hist_sum128(h, &hi, &lo);
        ck_assert_int_eq(hist_set_exact(back, hist_min(h), hist_max(h), hi, lo, hist_saturated(h)),
                         ERR_OK);
        ck_assert(hist_equal(h, back));
        struct bytes fits = bytes_cut(b, b.len);
        size_t len = 0;
        ck_assert_int_eq(hist_encode(h, fits.p, b.len, &len), ERR_OK);
        ck_assert_uint_eq(len, b.len);
        ck_assert_mem_eq(fits.p, b.p, len);
        free(fits.p);
        size_t too_small = check_below(&rng, 4) == 0 ? check_below(&rng, b.len) : b.len - 1;
        fits = bytes_cut(b, too_small);
        ck_assert_int_eq(hist_encode(h, fits.p, too_small, &len), ERR_TOO_BIG);
        free(fits.p);
        free(b.p);
        hist_free(h);
        hist_free(back);
    }
}
END_TEST

START_TEST(test_decode_add_is_decode_then_add)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 150; round++) {
        struct hist *into = random_hist(&rng), *from = random_hist(&rng), *want = hist_copy(into);
        struct bytes b = bytes_encode(from);
        struct hist *bare = bytes_decode(b);
        enum err e = hist_add(want, bare);
        ck_assert_int_eq(hist_decode_add(b.p, b.len, into), e);
        ck_assert(hist_equal(into, want));
        free(b.p);
        hist_free(into);
        hist_free(from);
        hist_free(want);
        hist_free(bare);
    }
}
END_TEST

/* Both decoders refuse with `want`, leave nothing behind and do not touch the target. */
static void refuse(struct bytes b, enum err want, const char *what)
{
    struct bytes exact = bytes_cut(b, b.len);
    struct hist *out = (struct hist *)(void *)&exact, *into = hist_new_default();
    hist_record(into, 123456, 7);
    struct hist *before = hist_copy(into);
    enum err e = hist_decode(exact.p, exact.len, &out);
    ck_assert_msg(e == want, "%s: %s instead of %s", what, err_str(e), err_str(want));
    ck_assert_ptr_null(out);
    ck_assert_int_eq(hist_decode_add(exact.p, exact.len, into), want);
    ck_assert(hist_equal(into, before));
    hist_free(into);
    hist_free(before);
    free(exact.p);
}

static void put_be(struct bytes b, size_t at, size_t size, uint64_t v)
{
    for (size_t i = 0; i < size; i++)
        b.p[at + i] = (uint8_t)(v >> 8 * (size - 1 - i));
}

static void refuse_truncations(struct bytes b)
{
    for (size_t len = 0; len < b.len; len++) {
        struct bytes c = bytes_cut(b, len);
        refuse(c, ERR_TRUNCATED, "cut");
        /* With the length made to fit, only a cut inside a number shows; never are there more. */
        if (len >= HIST_V2_HEADER) {
            put_be(c, 4, 4, len - HIST_V2_HEADER);
            struct hist *h = NULL, *whole = bytes_decode(b);
            enum err e = hist_decode(c.p, c.len, &h);
            ck_assert(e == ERR_TRUNCATED || e == ERR_OK);
            ck_assert(e != ERR_OK || hist_count(h) < hist_count(whole));
            if (len > HIST_V2_HEADER && (c.p[len - 1] & 0x80) != 0 && b.len - len < 9)
                ck_assert_int_eq(e, ERR_TRUNCATED);
            hist_free(h);
            hist_free(whole);
        }
        free(c.p);
    }
}

START_TEST(test_truncation_at_every_length_is_refused)
{
    static const char *const names[] = {"single", "small_counts", "zero_runs", "boundaries_ns1h"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct bytes b = bytes_vector(VECTORS, names[i]);
        refuse_truncations(b);
        free(b.p);
    }
    uint64_t rng = check_seed();
    for (int round = 0; round < 2; round++) {
        struct hist *h = random_hist(&rng);
        hist_record(h, 1000, 1);
        struct bytes b = bytes_encode(h);
        refuse_truncations(b);
        free(b.p);
        hist_free(h);
    }
}
END_TEST

START_TEST(test_bad_headers_are_refused)
{
    static const struct {
        const char *what;
        size_t at, size;
        uint64_t value;
        enum err want;
    } rows[] = {
        {"V2 compressed", 0, 4, 0x1c849314, ERR_CORRUPT},
        {"V1", 0, 4, 0x1c849301, ERR_CORRUPT},
        {"V0", 0, 4, 0x1c849308, ERR_CORRUPT},
        {"doubles", 0, 4, 0x0c72124e, ERR_CORRUPT},
        {"zeros", 0, 4, 0, ERR_CORRUPT},
        {"payload length + 1", 4, 4, 5, ERR_TRUNCATED},
        {"payload length - 1", 4, 4, 3, ERR_CORRUPT},
        {"payload length 0", 4, 4, 0, ERR_CORRUPT},
        {"payload length -1", 4, 4, UINT32_MAX, ERR_TRUNCATED},
        {"payload length 2^31", 4, 4, 0x80000004, ERR_TRUNCATED},
        {"digits 0", 12, 4, 0, ERR_CORRUPT},
        {"digits 6", 12, 4, 6, ERR_CORRUPT},
        {"digits -3", 12, 4, UINT32_MAX - 2, ERR_CORRUPT},
        {"lowest 0", 16, 8, 0, ERR_CORRUPT},
        {"lowest negative", 16, 8, UINT64_MAX, ERR_CORRUPT},
        {"lowest over half of highest", 16, 8, 60000000000 / 2 + 1, ERR_CORRUPT},
        {"highest 1", 24, 8, 1, ERR_CORRUPT},
        {"highest negative", 24, 8, UINT64_C(1) << 63, ERR_CORRUPT},
        {"highest too low for the counts", 24, 8, 1000, ERR_TOO_BIG},
    };
    struct bytes b = bytes_vector(VECTORS, "single");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bytes bad = bytes_cut(b, b.len);
        put_be(bad, rows[i].at, rows[i].size, rows[i].value);
        refuse(bad, rows[i].want, rows[i].what);
        free(bad.p);
    }
    put_be(b, 12, 4, 5); /* five digits up to 2^63 - 1 are over HIST_COUNTS_MAX */
    put_be(b, 24, 8, INT64_MAX);
    refuse(b, ERR_TOO_BIG, "huge geometry");
    put_be(b, 12, 4, 3);
    put_be(b, 16, 8, UINT64_C(1) << 52);
    refuse(b, ERR_CORRUPT, "first bucket over 62 bits");
    free(b.p);
}
END_TEST

START_TEST(test_ignored_header_fields)
{
    struct bytes b = bytes_vector(VECTORS, "single"), odd = bytes_cut(b, b.len);
    put_be(odd, 0, 4, 0x1c849383); /* word size */
    put_be(odd, 8, 4, 1);          /* offset and ratio as hdr-histogram-js writes them */
    put_be(odd, 32, 8, 1);
    struct hist *x = bytes_decode(b), *y = bytes_decode(odd);
    ck_assert(hist_equal(x, y));
    free(b.p);
    free(odd.p);
    hist_free(x);
    hist_free(y);
}
END_TEST

/* Default geometry with a payload of hand-made zigzag numbers. */
struct payload {
    uint8_t b[HIST_V2_HEADER + 64];
    size_t len;
};

static struct bytes payload_bytes(struct payload *p)
{
    struct bytes b = {.p = p->b, .len = p->len};
    put_be(b, 0, 4, 0x1c849313);
    put_be(b, 4, 4, p->len - HIST_V2_HEADER);
    put_be(b, 12, 4, HIST_DIGITS);
    put_be(b, 16, 8, HIST_LOWEST);
    put_be(b, 24, 8, HIST_HIGHEST);
    return b;
}

static void put_number(struct payload *p, int64_t n)
{
    uint64_t z = ((uint64_t)n << 1) ^ (n < 0 ? UINT64_MAX : 0);
    for (int i = 0; i < 8 && z > 0x7f; i++, z >>= 7)
        p->b[p->len++] = (uint8_t)(z | 0x80);
    p->b[p->len++] = (uint8_t)z;
}

static struct bytes make(struct payload *p, const int64_t *numbers, size_t n)
{
    *p = (struct payload){.len = HIST_V2_HEADER};
    for (size_t i = 0; i < n; i++)
        put_number(p, numbers[i]);
    return payload_bytes(p);
}

START_TEST(test_bad_payloads_are_refused)
{
    static const struct {
        const char *what;
        int64_t numbers[4];
        size_t n;
        enum err want;
    } rows[] = {
        {"run to one past the end", {-HIST_COUNTS - 1}, 1, ERR_TOO_BIG},
        {"run past the end after a count", {1, -HIST_COUNTS}, 2, ERR_TOO_BIG},
        {"longest run", {INT64_MIN}, 1, ERR_TOO_BIG},
        {"runs that add up to 2^32", {-HIST_COUNTS / 2, -(INT64_C(1) << 32)}, 2, ERR_TOO_BIG},
        {"count past the end", {-HIST_COUNTS, 1}, 2, ERR_TOO_BIG},
        {"zero past the end", {-HIST_COUNTS, 0}, 2, ERR_TOO_BIG},
        {"total over 2^63 - 1", {INT64_MAX, 1}, 2, ERR_RANGE},
        {"total that wraps to 0", {INT64_MAX, INT64_MAX, 1, 1}, 4, ERR_RANGE},
    };
    struct payload p;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        refuse(make(&p, rows[i].numbers, rows[i].n), rows[i].want, rows[i].what);
    make(&p, (int64_t[]){5}, 1);
    p.b[p.len++] = 0x80;
    refuse(payload_bytes(&p), ERR_TRUNCATED, "unfinished number");
}
END_TEST

START_TEST(test_largest_payloads_are_accepted)
{
    struct payload p;
    struct hist *h = bytes_decode(make(&p, (int64_t[]){-(HIST_COUNTS - 1), INT64_MAX}, 2));
    ck_assert_uint_eq(hist_count(h), HIST_TOTAL_MAX);
    ck_assert_uint_eq(hist_top_index(h), HIST_COUNTS - 1);
    ck_assert(hist_mean(h) > (double)HIST_HIGHEST);
    struct bytes one = make(&p, (int64_t[]){1}, 1);
    struct hist *before = hist_copy(h);
    ck_assert_int_eq(hist_decode_add(one.p, one.len, h), ERR_RANGE);
    put_be(one, 24, 8, HIST_HIGHEST / 2); /* the other way of adding */
    ck_assert_int_eq(hist_decode_add(one.p, one.len, h), ERR_RANGE);
    ck_assert(hist_equal(h, before));
    hist_free(h);
    hist_free(before);
    h = bytes_decode(make(&p, (int64_t[]){-HIST_COUNTS}, 1)); /* zeros only, to the very end */
    ck_assert_uint_eq(hist_count(h), 0);
    hist_free(h);
    h = bytes_decode(make(&p, NULL, 0)); /* Java reads an empty payload, so do we */
    ck_assert_uint_eq(hist_count(h), 0);
    hist_free(h);
}
END_TEST

START_TEST(test_damaged_bytes_never_half_add)
{
    uint64_t rng = check_seed();
    struct bytes b = bytes_vector(VECTORS, "oracle_case_a_2000rps_50us_corrected");
    for (int round = 0; round < 1500; round++) {
        struct bytes bad = bytes_cut(b, b.len);
        for (uint64_t n = 1 + check_below(&rng, 4); n > 0; n--)
            bad.p[check_below(&rng, check_below(&rng, 2) ? bad.len : 40)] ^=
                (uint8_t)(1 + check_below(&rng, 255));
        struct hist *h = NULL;
        enum err e = hist_decode(bad.p, bad.len, &h);
        if (e != ERR_OK)
            refuse(bad, e, "damaged");
        else
            ck_assert_ptr_nonnull(h);
        hist_free(h);
        free(bad.p);
    }
    free(b.p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hist_codec");
    TCase *t = tcase_create("hist_codec");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_random_round_trips);
    tcase_add_test(t, test_decode_add_is_decode_then_add);
    tcase_add_test(t, test_truncation_at_every_length_is_refused);
    tcase_add_test(t, test_bad_headers_are_refused);
    tcase_add_test(t, test_ignored_header_fields);
    tcase_add_test(t, test_bad_payloads_are_refused);
    tcase_add_test(t, test_largest_payloads_are_accepted);
    tcase_add_test(t, test_damaged_bytes_never_half_add);
    suite_add_tcase(s, t);
    return check_main(s);
}
