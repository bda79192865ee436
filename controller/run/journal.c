/* SPDX-License-Identifier: MIT */
#include "controller/run/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/crc32.h"
#include "common/host.h"
#include "common/mem.h"
#include "common/xdg.h"

#define RECORD_HEAD  12
#define PENDING_MAX  (128u << 10)
#define LOCK_TRIES   20 /* a listing holds it for a moment */
#define LOCK_WAIT_NS (5 * NS_PER_MS)

struct journal {
    char path[PATH_MAX]; /* of the folder, for errors and removal */
    int dir, fd;         /* fd: `journal`, -1 = given up */
    bool taken;          /* another one's: worth more than what cannot be written now */
    uint8_t *pending;    /* appended, not written yet: up to PENDING_MAX bytes, of whole records */
    size_t n_pending;
    uint64_t touched_ns, dropped;
    struct crc32 crc;
};

bool journal_folder(char *buf, size_t cap)
{
    return xdg_state_path("runs", buf, cap);
}

static enum err failed(const struct journal *j, const char *file, struct errmsg *msg)
{
    return errmsg_set(msg, ERR_SYSTEM, "%.300s%s%s: %s", j->path, file[0] != '\0' ? "/" : "", file,
                      strerror(errno));
}

static void close_fds(struct journal *j)
{
    if (j->fd >= 0)
        close(j->fd);
    if (j->dir >= 0)
        close(j->dir);
    j->fd = j->dir = -1;
}

static void discard(struct journal *j)
{
    if (j->dir < 0)
        return;
    unlinkat(j->dir, "run", 0); /* first: without it the rest is nothing */
    unlinkat(j->dir, "run.new", 0);
    unlinkat(j->dir, "journal", 0);
    rmdir(j->path);
}

/* Says why, and never again. */
static enum err give_up(struct journal *j, const char *file, struct errmsg *msg)
{
    enum err e = failed(j, file, msg);
    discard(j);
    close_fds(j);
    return e;
}

/* --- making and opening ------------------------------------------------------------------------
 */

static bool make_folders(const char *path)
{
    char part[PATH_MAX];
    for (const char *p = path + 1; p != NULL; p++) {
        p = strchr(p, '/');
        snprintf(part, sizeof part, "%.*s", p != NULL ? (int)(p - path) : (int)strlen(path), path);
        if (mkdir(part, 0700) != 0 && errno != EEXIST && access(part, F_OK) != 0)
            return false;
        if (p == NULL)
            break;
    }
    return true;
}

static bool lock(int fd)
{
    for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK || i == LOCK_TRIES)
            return false;
        clock_sleep_until(clock_mono_ns() + LOCK_WAIT_NS);
    }
    return true;
}

static struct journal *journal_new(const char *folder, const char *name)
{
    struct journal *j = mem_calloc(1, sizeof *j);
    snprintf(j->path, sizeof j->path, "%.*s/%.*s", PATH_MAX - 40, folder, 2 * MSG_ID_LEN, name);
    j->dir = j->fd = -1;
    crc32_init(&j->crc);
    return j;
}

