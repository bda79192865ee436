/* SPDX-License-Identifier: MIT */
#include "common/crc32.h"

#define POLYNOMIAL UINT32_C(0xedb88320)

void crc32_init(struct crc32 *c)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t v = i;
        for (int bit = 0; bit < 8; bit++)
            v = (v & 1) != 0 ? (v >> 1) ^ POLYNOMIAL : v >> 1;
        c->table[i] = v;
    }
}

uint32_t crc32_add(const struct crc32 *c, uint32_t crc, const void *data, size_t len)
{
    const uint8_t *p = data;
    crc = ~crc;
    for (size_t i = 0; i < len; i++)
        crc = (crc >> 8) ^ c->table[(crc ^ p[i]) & 0xff];
    return ~crc;
}
