/* SPDX-License-Identifier: MIT */
#include "tests/bench/lib/stamps.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "tests/bench/lib/self.h"

void stamps_init(struct stamps *s, size_t max)
{
    *s = (struct stamps){.all = mem_calloc(max, sizeof *s->all), .max = max};
    memset(s->all, 0xff, max * sizeof *s->all);
}

struct stamp *stamps_add(struct stamps *s)
{
    if (s->n == s->max) {
        s->lost++;
        return NULL;
    }
    return &s->all[s->n++];
}

void stamps_write(const struct stamps *s, const char *file)
{
    FILE *out = fopen(file, "we");
    if (out == NULL || fwrite(s->all, sizeof *s->all, s->n, out) != s->n || fclose(out) != 0)
        self_die("%s", file);
}

void stamps_read(struct stamps *s, const char *file)
{
    FILE *in = fopen(file, "re");
    long size = -1;
    if (in != NULL && fseek(in, 0, SEEK_END) == 0)
        size = ftell(in);
    if (size < 0 || fseek(in, 0, SEEK_SET) != 0)
        self_die("%s", file);
    errno = 0;
    if ((size_t)size % sizeof *s->all != 0)
        self_die("%s: is not a whole number of stamps", file);
    size_t n = (size_t)size / sizeof *s->all;
    *s = (struct stamps){.all = mem_calloc(n + 1, sizeof *s->all), .n = n, .max = n};
    if (fread(s->all, sizeof *s->all, n, in) != n || fclose(in) != 0)
        self_die("%s", file);
}

void stamps_fini(struct stamps *s)
{
    mem_free(s->all);
    *s = (struct stamps){0};
}
