/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "common/mem.h"
#include "controller/watch/http_request.h"
#include "tests/fuzz/fuzz.h"

/* Any bytes get one of the known answers; what was understood stays so with more bytes behind it.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int known[] = {200, 400, 403, 404, 405, 431, 505};
    struct http_request r, again;
    char *copy = mem_dup(data, size);
    bool whole = http_request_parse(copy, size, &r), found = false;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        found = found || r.status == known[i];
    FUZZ_CHECK(found);
    if (whole && r.status != 431 && size > 0)
        FUZZ_CHECK(memmem(copy, size, "\r\n\r\n", 4) != NULL);
    if (!whole && size > 0)
        FUZZ_CHECK(!http_request_parse(copy, size - 1, &again));
    http_request_is_loopback(copy, size);
    mem_free(copy);
    return 0;
}
