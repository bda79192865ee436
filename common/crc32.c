/* SPDX-License-Identifier: MIT */
#include "common/crc32.h"

#include <endian.h>
#include <string.h>

#define POLYNOMIAL UINT32_C(0xedb88320)

void crc32_init(struct crc32 *c)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t v = i;
        for (int bit = 0; bit < 8; bit++)
            v = (v & 1) != 0 ? (v >> 1) ^ POLYNOMIAL : v >> 1;
        c->table[0][i] = v;
    }
    for (size_t n = 1; n < CRC32_SLICE; n++)
        for (size_t i = 0; i < 256; i++) {
            uint32_t v = c->table[n - 1][i];
            c->table[n][i] = (v >> 8) ^ c->table[0][v & 0xff];
        }
}

static uint32_t add_slice(const struct crc32 *c, uint32_t crc, const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    word = le64toh(word) ^ crc;
    return c->table[7][word & 0xff] ^ c->table[6][word >> 8 & 0xff] ^
           c->table[5][word >> 16 & 0xff] ^ c->table[4][word >> 24 & 0xff] ^
           c->table[3][word >> 32 & 0xff] ^ c->table[2][word >> 40 & 0xff] ^
           c->table[1][word >> 48 & 0xff] ^ c->table[0][word >> 56];
}

uint32_t crc32_add(const struct crc32 *c, uint32_t crc, const void *data, size_t len)
{
    const uint8_t *p = data;
    crc = ~crc;
    for (; len >= CRC32_SLICE; p += CRC32_SLICE, len -= CRC32_SLICE)
        crc = add_slice(c, crc, p);
    for (; len > 0; p++, len--)
        crc = (crc >> 8) ^ c->table[0][(crc ^ *p) & 0xff];
    return ~crc;
}
