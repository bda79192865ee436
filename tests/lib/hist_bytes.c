/* SPDX-License-Identifier: MIT */
#include "tests/lib/hist_bytes.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/hist_codec.h"
#include "tests/lib/golden.h"

struct bytes bytes_cut(struct bytes b, size_t len)
{
    struct bytes c = {.p = malloc(len > 0 ? len : 1), .len = len};
    ck_assert_ptr_nonnull(c.p);
    memcpy(c.p, b.p, len);
    return c;
}

struct bytes bytes_encode(const struct hist *h)
{
    size_t cap = hist_encode_max(h);
    struct bytes b = {.p = malloc(cap)};
    ck_assert_ptr_nonnull(b.p);
    ck_assert_int_eq(hist_encode(h, b.p, cap, &b.len), ERR_OK);
    ck_assert_uint_le(b.len, cap);
    struct bytes exact = bytes_cut(b, b.len);
    free(b.p);
    return exact;
}

struct hist *bytes_decode(struct bytes b)
{
    struct hist *h;
    ck_assert_int_eq(hist_decode(b.p, b.len, &h), ERR_OK);
    return h;
}

struct wanted {
    const char *name;
    struct bytes bytes;
};

static void pick(void *arg, char *const *f, size_t n)
{
    struct wanted *w = arg;
    ck_assert_uint_eq(n, BYTES_VECTOR_COLUMNS);
    if (strcmp(f[0], w->name) == 0)
        w->bytes.p = golden_base64(f[BYTES_VECTOR_COLUMN], &w->bytes.len);
}

struct bytes bytes_vector(const char *path, const char *name)
{
    struct wanted w = {.name = name};
    golden_each(path, pick, &w);
    ck_assert_msg(w.bytes.p != NULL, "%s: no vector %s", path, name);
    struct bytes exact = bytes_cut(w.bytes, w.bytes.len);
    free(w.bytes.p);
    return exact;
}
