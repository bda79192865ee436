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

int main(void)
{
    Suite *s = suite_create("crc32");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_test(t, test_known_values);
    tcase_add_test(t, test_in_pieces);
    return check_main(s);
}
