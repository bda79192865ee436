/* SPDX-License-Identifier: MIT */
#include "agent/service/digest.h"

#include <openssl/evp.h>
#include <stdint.h>

#include "common/host.h"

bool digest_sha256(const void *bytes, size_t len, char hex[DIGEST_TEXT])
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (EVP_Digest(bytes, len, digest, &n, EVP_sha256(), NULL) != 1 || 2 * n + 1 != DIGEST_TEXT)
        return false;
    host_hex(digest, n, hex);
    return true;
}
