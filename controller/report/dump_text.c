/* SPDX-License-Identifier: MIT */
#include "controller/report/dump_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FILE_SHOWN 200

void dump_text(const struct result_dump *d, char *buf, size_t cap)
{
    const struct {
        uint64_t n;
        const char *what;
    } missing[] = {
        {d->dropped, "dropped by agents"},
        {d->not_written, "not written in time"},
        {d->lost, "lost on the way"},
    };
    const char *glue = " (";
    snprintf(buf, cap, "%.*s: %" PRIu64 " of %" PRIu64 " requests written", FILE_SHOWN, d->file,
             d->written, d->rows);
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) {
        size_t len = strlen(buf);
        if (missing[i].n == 0)
            continue;
        snprintf(buf + len, cap - len, "%s%" PRIu64 " %s", glue, missing[i].n, missing[i].what);
        glue = ", ";
    }
    size_t len = strlen(buf);
    if (d->written < d->rows)
        snprintf(buf + len, cap - len, ")");
}
