/* SPDX-License-Identifier: MIT */
/* Bytes as an inventory file: refused with file, line and column, or agents that --agents takes. */
#include <string.h>

#include "common/mem.h"
#include "controller/run/inventory.h"
#include "controller/run/inventory_file.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct inventory_file f;
    struct inventory inv;
    struct errmsg msg = {""};
    char *list = NULL;
    enum err e = inventory_file_parse("f", data, size, &f, &msg);
    FUZZ_CHECK((e == ERR_OK) == (msg.text[0] == '\0'));
    if (e != ERR_OK) {
        FUZZ_CHECK(f.n == 0 && f.entries == NULL && strncmp(msg.text, "f:", 2) == 0);
        return 0;
    }
    if (f.n > 0) {
        FUZZ_CHECK(inventory_file_expand(&f, "@all", &list, &msg) == ERR_OK);
        /* The same agent in two spellings is refused here; each alone is fine. */
        if (inventory_parse(list, 1, &inv, &msg) == ERR_OK)
            FUZZ_CHECK(inv.n == f.n);
        inventory_clear(&inv);
        mem_free(list);
    }
    inventory_file_clear(&f);
    return 0;
}
