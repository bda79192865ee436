/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "agent/client/expectation.h"
#include "common/mem.h"
#include "tests/fuzz/fuzz.h"

/* The first line is a list of statuses, the second one what a body should be, the rest a body. What
 * is accepted judges the same however the body is cut. */

static int judge(struct expectation *e, struct expect_seen *s, const char *body, size_t len,
                 size_t step)
{
    expectation_begin(e, s);
    for (size_t at = 0; at < len; at += step)
        expectation_bytes(e, s, body + at, len - at < step ? len - at : step);
    return expectation_judge(e, s, 200);
}

static char *take_line(const uint8_t **data, size_t *size)
{
    const uint8_t *end = *size > 0 ? memchr(*data, '\n', *size) : NULL;
    size_t len = end != NULL ? (size_t)(end - *data) : *size;
    char *line = mem_dup(*size > 0 ? (const char *)*data : "", len);
    *data += len + (end != NULL);
    *size -= len + (end != NULL);
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct expectation e;
    struct expect_seen s = {0};
    if (size > 4096)
        return 0;
    char *status = take_line(&data, &size), *body = take_line(&data, &size);
    char *content = mem_dup(size > 0 ? (const char *)data : "", size);
    if (expectation_init(&e, status[0] != '\0' ? status : NULL, body[0] != '\0' ? body : NULL,
                         NULL) == ERR_OK) {
        int whole = judge(&e, &s, content, size, size + 1);
        FUZZ_CHECK(whole == EXPECT_MET || whole == EXPECT_DIFF || whole == 200);
        FUZZ_CHECK(judge(&e, &s, content, size, 1) == whole);
    }
    expectation_seen_clear(&s);
    expectation_clear(&e);
    mem_free(content);
    mem_free(body);
    mem_free(status);
    return 0;
}
