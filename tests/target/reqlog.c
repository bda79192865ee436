/* SPDX-License-Identifier: MIT */
#include "tests/target/reqlog.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define BUFFER_SIZE (1 << 20)

enum err httpd_reqlog_open(struct httpd_reqlog *log, const char *name, struct errmsg *msg)
{
    *log = (struct httpd_reqlog){0};
    if (name == NULL)
        return ERR_OK;
    log->file = fopen(name, "we");
    if (log->file == NULL)
        return errmsg_set(msg, ERR_SYSTEM, "--log %s: %s", name, strerror(errno));
    /* Large, so that writing the log disturbs the answers once in some ten thousand requests. */
    setvbuf(log->file, NULL, _IOFBF, BUFFER_SIZE);
    return ERR_OK;
}

void httpd_reqlog_add(struct httpd_reqlog *log, const struct httpd_reqlog_times *t,
                      const char *path, size_t path_len, uint32_t status)
{
    if (log->file != NULL)
        fprintf(log->file, "%" PRIu64 " %" PRIu64 " %.*s %" PRIu32 " %" PRIu64 "\n", t->read_ns,
                t->written_ns, (int)path_len, path, status, t->arrived_ns);
}

void httpd_reqlog_flush(struct httpd_reqlog *log)
{
    if (log->file != NULL)
        fflush(log->file);
}

enum err httpd_reqlog_close(struct httpd_reqlog *log)
{
    if (log->file == NULL)
        return ERR_OK;
    int bad = ferror(log->file);
    bad |= fclose(log->file);
    log->file = NULL;
    return bad != 0 ? ERR_SYSTEM : ERR_OK;
}
