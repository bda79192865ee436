/* SPDX-License-Identifier: MIT */
#include "controller/pki/pki_store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/host.h"
#include "common/mem.h"

#define LOCK_WAIT_NS (5 * NS_PER_SEC)
#define LOCK_POLL_NS (20 * NS_PER_MS)
#define FILE_MAX     ((off_t)32 << 20)
#define MODE_FOLDER  0700
#define MODE_BITS    07777

struct pki_store {
    int fd, lock_fd;
    char dir[PATH_MAX];
};

static enum err system_error(const struct pki_store *s, const char *name, struct errmsg *msg)
{
    return errmsg_set(msg, errno == ENOENT ? ERR_NOT_FOUND : ERR_SYSTEM, "%s/%s: %s", s->dir, name,
                      strerror(errno));
}

/* --- the folder ----------------------------------------------------------------------------- */

/* In the folder `at`. Its mode must not depend on the umask. */
static bool make_folder(int at, const char *name)
{
    if (mkdirat(at, name, MODE_FOLDER) != 0)
        return errno == EEXIST;
    return fchmodat(at, name, MODE_FOLDER, 0) == 0;
}

/* As mkdir -p. Where a parent cannot be made, the last step fails and says why. */
static bool make_folders(const char *dir)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", dir);
    for (char *p = path + 1; *p != '\0'; p++)
        if (*p == '/' && p[1] != '\0') {
            *p = '\0';
            if (!make_folder(AT_FDCWD, path) && errno != EROFS && errno != EACCES)
                return false;
            *p = '/';
        }
    return make_folder(AT_FDCWD, path);
}

static enum err check_folder(int fd, const char *path, struct errmsg *msg)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return errmsg_set(msg, ERR_SYSTEM, "%s: %s", path, strerror(errno));
    if (st.st_uid != geteuid())
        return errmsg_set(msg, ERR_REFUSED,
                          "%s: belongs to user %u; accepted is a folder of the user who runs this",
                          path, (unsigned)st.st_uid);
    if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return errmsg_set(msg, ERR_REFUSED,
                          "%s: mode %04o lets others in; accepted is a folder with mode 0700 of "
                          "its own",
                          path, (unsigned)(st.st_mode & MODE_BITS));
    return ERR_OK;
}

static enum err open_folder(struct pki_store *s, bool create, struct errmsg *msg)
{
    if (!create || make_folders(s->dir))
        s->fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (s->fd < 0)
        return errmsg_set(msg, errno == ENOENT ? ERR_NOT_FOUND : ERR_SYSTEM, "%s: %s", s->dir,
                          strerror(errno));
    return check_folder(s->fd, s->dir, msg);
}

enum err pki_store_open(const char *dir, bool create, struct pki_store **out, struct errmsg *msg)
{
    size_t len = strlen(dir);
    *out = NULL;
    while (len > 1 && dir[len - 1] == '/')
        len--;
    if (len == 0 || len >= PATH_MAX)
        return errmsg_set(msg, ERR_INVALID, "\"%.80s\": accepted is the name of a folder", dir);
    struct pki_store *s = mem_calloc(1, sizeof *s);
    s->fd = s->lock_fd = -1;
    memcpy(s->dir, dir, len);
    enum err e = open_folder(s, create, msg);
    if (e == ERR_OK)
        *out = s;
    else
        pki_store_close(s);
    return e;
}

void pki_store_close(struct pki_store *s)
{
    if (s == NULL)
        return;
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    if (s->fd >= 0)
        close(s->fd);
    mem_free(s);
}

