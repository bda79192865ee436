/* SPDX-License-Identifier: MIT */
#include "common/hist_log.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/hist_codec.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/golden.h"
#include "tests/lib/hist_bytes.h"

#define VECTORS    TEST_DATA_DIR "/golden/vectors.tsv"
#define COMPRESSED (BYTES_VECTOR_COLUMNS - 1)

static void check_vector(void *arg, char *const *f, size_t n)
{
    struct hist *compressed = NULL, *again = NULL;
    struct bytes b;
    (void)arg;
    ck_assert_uint_eq(n, BYTES_VECTOR_COLUMNS);
    b.p = golden_base64(f[BYTES_VECTOR_COLUMN], &b.len);
    struct hist *plain = bytes_decode(b);
    ck_assert_int_eq(hist_log_decode(f[COMPRESSED], strlen(f[COMPRESSED]), &compressed), ERR_OK);
    ck_assert_msg(hist_equal(plain, compressed), "%s", f[0]);
    char *text = hist_log_encode(plain);
    ck_assert_msg(strncmp(text, "HISTFAAA", 8) == 0, "%s: %.20s", f[0], text);
    ck_assert_int_eq(hist_log_decode(text, strlen(text), &again), ERR_OK);
    ck_assert_msg(hist_equal(plain, again), "%s", f[0]);
    mem_free(text);
    free(b.p);
    hist_free(plain);
    hist_free(compressed);
    hist_free(again);
}

/* What Java wrote is read, and what we write reads the same. */
START_TEST(test_golden)
{
    ck_assert_uint_gt(golden_each(VECTORS, check_vector, NULL), 20);
}
END_TEST

static char *sample(uint64_t *rng, size_t values)
{
    struct hist *h = hist_new_default();
    for (size_t i = 0; i < values; i++)
        hist_record(h, check_below(rng, UINT64_C(1) << (10 + check_below(rng, 30))), 1);
    char *text = hist_log_encode(h);
    hist_free(h);
    return text;
}

static enum err decode(const char *text, size_t len)
{
    struct hist *h = NULL;
    enum err e = hist_log_decode(text, len, &h);
    ck_assert_int_eq(e == ERR_OK, h != NULL);
    hist_free(h);
    return e;
}

START_TEST(test_cut_short)
{
    uint64_t rng = check_seed();
    char *text = sample(&rng, 40);
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++)
        ck_assert_int_ne(decode(text, i), ERR_OK);
    ck_assert_int_eq(decode(text, len), ERR_OK);
    mem_free(text);
}
END_TEST

#define ENVELOPE 10 /* characters that hold nothing but the cookie and the length */

/* zlib's checksum finds what comes out altered; of the envelope every bit counts. A compressed
 * stream has bits that nothing depends on: of codes that are not used, and those that fill its last
 * byte (RFC 1951). */
START_TEST(test_altered)
{
    uint64_t rng = check_seed();
    char *text = sample(&rng, 40);
    size_t len = strlen(text);
    struct hist *whole = NULL, *h;
    ck_assert_int_eq(hist_log_decode(text, len, &whole), ERR_OK);
    static const char others[] = "A/z0=\n\x80";
    for (size_t i = 0; i < len; i++) {
        char was = text[i];
        text[i] = others[check_below(&rng, sizeof others)];
        bool cookie_word = i == 4 || i == 5; /* the nibble that means nothing */
        bool counts = text[i] != was && i + 3 < len && !cookie_word;
        h = NULL;
        if (hist_log_decode(text, len, &h) == ERR_OK && counts)
            ck_assert_msg(i >= ENVELOPE && hist_equal(h, whole), "at %zu: %c for %c", i, text[i],
                          was);
        hist_free(h);
        text[i] = was;
    }
    hist_free(whole);
    mem_free(text);
}
END_TEST

/* With so many bytes behind the zlib stream. */
static char *envelope(const uint8_t *bytes, size_t len, size_t behind)
{
    uLongf packed = compressBound((uLong)len);
    uint8_t *all = mem_calloc(8 + packed + behind, 1);
    ck_assert_int_eq(compress2(all + 8, &packed, bytes, (uLong)len, 9), Z_OK);
    packed += behind;
    static const uint8_t cookie[] = {0x1c, 0x84, 0x93, 0x14};
    memcpy(all, cookie, sizeof cookie);
    for (size_t i = 0; i < 4; i++)
        all[4 + i] = (uint8_t)(packed >> (24 - 8 * i));
    static const char set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = 8 + packed, groups = (n + 2) / 3;
    char *text = mem_calloc(groups * 4 + 1, 1);
    for (size_t i = 0; i < groups * 4; i++) {
        size_t bit = i * 6, at = bit / 8;
        uint32_t two = at < n ? (uint32_t)all[at] << 8 | (at + 1 < n ? all[at + 1] : 0) : 0;
        text[i] = at < n ? set[two >> (10 - bit % 8) & 63] : '=';
    }
    mem_free(all);
    return text;
}

static const uint8_t single[] = {0x1c, 0x84, 0x93, 0x13, 0, 0,    0,    4,    0,    0,    0,
                                 0,    0,    0,    0,    3, 0,    0,    0,    0,    0,    0,
                                 0,    1,    0,    0,    0, 0x0d, 0xf8, 0x47, 0x58, 0,    0x3f,
                                 0xf0, 0,    0,    0,    0, 0,    0,    0xe9, 0xb2, 0x01, 0x02};

static enum err decode_bytes(const uint8_t *bytes, size_t len)
{
    char *text = envelope(bytes, len, 0);
    enum err e = decode(text, strlen(text));
    mem_free(text);
    return e;
}

START_TEST(test_left_over)
{
    for (size_t behind = 0; behind < 7; behind++) {
        char *text = envelope(single, sizeof single, behind);
        ck_assert_int_eq(decode(text, strlen(text)) == ERR_OK, behind == 0);
        mem_free(text);
    }
}
END_TEST

/* A few bytes that swell to megabytes: refused by what the header allows, before they swell. */
START_TEST(test_bombs)
{
    size_t big = 64u << 20;
    uint8_t *bytes = mem_calloc(big, 1);
    memcpy(bytes, single, sizeof single);
    ck_assert_int_eq(decode_bytes(bytes, sizeof single), ERR_OK);
    ck_assert_int_ne(decode_bytes(bytes, sizeof single + 1), ERR_OK);
    ck_assert_int_ne(decode_bytes(bytes, big), ERR_OK); /* more than it says */
    bytes[4] = 0x03;                                    /* says as much, more than can be */
    ck_assert_int_ne(decode_bytes(bytes, big), ERR_OK);
    memcpy(bytes, single, sizeof single);
    bytes[15] = 6; /* digits */
    ck_assert_int_ne(decode_bytes(bytes, sizeof single), ERR_OK);
    memcpy(bytes, single, sizeof single);
    bytes[7] = 3; /* less than there is */
    ck_assert_int_ne(decode_bytes(bytes, sizeof single), ERR_OK);
    bytes[7] = 5; /* more */
    ck_assert_int_ne(decode_bytes(bytes, sizeof single), ERR_OK);
    mem_free(bytes);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hist_log");
    TCase *t = tcase_create("hist_log");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_golden);
    tcase_add_test(t, test_cut_short);
    tcase_add_test(t, test_altered);
    tcase_add_test(t, test_left_over);
    tcase_add_test(t, test_bombs);
    suite_add_tcase(s, t);
    return check_main(s);
}
