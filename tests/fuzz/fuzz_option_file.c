/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/service/agent_options.h"
#include "common/option_file.h"
#include "tests/fuzz/fuzz.h"

/* The bytes are hammer-agent's configuration file. Refused = a sentence with the file's name. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n;
    char path[64];
    struct agent_options o = {0};
    struct errmsg msg = {{0}};
    const struct option_row *rows = agent_options(&n);
    int fd = memfd_create("config", MFD_CLOEXEC);
    FUZZ_CHECK(fd >= 0);
    FUZZ_CHECK(write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    enum err e = option_file(rows, n, path, &o, &msg);
    FUZZ_CHECK(e == ERR_OK || strncmp(msg.text, path, strlen(path)) == 0);
    agent_options_clear(&o);
    close(fd);
    return 0;
}
