/* SPDX-License-Identifier: MIT */
/* Foreign bytes as a line's histogram of an interval log, or as what is packed in one. */
#include <string.h>
#include <zlib.h>

#include "common/hist_log.h"
#include "common/mem.h"
#include "tests/fuzz/fuzz.h"

#define COUNTS_FULLY_CHECKED 65536

static void check_text(const char *text, size_t len)
{
    struct hist *h = NULL, *again = NULL;
    enum err e = hist_log_decode(text, len, &h);
    FUZZ_CHECK((e == ERR_OK) == (h != NULL));
    if (h != NULL && hist_geometry_of(h)->counts_len <= COUNTS_FULLY_CHECKED) {
        char *back = hist_log_encode(h);
        FUZZ_CHECK(hist_log_decode(back, strlen(back), &again) == ERR_OK);
        FUZZ_CHECK(hist_equal(h, again));
        mem_free(back);
        hist_free(again);
    }
    hist_free(h);
}

/* The input as what was packed: otherwise the checksum would keep nearly all of it out. */
static void check_packed(const uint8_t *data, size_t size)
{
    static const char set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uLongf packed = compressBound((uLong)size);
    uint8_t *all = mem_calloc(8 + packed + 3, 1);
    static const uint8_t cookie[] = {0x1c, 0x84, 0x93, 0x14};
    FUZZ_CHECK(compress2(all + 8, &packed, data, (uLong)size, 1) == Z_OK);
    memcpy(all, cookie, sizeof cookie);
    for (size_t i = 0; i < 4; i++)
        all[4 + i] = (uint8_t)(packed >> (24 - 8 * i));
    size_t n = 8 + packed, len = 0;
    char *text = mem_calloc((n + 2) / 3 * 4 + 1, 1);
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)all[i] << 16 | (uint32_t)all[i + 1] << 8 | all[i + 2];
        for (size_t k = 0; k < 4; k++)
            text[len++] = i + k > n ? '=' : set[v >> (18 - 6 * k) & 63];
    }
    check_text(text, len);
    mem_free(text);
    mem_free(all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_text((const char *)data, size);
    check_packed(data, size);
    return 0;
}
