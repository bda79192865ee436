/* SPDX-License-Identifier: MIT */
#include "tests/bench/lib/counter.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/bench/lib/self.h"

static void *map(const char *file, int fd, int protection)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0)
        self_die("%s", file);
    errno = 0;
    if (st.st_size != sizeof(counter_cell))
        self_die("%s: is not a counter", file);
    void *p = mmap(NULL, sizeof(counter_cell), protection, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        self_die("%s", file);
    close(fd);
    return p;
}

counter_cell *counter_create(const char *file)
{
    int fd = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || ftruncate(fd, sizeof(counter_cell)) != 0)
        self_die("%s", file);
    return map(file, fd, PROT_READ | PROT_WRITE);
}

const counter_cell *counter_open(const char *file)
{
    return map(file, open(file, O_RDONLY | O_CLOEXEC), PROT_READ);
}
