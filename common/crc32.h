/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_CRC32_H
#define HAMMER_COMMON_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32 as zip, PNG and Ethernet have it (reflected polynomial 0xedb88320): finds torn and damaged
 * records, not forged ones. Any thread; the table is read-only after crc32_init. */

#define CRC32_SLICE 8 /* bytes at a time */

struct crc32 {
    uint32_t table[CRC32_SLICE][256]; /* [n]: of a byte with n others behind it */
};

void crc32_init(struct crc32 *c);
/* Of the bytes so far and these; the first time `crc` is 0. */
uint32_t crc32_add(const struct crc32 *c, uint32_t crc, const void *data, size_t len);

#endif
