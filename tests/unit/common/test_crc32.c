/* SPDX-License-Identifier: MIT */
#include "common/crc32.h"

#include <string.h>

#include "tests/lib/check_main.h"

START_TEST(test_known_values)
{
    struct crc32 c;
    crc32_init(&c);
    ck_assert_uint_eq(crc32_add(&c, 0, "", 0), 0);
    ck_assert_uint_eq(crc32_add(&c, 0, "123456789", 9), 0xcbf43926);
    ck_assert_uint_eq(crc32_add(&c, 0, "The quick brown fox jumps over the lazy dog", 43),
                      0x414fa339);
}
END_TEST

START_TEST(test_in_pieces)
{
    struct crc32 c;
    uint8_t bytes[257];
    uint64_t rng = check_seed();
    crc32_init(&c);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)check_random(&rng);
    uint32_t whole = crc32_add(&c, 0, bytes, sizeof bytes);
    for (size_t cut = 0; cut <= sizeof bytes; cut++) {
        uint32_t first = crc32_add(&c, 0, bytes, cut);
        ck_assert_uint_eq(crc32_add(&c, first, bytes + cut, sizeof bytes - cut), whole);
    }
    bytes[check_below(&rng, sizeof bytes)] ^= 1;
    ck_assert_uint_ne(crc32_add(&c, 0, bytes, sizeof bytes), whole);
}
END_TEST

/* As the definition has it, bit by bit. */
static uint32_t bit_by_bit(const uint8_t *p, size_t len)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & 1) != 0 ? (crc >> 1) ^ UINT32_C(0xedb88320) : crc >> 1;
    }
    return ~crc;
}

START_TEST(test_of_any_length_at_any_place)
{
    struct crc32 c;
    uint8_t bytes[64];
    uint64_t rng = check_seed();
    crc32_init(&c);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)check_random(&rng);
    for (size_t at = 0; at < 9; at++)
        for (size_t len = 0; len <= sizeof bytes - at; len++)
            ck_assert_uint_eq(crc32_add(&c, 0, bytes + at, len), bit_by_bit(bytes + at, len));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("crc32");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_test(t, test_known_values);
    tcase_add_test(t, test_in_pieces);
    tcase_add_test(t, test_of_any_length_at_any_place);
    return check_main(s);
}