/* A file, because locks on folders do not work everywhere. */
enum err pki_store_lock(struct pki_store *s, struct errmsg *msg)
{
    s->lock_fd = openat(s->fd, ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, PKI_MODE_SECRET);
    if (s->lock_fd < 0 || fchmod(s->lock_fd, PKI_MODE_SECRET) != 0)
        return system_error(s, ".lock", msg);
    uint64_t until_ns = clock_add(clock_mono_ns(), LOCK_WAIT_NS);
    while (flock(s->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return system_error(s, ".lock", msg);
        if (clock_mono_ns() > until_ns)
            return errmsg_set(msg, ERR_BUSY, "%s: another hammer-ctl pki is at work in it", s->dir);
        clock_sleep_until(clock_mono_ns() + LOCK_POLL_NS);
    }
    return ERR_OK;
}

const char *pki_store_dir(const struct pki_store *s)
{
    return s->dir;
}

enum err pki_store_folder(const struct pki_store *s, const char *name, struct errmsg *msg)
{
    char path[PATH_MAX + NAME_MAX];
    int fd = -1;
    if (make_folder(s->fd, name))
        fd = openat(s->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return system_error(s, name, msg);
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    enum err e = check_folder(fd, path, msg);
    close(fd);
    return e;
}

/* --- files ---------------------------------------------------------------------------------- */

bool pki_store_has(const struct pki_store *s, const char *name)
{
    struct stat st;
    return fstatat(s->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static enum err check_file(const struct pki_store *s, const char *name, int fd, mode_t mode,
                           struct stat *st, struct errmsg *msg)
{
    if (fstat(fd, st) != 0)
        return system_error(s, name, msg);
    if (!S_ISREG(st->st_mode))
        return errmsg_set(msg, ERR_REFUSED, "%s/%s: accepted is a regular file", s->dir, name);
    if (mode == PKI_MODE_SECRET && (st->st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return errmsg_set(msg, ERR_REFUSED,
                          "%s/%s: mode %04o lets others read it; accepted is 0600 (chmod 600), and "
                          "a key that others have read is worth nothing",
                          s->dir, name, (unsigned)(st->st_mode & MODE_BITS));
    if (st->st_size > FILE_MAX)
        return errmsg_set(msg, ERR_TOO_BIG, "%s/%s: accepted are at most 32 MiB", s->dir, name);
    return ERR_OK;
}

/* Bytes read, -1 on an error. */
static ssize_t read_all(int fd, char *to, size_t size)
{
    size_t at = 0;
    while (at < size) {
        ssize_t n = read(fd, to + at, size - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        at += (size_t)n;
    }
    return (ssize_t)at;
}

enum err pki_store_read(const struct pki_store *s, const char *name, mode_t mode, char **text,
                        struct errmsg *msg)
{
    struct stat st;
    *text = NULL;
    /* O_NONBLOCK: a FIFO in its place must not hang us. */
    int fd = openat(s->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return system_error(s, name, msg);
    enum err e = check_file(s, name, fd, mode, &st, msg);
    if (e == ERR_OK) {
        size_t size = (size_t)st.st_size;
        char *buf = mem_calloc(size + 1, 1);
        if (read_all(fd, buf, size) < 0) {
            e = system_error(s, name, msg);
            explicit_bzero(buf, size);
            mem_free(buf);
        } else {
            *text = buf;
        }
    }
    close(fd);
    return e;
}

static bool write_all(int fd, const char *text)
{
    for (size_t len = strlen(text); len > 0;) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0) {
            text += n;
            len -= (size_t)n;
        }
    }
    return true;
}

/* Beside the file, so that a rename can put it there. */
static void temporary_name(const char *name, char out[PATH_MAX])
{
    uint8_t bytes[8];
    char hex[2 * sizeof bytes + 1];
    const char *slash = strrchr(name, '/');
    host_random(bytes, sizeof bytes);
    host_hex(bytes, sizeof bytes, hex);
    snprintf(out, PATH_MAX, "%.*s.new-%s", slash != NULL ? (int)(slash - name + 1) : 0, name, hex);
}

static bool write_temporary(int at, const char *name, const char *text, mode_t mode)
{
    int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        return false;
    bool ok = fchmod(fd, mode) == 0 && write_all(fd, text) && fsync(fd) == 0;
    int why = errno;
    close(fd);
    errno = why;
    return ok;
}

/* link(2) puts a file only where there is none, rename(2) anywhere. */
static bool put_in_place(int at, const char *temporary, const char *name, bool replace)
{
    if (replace)
        return renameat(at, temporary, at, name) == 0;
    if (linkat(at, temporary, at, name, 0) != 0)
        return false;
    unlinkat(at, temporary, 0);
    return true;
}

/* The name of the file must survive a crash too. A file system that cannot do it is no error. */
static void sync_folder(int at, const char *name)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(name, '/');
    snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - name) : 1,
             slash != NULL ? name : ".");
    int fd = openat(at, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

enum err pki_store_write(const struct pki_store *s, const char *name, const char *text, mode_t mode,
                         bool replace, struct errmsg *msg)
{
    char temporary[PATH_MAX];
    temporary_name(name, temporary);
    if (write_temporary(s->fd, temporary, text, mode) &&
        put_in_place(s->fd, temporary, name, replace)) {
        sync_folder(s->fd, name);
        return ERR_OK;
    }
    int why = errno;
    unlinkat(s->fd, temporary, 0);
    if (why == EEXIST)
        return errmsg_set(msg, ERR_REFUSED, "%s/%s: is there already and stays", s->dir, name);
    errno = why;
    return system_error(s, name, msg);
}
