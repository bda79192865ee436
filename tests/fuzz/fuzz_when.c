/* SPDX-License-Identifier: MIT */
/* Bytes as an instant: refused with a message, or one that a person could have meant. */
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/cmd/when.h"
#include "tests/fuzz/fuzz.h"

#define NOW_NS (UINT64_C(1800000000) * NS_PER_SEC)
#define END_NS (UINT64_C(4102617600) * NS_PER_SEC) /* two days into 2100 */

static int64_t offset(const void *arg, int64_t unix_s)
{
    (void)arg;
    return unix_s / 15000000 % 2 == 0 ? 3600 : 7200;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct when_zone zone = {offset, NULL};
    char *text = mem_calloc(size + 1, 1);
    if (size > 0)
        memcpy(text, data, size);
    for (int end = 0; end < 2; end++) {
        struct errmsg msg = {{0}};
        uint64_t ns = 0;
        if (when_parse(text, end != 0, NOW_NS, &zone, &ns, &msg) == ERR_OK)
            FUZZ_CHECK(ns <= END_NS);
        else
            FUZZ_CHECK(msg.text[0] != '\0');
    }
    mem_free(text);
    return 0;
}
