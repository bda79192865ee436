/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "agent/client/location.h"
#include "common/mem.h"
#include "tests/fuzz/fuzz.h"

/* The first line is path and query of a request, the rest a Location. What is accepted can stand in
 * a request line, has no dot segments left, and leads to itself. */

static void check_path(const struct location *l)
{
    FUZZ_CHECK(l->path_len == strlen(l->path) && l->path[0] == '/');
    for (size_t i = 0; i < l->path_len; i++)
        FUZZ_CHECK(l->path[i] > ' ' && l->path[i] < 0x7f);
    FUZZ_CHECK(l->host[0] != '\0' && l->port[0] >= '1' && l->port[0] <= '9');
}

static void check_again(const struct url_parts *base, const struct location *l)
{
    static struct location again;
    if (l->path[1] == '/' || !location_resolve(base, "/", 1, l->path, l->path_len, &again))
        return; /* "//x" would name a host */
    FUZZ_CHECK(again.path_len == l->path_len && memcmp(again.path, l->path, l->path_len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct location l;
    struct url_parts base = {.host = "host.example", .port = "80"};
    const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t len = end != NULL ? (size_t)(end - data) : 0;
    for (size_t i = 0; i < len; i++) /* the plan's own: checked long before */
        if (data[i] <= ' ' || data[i] >= 0x7f || len > LOCATION_PATH_MAX)
            return 0;
    size_t from = end != NULL ? len + 1 : 0;
    char *copy = mem_dup(data, size);
    if (location_resolve(&base, copy, len, copy + from, size - from, &l)) {
        check_path(&l);
        check_again(&base, &l);
    }
    mem_free(copy);
    return 0;
}
