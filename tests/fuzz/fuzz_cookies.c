/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "agent/client/cookies.h"
#include "common/mem.h"
#include "tests/fuzz/fuzz.h"

/* Each line is a Set-Cookie of one connection. Whatever comes, the jar keeps its limits, and what
 * it sends stands on one line of at most COOKIES_LINE bytes. */

static void check_line(const struct cookie_jar *j, const struct cookie_place *to)
{
    char *line = mem_calloc(COOKIES_LINE, 1); /* so that the sanitizer sees its end */
    size_t len = cookies_line(j, to, line);
    FUZZ_CHECK(len <= COOKIES_LINE && j->n <= COOKIES_MAX && j->used <= COOKIES_BYTES);
    FUZZ_CHECK(len == 0 || memchr(line, '=', len) != NULL);
    FUZZ_CHECK(memchr(line, '\n', len) == NULL && memchr(line, ';', len == 0 ? 0 : 1) == NULL);
    mem_free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cookie_jar jar = {0};
    struct cookie_place place = {
        .name = "www.example.com", .path = "/a/b?c", .path_len = 6, .now_s = 1750000000};
    while (size > 0) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t len = end != NULL ? (size_t)(end - data) : size;
        char *value = mem_dup(data, len);
        cookies_set(&jar, &place, value, len);
        mem_free(value);
        place.tls = !place.tls;
        check_line(&jar, &place);
        data += len + (end != NULL);
        size -= len + (end != NULL);
    }
    cookies_clear(&jar);
    return 0;
}