static enum err open_new(struct journal *j, struct errmsg *msg)
{
    if (!make_folders(j->path))
        return failed(j, "", msg);
    j->dir = open(j->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (j->dir < 0)
        return failed(j, "", msg);
    j->fd = openat(j->dir, "journal", O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (j->fd < 0 || !lock(j->fd))
        return failed(j, "journal", msg);
    return ERR_OK;
}

enum err journal_create(const char *folder, const struct journal_run *run, struct journal **out,
                        struct errmsg *msg)
{
    char name[2 * MSG_ID_LEN + 1];
    host_hex(run->run, MSG_ID_LEN, name);
    struct journal *j = journal_new(folder, name);
    enum err e = open_new(j, msg);
    if (e == ERR_OK)
        e = journal_save(j, run, msg);
    if (e != ERR_OK) {
        journal_close(j, false);
        return e;
    }
    *out = j;
    return ERR_OK;
}

/* Whole file, bounded. */
static enum err read_run(const struct journal *j, struct journal_run *run, struct errmsg *msg)
{
    struct stat st;
    int fd = openat(j->dir, "run", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0) {
        if (fd >= 0)
            close(fd);
        return failed(j, "run", msg);
    }
    size_t cap = S_ISREG(st.st_mode) && st.st_size >= 0 && st.st_size <= JOURNAL_RUN_MAX
                     ? (size_t)st.st_size
                     : 0;
    uint8_t *bytes = mem_calloc(cap + 1, 1);
    size_t len = 0;
    ssize_t n = 1;
    while (len < cap && n > 0) {
        n = read(fd, bytes + len, cap - len);
        len += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    enum err e = journal_run_decode(bytes, len, run);
    mem_free(bytes);
    if (e != ERR_OK)
        errmsg_set(msg, e, "%.300s/run: not a run that this hammer-ctl understands (%s)", j->path,
                   err_str(e));
    return e;
}

static enum err open_old(struct journal *j, struct errmsg *msg)
{
    struct stat st;
    j->dir = open(j->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (j->dir < 0 || fstat(j->dir, &st) != 0)
        return failed(j, "", msg);
    if (st.st_uid != geteuid())
        return errmsg_set(msg, ERR_REFUSED, "%.300s: it belongs to another user", j->path);
    j->fd = openat(j->dir, "journal", O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (j->fd < 0 || fstat(j->fd, &st) != 0 || !S_ISREG(st.st_mode))
        return failed(j, "journal", msg);
    j->touched_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_SEC + (uint64_t)st.st_mtim.tv_nsec;
    return ERR_OK;
}

enum err journal_take(const char *folder, const char *name, struct journal **out,
                      struct journal_run *run, struct errmsg *msg)
{
    struct journal *j = journal_new(folder, name);
    *run = (struct journal_run){0};
    enum err e = open_old(j, msg);
    bool locked = e == ERR_OK && lock(j->fd);
    if (e == ERR_OK)
        e = read_run(j, run, msg);
    if (e == ERR_OK && !locked)
        e = errmsg_set(msg, ERR_BUSY, "run %.8s: hammer-ctl with pid %" PRIu32 " is still at it",
                       name, run->pid);
    if (e != ERR_OK) {
        journal_close(j, true);
        return e;
    }
    j->taken = true;
    *out = j;
    return ERR_OK;
}

enum err journal_peek(const char *folder, const char *name, struct journal_run *run, bool *running,
                      uint64_t *touched_ns, struct errmsg *msg)
{
    struct journal *j = journal_new(folder, name);
    *run = (struct journal_run){0};
    enum err e = open_old(j, msg);
    *running = e == ERR_OK && flock(j->fd, LOCK_SH | LOCK_NB) != 0;
    *touched_ns = j->touched_ns;
    if (e == ERR_OK)
        e = read_run(j, run, msg);
    journal_close(j, true);
    return e;
}

uint64_t journal_dropped(const struct journal *j)
{
    return j->dropped;
}

uint64_t journal_touched_ns(const struct journal *j)
{
    return j->touched_ns;
}

void journal_close(struct journal *j, bool keep)
{
    struct errmsg ignored; /* nobody is left who could be told */
    if (j == NULL)
        return;
    if (keep)
        (void)!journal_flush(j, &ignored);
    else
        discard(j);
    close_fds(j);
    mem_free(j->pending);
    mem_free(j);
}

/* --- writing -----------------------------------------------------------------------------------
 */

static bool write_all(int fd, const uint8_t *p, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

enum err journal_save(struct journal *j, const struct journal_run *run, struct errmsg *msg)
{
    uint8_t *bytes = NULL;
    size_t len = 0;
    if (j == NULL || j->fd < 0)
        return ERR_OK;
    enum err e = journal_run_encode(run, &bytes, &len);
    if (e != ERR_OK) {
        errno = EFBIG;
        return give_up(j, "run", msg);
    }
    int fd = openat(j->dir, "run.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool ok = fd >= 0 && write_all(fd, bytes, len);
    if (fd >= 0 && close(fd) != 0)
        ok = false;
    mem_free(bytes);
    if (!ok || renameat(j->dir, "run.new", j->dir, "run") != 0)
        return j->taken ? failed(j, "run", msg) : give_up(j, "run", msg);
    return ERR_OK;
}

static void put_u32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

static uint32_t get_u32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t record_crc(const struct crc32 *c, const uint8_t *head, const uint8_t *bytes,
                           size_t len)
{
    return crc32_add(c, crc32_add(c, 0, head, 8), bytes, len);
}

static enum err write_records(struct journal *j, struct iovec *v, int n, struct errmsg *msg)
{
    size_t len = 0;
    for (int i = 0; i < n; i++)
        len += v[i].iov_len;
    ssize_t written = writev(j->fd, v, n);
    if (written == (ssize_t)len)
        return ERR_OK;
    if (written >= 0)
        errno = ENOSPC; /* a part of it: a regular file takes less only when there is no room */
    return give_up(j, "journal", msg);
}

enum err journal_flush(struct journal *j, struct errmsg *msg)
{
    if (j == NULL || j->fd < 0 || j->n_pending == 0)
        return ERR_OK;
    struct iovec v = {j->pending, j->n_pending};
    j->n_pending = 0;
    return write_records(j, &v, 1, msg);
}

enum err journal_append(struct journal *j, size_t agent, const uint8_t *bytes, size_t len,
                        struct errmsg *msg)
{
    uint8_t head[RECORD_HEAD];
    if (j == NULL || j->fd < 0)
        return ERR_OK;
    put_u32(head, (uint32_t)agent);
    put_u32(head + 4, (uint32_t)len);
    put_u32(head + 8, record_crc(&j->crc, head, bytes, len));
    if (sizeof head + len > PENDING_MAX - j->n_pending) {
        enum err e = journal_flush(j, msg);
        if (e != ERR_OK)
            return e;
    }
    if (sizeof head + len > PENDING_MAX) {
        struct iovec v[] = {{head, sizeof head}, {(void *)(uintptr_t)bytes, len}};
        return write_records(j, v, 2, msg);
    }
    if (j->pending == NULL)
        j->pending = mem_realloc(NULL, PENDING_MAX, 1);
    memcpy(j->pending + j->n_pending, head, sizeof head);
    memcpy(j->pending + j->n_pending + sizeof head, bytes, len);
    j->n_pending += sizeof head + len;
    return ERR_OK;
}

/* --- reading -----------------------------------------------------------------------------------
 */

static bool read_record(FILE *in, const struct crc32 *crc, size_t n_agents, uint8_t *head,
                        uint8_t **bytes, size_t *cap)
{
    if (fread(head, 1, RECORD_HEAD, in) != RECORD_HEAD)
        return false;
    size_t len = get_u32(head + 4);
    if (get_u32(head) >= n_agents || len == 0 || len > MSG_FRAME_MAX)
        return false;
    if (len > *cap) {
        *cap = len;
        *bytes = mem_realloc(*bytes, len, 1);
    }
    return fread(*bytes, 1, len, in) == len &&
           record_crc(crc, head, *bytes, len) == get_u32(head + 8);
}

uint64_t journal_read(FILE *in, size_t n_agents, journal_record_fn fn, void *arg)
{
    struct crc32 crc;
    uint8_t head[RECORD_HEAD], *bytes = NULL;
    size_t cap = 0;
    uint64_t whole = 0;
    crc32_init(&crc);
    while (read_record(in, &crc, n_agents, head, &bytes, &cap)) {
        size_t len = get_u32(head + 4);
        fn(arg, get_u32(head), bytes, len);
        whole += sizeof head + len;
    }
    mem_free(bytes);
    return whole;
}

enum err journal_replay(struct journal *j, size_t n_agents, journal_record_fn fn, void *arg,
                        struct errmsg *msg)
{
    int fd = openat(j->dir, "journal", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (in == NULL) {
        if (fd >= 0)
            close(fd);
        return failed(j, "journal", msg);
    }
    uint64_t whole = journal_read(in, n_agents, fn, arg);
    struct stat st;
    bool broken = ferror(in) != 0 || fstat(fd, &st) != 0;
    j->dropped = !broken && (uint64_t)st.st_size > whole ? (uint64_t)st.st_size - whole : 0;
    fclose(in);
    if (broken || ftruncate(j->fd, (off_t)whole) != 0)
        return failed(j, "journal", msg);
    return ERR_OK;
}
