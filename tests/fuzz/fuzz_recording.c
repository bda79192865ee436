/* SPDX-License-Identifier: MIT */
/* Bytes as what the history knows of a run: refused, and nothing of it is left, or the same when it
 * is written again. */
#include <string.h>

#include "common/mem.h"
#include "controller/run/inventory.h"
#include "controller/store/recording.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct recording *r = mem_calloc(1, sizeof *r), *again = mem_calloc(1, sizeof *r);
    struct errmsg msg = {{0}};
    char *text = mem_calloc(size + 1, 1), *first = NULL, *second = NULL;
    if (size > 0)
        memcpy(text, data, size);
    if (recording_facts_decode(text, r, &msg) != ERR_OK) {
        FUZZ_CHECK(msg.text[0] != '\0' && r->agents == NULL && r->n_agents == 0);
    } else {
        FUZZ_CHECK(r->n_agents <= INVENTORY_MAX);
        FUZZ_CHECK(recording_facts_encode(r, &first) == ERR_OK);
        FUZZ_CHECK(recording_facts_decode(first, again, &msg) == ERR_OK);
        FUZZ_CHECK(recording_facts_encode(again, &second) == ERR_OK);
        FUZZ_CHECK(strcmp(first, second) == 0);
    }
    mem_free(second);
    mem_free(first);
    mem_free(text);
    recording_free(again);
    recording_free(r);
    return 0;
}
