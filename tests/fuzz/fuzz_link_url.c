/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "common/mem.h"
#include "proto/link_url.h"
#include "tests/fuzz/fuzz.h"

/* Byte 0: dial or listen; the rest is the URL. What is refused says why; what is accepted has a
 * label and, with another port, is accepted again. */

static void use(const char *url, enum link_url_use how)
{
    char label[128], again[512];
    link_url_label(url, label, sizeof label);
    FUZZ_CHECK(label[0] != '\0' && strlen(label) < sizeof label);
    const char *path = link_url_path(url);
    FUZZ_CHECK(path == NULL || (path > url && path <= url + strlen(url)));
    if (strlen(url) + 8 >= sizeof again)
        return;
    link_url_with_port(url, 7400, again, sizeof again);
    FUZZ_CHECK(link_url_check(again, how, NULL) == ERR_OK);
    FUZZ_CHECK(path == NULL || strcmp(url, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct errmsg msg = {{0}};
    if (size == 0)
        return 0;
    enum link_url_use how = data[0] % 2 == 0 ? LINK_URL_DIAL : LINK_URL_LISTEN;
    char *url = mem_dup(data + 1, size - 1);
    if (link_url_check(url, how, &msg) == ERR_OK)
        use(url, how);
    else
        FUZZ_CHECK(msg.text[0] != '\0');
    mem_free(url);
    return 0;
}
