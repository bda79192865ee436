/* SPDX-License-Identifier: MIT */
/* Foreign bytes as a plan: refused with a reason, or a valid plan that comes back whole. */
#include <string.h>

#include "common/mem.h"
#include "proto/plan.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plan p, back;
    struct errmsg msg = {""};
    enum err e = plan_decode(data, size, &p, &msg);
    FUZZ_CHECK((e == ERR_OK) == (msg.text[0] == '\0'));
    if (e != ERR_OK) {
        FUZZ_CHECK(p.url == NULL && p.body == NULL && p.headers.n == 0);
        return 0;
    }
    FUZZ_CHECK(plan_validate(&p, &msg) == ERR_OK);
    uint8_t *first, *second;
    size_t first_len, second_len;
    FUZZ_CHECK(plan_encode(&p, &first, &first_len) == ERR_OK);
    FUZZ_CHECK(plan_decode(first, first_len, &back, &msg) == ERR_OK);
    FUZZ_CHECK(plan_encode(&back, &second, &second_len) == ERR_OK);
    FUZZ_CHECK(first_len == second_len && memcmp(first, second, first_len) == 0);
    mem_free(first);
    mem_free(second);
    plan_clear(&p);
    plan_clear(&back);
    return 0;
}
