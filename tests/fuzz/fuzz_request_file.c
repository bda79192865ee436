/* SPDX-License-Identifier: MIT */
/* Any bytes as a plan file: refused with the file's name in the reason, or a plan that the checks
 * see. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/mem.h"
#include "controller/cmd/request_file.h"
#include "controller/cmd/run_options.h"
#include "tests/fuzz/fuzz.h"

/* Files would be read from wherever the bytes say. */
static bool names_files(const uint8_t *data, size_t size)
{
    return memmem(data, size, "body", 4) != NULL || memmem(data, size, "line", 4) != NULL ||
           memmem(data, size, "ca", 2) != NULL || memmem(data, size, "\\", 1) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    size_t n;
    struct errmsg msg = {""};
    if (names_files(data, size))
        return 0;
    struct run_options *o = mem_calloc(1, sizeof *o);
    struct option_row *rows = run_options_rows(&n);
    int fd = memfd_create("plan", MFD_CLOEXEC);
    FUZZ_CHECK(fd >= 0);
    FUZZ_CHECK(write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    plan_defaults(&o->plan);
    enum err e = request_file_read(rows, n, path, &o->plan, &msg);
    FUZZ_CHECK(e == ERR_OK || strncmp(msg.text, path, strlen(path)) == 0);
    for (size_t i = 0; e == ERR_OK && i < o->plan.n_entries; i++)
        FUZZ_CHECK(o->plan.entries[i].url != NULL && o->plan.entries[i].weight > 0);
    if (e == ERR_OK && request_urls_settle(&o->plan, o->plan.url, &msg) == ERR_OK)
        FUZZ_CHECK(plan_check(&o->plan, &msg) == ERR_OK || msg.text[0] != '\0');
    run_options_clear(o);
    mem_free(o);
    mem_free(rows);
    close(fd);
    return 0;
}
