/* SPDX-License-Identifier: MIT */
#include "tests/lib/golden.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t split(char *line, char **fields)
{
    size_t n = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *rest = line; rest != NULL;) {
        ck_assert_uint_lt(n, GOLDEN_FIELDS_MAX);
        fields[n++] = strsep(&rest, "\t");
    }
    return n;
}

size_t golden_each(const char *path, golden_row_fn fn, void *arg)
{
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s: cannot be opened", path);
    char *line = NULL;
    size_t size = 0, rows = 0;
    while (getline(&line, &size, f) >= 0) {
        char *fields[GOLDEN_FIELDS_MAX];
        if (line[0] == '#')
            continue;
        size_t n = split(line, fields);
        fn(arg, fields, n);
        rows++;
    }
    free(line);
    fclose(f);
    return rows;
}

uint8_t *golden_base64(const char *text, size_t *len)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t *out = malloc(strlen(text) + 1);
    ck_assert_ptr_nonnull(out);
    uint32_t bits = 0, have = 0;
    *len = 0;
    for (; *text != '\0' && *text != '='; text++) {
        const char *at = strchr(alphabet, *text);
        ck_assert_msg(at != NULL, "'%c' is not base64", *text);
        bits = bits << 6 | (uint32_t)(at - alphabet);
        have += 6;
        if (have >= 8)
            out[(*len)++] = (uint8_t)(bits >> (have -= 8));
    }
    return out;
}
