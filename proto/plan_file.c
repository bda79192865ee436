/* SPDX-License-Identifier: MIT */
#include "proto/plan_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "proto/plan.h"

/* What is read, for messages. */
struct input {
    const char *what, *accepted, *path;
    size_t max;
    int fd;
    struct errmsg *msg;
};

static enum err refuse(const struct input *in, const char *why, const char *detail)
{
    char shown[UNITS_SHOWN];
    return errmsg_set(in->msg, ERR_INVALID, "%s %s: %s%s; accepted is %s", in->what,
                      units_format_shown(in->path, shown), why, detail, in->accepted);
}

/* At most `max` bytes; *len == max says that there may be more. */
static enum err read_bytes(int fd, uint8_t *buf, size_t max, size_t *len)
{
    *len = 0;
    while (*len < max) {
        ssize_t n = read(fd, buf + *len, max - *len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ERR_SYSTEM;
        if (n == 0)
            break;
        *len += (size_t)n;
    }
    return ERR_OK;
}

static enum err read_file(const struct input *in, uint8_t **bytes, size_t *len)
{
    struct stat st;
    if (fstat(in->fd, &st) != 0)
        return refuse(in, "cannot be read: ", strerror(errno));
    if (!S_ISREG(st.st_mode))
        return refuse(in, "not a regular file", "");
    size_t got, max = in->max + 1;
    uint8_t *buf = mem_calloc(max, 1);
    enum err e = read_bytes(in->fd, buf, max, &got);
    if (e != ERR_OK) {
        e = refuse(in, "cannot be read: ", strerror(errno));
    } else if (got == max) {
        e = refuse(in, "too big", "");
    } else {
        *bytes = mem_dup(buf, got);
        *len = got;
    }
    mem_free(buf);
    return e;
}

enum err plan_file_load(const char *what, const char *accepted, const char *path, size_t max,
                        uint8_t **bytes, size_t *len, struct errmsg *msg)
{
    struct input in = {.what = what, .accepted = accepted, .path = path, .max = max, .msg = msg};
    /* O_NONBLOCK: a FIFO without a writer must not hang the command; fstat then refuses it. */
    in.fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (in.fd < 0)
        return refuse(&in, "cannot be opened: ", strerror(errno));
    enum err e = read_file(&in, bytes, len);
    close(in.fd);
    return e;
}

enum err plan_file_read(const char *name, const char *path, size_t max, uint8_t **bytes,
                        size_t *len, struct errmsg *msg)
{
    char what[64];
    size_t n;
    const struct option_row *rows = plan_options(&n);
    snprintf(what, sizeof what, "--%s", name);
    return plan_file_load(what, option_find(rows, n, name)->accepted, path, max, bytes, len, msg);
}
