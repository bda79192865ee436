/* SPDX-License-Identifier: MIT */
/* Foreign bytes as a frame: refused without a trace, or a message that survives another round. */
#include <string.h>

#include "common/mem.h"
#include "proto/msg.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct msg m, back;
    enum err e = msg_decode(data, size, &m);
    FUZZ_CHECK((e == ERR_OK) == (m.type != 0));
    if (e != ERR_OK)
        return 0;
    FUZZ_CHECK(strcmp(msg_type_name(m.type), "?") != 0);
    uint8_t *first, *second;
    size_t first_len, second_len;
    FUZZ_CHECK(msg_encode(&m, &first, &first_len) == ERR_OK);
    FUZZ_CHECK(first_len <= MSG_FRAME_MAX);
    FUZZ_CHECK(msg_decode(first, first_len, &back) == ERR_OK);
    FUZZ_CHECK(msg_encode(&back, &second, &second_len) == ERR_OK);
    FUZZ_CHECK(first_len == second_len && memcmp(first, second, first_len) == 0);
    mem_free(first);
    mem_free(second);
    return 0;
}
