/* SPDX-License-Identifier: MIT */
#include "controller/watch/nowait.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"

struct nowait {
    int fd;
    bool own;   /* it is ours and does not block; else each write is asked for first */
    bool ended; /* nobody will ever read it */
    size_t len;
    uint64_t refused;
    char kept[NOWAIT_KEPT];
};

/* O_NONBLOCK belongs to the open file, which the shell and others use too: a terminal and a pipe
 * can be opened once more. A file cannot, it would be written from its begin, and never blocks. */
static int open_again(int fd)
{
    struct stat st;
    char path[32];
    if (fstat(fd, &st) != 0 || !(S_ISFIFO(st.st_mode) || isatty(fd)))
        return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

struct nowait *nowait_new(int fd)
{
    struct nowait *w = mem_calloc(1, sizeof *w);
    int again = open_again(fd);
    w->own = again >= 0;
    w->fd = w->own ? again : fd;
    return w;
}

void nowait_free(struct nowait *w)
{
    if (w == NULL)
        return;
    if (w->own)
        close(w->fd);
    mem_free(w);
}

/* How much may be written without waiting: what poll promises is room for PIPE_BUF. */
static size_t allowed(const struct nowait *w, size_t len)
{
    struct pollfd p = {.fd = w->fd, .events = POLLOUT};
    if (w->own)
        return len;
    if (poll(&p, 1, 0) != 1)
        return 0;
    return len < PIPE_BUF / 8 ? len : PIPE_BUF / 8;
}

/* Bytes that were taken. */
static size_t push(struct nowait *w, const char *text, size_t len)
{
    size_t done = 0;
    while (done < len && !w->ended) {
        size_t n = allowed(w, len - done);
        if (n == 0)
            break;
        ssize_t k = write(w->fd, text + done, n);
        if (k > 0)
            done += (size_t)k;
        else if (k < 0 && errno == EINTR)
            continue;
        else if (k < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        else
            w->ended = true;
    }
    return w->ended ? len : done;
}

bool nowait_retry(struct nowait *w)
{
    size_t done = push(w, w->kept, w->len);
    memmove(w->kept, w->kept + done, w->len - done);
    w->len -= done;
    return w->len == 0;
}

bool nowait_write(struct nowait *w, const char *text, size_t len)
{
    nowait_retry(w);
    if (len > sizeof w->kept - w->len) {
        w->refused++;
        return false;
    }
    size_t done = w->len == 0 ? push(w, text, len) : 0;
    memcpy(w->kept + w->len, text + done, len - done);
    w->len += len - done;
    return true;
}

bool nowait_flush(struct nowait *w, uint64_t limit_ns)
{
    uint64_t until = clock_add(clock_mono_ns(), limit_ns);
    while (!nowait_retry(w)) {
        uint64_t now_ns = clock_mono_ns();
        struct pollfd p = {.fd = w->fd, .events = POLLOUT};
        if (now_ns >= until)
            return false;
        poll(&p, 1, (int)((until - now_ns) / NS_PER_MS) + 1);
    }
    return true;
}

uint64_t nowait_refused(const struct nowait *w)
{
    return w->refused;
}
