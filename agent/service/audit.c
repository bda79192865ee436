/* SPDX-License-Identifier: MIT */
#include "agent/service/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/mem.h"

struct audit {
    char *path; /* NULL = to the log */
    int fd;
    bool torn; /* the last line may have been written in part */
};

static enum err failed(const struct audit *a, int error, struct errmsg *msg)
{
    return errmsg_set(msg, ERR_SYSTEM, "audit file %.200s: %s", a->path, strerror(error));
}

static enum err open_file(const struct audit *a, int *fd, struct errmsg *msg)
{
    /* NONBLOCK: a pipe that nobody reads is an error, not a halt. */
    *fd =
        open(a->path,
             O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
    if (*fd >= 0)
        return ERR_OK;
    if (errno == ELOOP)
        return errmsg_set(msg, ERR_SYSTEM, "audit file %.200s: accepted is no symbolic link",
                          a->path);
    return failed(a, errno, msg);
}

enum err audit_open(const char *path, struct audit **out, struct errmsg *msg)
{
    struct audit *a = mem_calloc(1, sizeof *a);
    a->path = mem_strdup(path);
    a->fd = -1;
    enum err e = path != NULL ? open_file(a, &a->fd, msg) : ERR_OK;
    if (e == ERR_OK)
        *out = a;
    else
        audit_close(a);
    return e;
}

enum err audit_reopen(struct audit *a, struct errmsg *msg)
{
    int fd;
    if (a == NULL || a->path == NULL)
        return ERR_OK;
    enum err e = open_file(a, &fd, msg);
    if (e != ERR_OK)
        return e;
    close(a->fd);
    a->fd = fd;
    a->torn = false;
    return ERR_OK;
}

void audit_close(struct audit *a)
{
    if (a == NULL)
        return;
    if (a->fd >= 0)
        close(a->fd);
    mem_free(a->path);
    mem_free(a);
}

/* One write: lines of two agents that share a file do not mix. */
static int append(struct audit *a, const char *line)
{
    size_t len = strlen(line), want = 0;
    char *buf = mem_calloc(len + 2, 1);
    if (a->torn)
        buf[want++] = '\n';
    memcpy(buf + want, line, len);
    want += len;
    buf[want++] = '\n';
    ssize_t n;
    do
        n = write(a->fd, buf, want);
    while (n < 0 && errno == EINTR);
    int error = n < 0 ? errno : 0;
    mem_free(buf);
    if (error == 0)
        a->torn = (size_t)n < want;
    return error == 0 && a->torn ? ENOSPC : error;
}

enum err audit_write(struct audit *a, const char *line, struct errmsg *msg)
{
    if (a == NULL)
        return ERR_OK;
    if (a->path == NULL) {
        log_info("audit", "%s", line);
        return ERR_OK;
    }
    int error = append(a, line);
    /* A device or a pipe has nothing to be synced. */
    if (error == 0 && fdatasync(a->fd) != 0 && errno != EINVAL && errno != EROFS)
        error = errno;
    return error == 0 ? ERR_OK : failed(a, error, msg);
}
