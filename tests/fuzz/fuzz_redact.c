/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "common/mem.h"
#include "common/redact.h"
#include "tests/fuzz/fuzz.h"

/* Byte 0: room for the text; the rest is a URL or a header. Redacting twice changes nothing, a
 * smaller room gives the beginning of the same text, and nothing is written outside it. */
typedef void (*redact_fn)(const char *text, char *buf, size_t cap);

static void header(const char *text, char *buf, size_t cap)
{
    redact_header(text, "X-Extra", buf, cap);
}

static void check(redact_fn redact, const char *text, size_t cap)
{
    size_t whole_cap = 9 * strlen(text) + 16;
    char *whole = mem_calloc(whole_cap, 1), *again = mem_calloc(whole_cap, 1);
    char *cut = mem_calloc(cap, 1);
    redact(text, whole, whole_cap);
    redact(whole, again, whole_cap);
    FUZZ_CHECK(strcmp(whole, again) == 0);
    redact(text, cut, cap);
    FUZZ_CHECK(strncmp(whole, cut, cap - 1) == 0 && cut[cap - 1] == '\0');
    mem_free(cut);
    mem_free(again);
    mem_free(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 4096)
        return 0;
    char *text = mem_dup(data + 1, size - 1);
    check(redact_url, text, 1 + (size_t)data[0]);
    check(header, text, 1 + (size_t)data[0]);
    redact_is_secret_header(text, size - 1, text);
    mem_free(text);
    return 0;
}
