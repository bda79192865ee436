/* SPDX-License-Identifier: MIT */
#include "tests/lib/pinned.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/check_main.h"

void pinned_check(const char *data_dir, const char *name, const uint8_t *bytes, size_t len)
{
    char path[1024];
    const char *tests = strstr(data_dir, "/tests/data");
    ck_assert_ptr_nonnull(tests);
    snprintf(path, sizeof path, "%.*s/tests/fuzz/corpus/%s", (int)(tests - data_dir), data_dir,
             name);
    bool write = getenv("HAMMER_WRITE_PINNED") != NULL;
    FILE *f = fopen(path, write ? "wb" : "rb");
    ck_assert_msg(f != NULL, "%s cannot be opened", path);
    if (write) {
        ck_assert_uint_eq(fwrite(bytes, 1, len, f), len);
        ck_assert_int_eq(fclose(f), 0);
        return;
    }
    uint8_t *pinned = malloc(len + 1);
    size_t got = fread(pinned, 1, len + 1, f);
    fclose(f);
    ck_assert_msg(got == len && memcmp(pinned, bytes, len) == 0,
                  "%s is encoded in another way than before", name);
    free(pinned);
}
