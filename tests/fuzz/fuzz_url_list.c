/* SPDX-License-Identifier: MIT */
/* Any text as a list of requests: refused with a reason, or requests that the plan's checks see. */
#include <string.h>

#include "controller/cmd/url_list.h"
#include "tests/fuzz/fuzz.h"

/* Bodies of files would be read from wherever the bytes say. */
static bool names_files(const uint8_t *data, size_t size)
{
    return memchr(data, '<', size) != NULL || memchr(data, '@', size) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plan p;
    struct errmsg msg = {""};
    if (size == 0 || names_files(data, size))
        return 0;
    plan_defaults(&p);
    p.requests = 1;
    p.no_templates = true;
    enum err e = url_list_parse((const char *)data, size, &p, &msg);
    FUZZ_CHECK((e == ERR_OK) == (msg.text[0] == '\0'));
    FUZZ_CHECK(e != ERR_OK || p.n_entries > 0);
    for (size_t i = 0; i < p.n_entries; i++)
        FUZZ_CHECK(p.entries[i].url != NULL && p.entries[i].weight == 1);
    if (e == ERR_OK && plan_check(&p, &msg) != ERR_OK)
        FUZZ_CHECK(msg.text[0] != '\0');
    plan_clear(&p);
    return 0;
}
