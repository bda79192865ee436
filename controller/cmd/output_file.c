/* SPDX-License-Identifier: MIT */
#include "controller/cmd/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/host.h"
#include "common/mem.h"

struct output_file {
    FILE *stream;
    char *place; /* where it is to be, links resolved */
    char *made;  /* where it is until then; NULL = it is written in its place */
};

/* The folder of a path, its slash included. */
static int folder_len(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (int)(slash - path + 1);
}

enum err output_file_check(const char *path, struct errmsg *msg)
{
    char folder[PATH_MAX] = ".";
    const char *asked = path;
    int mode = W_OK, len = folder_len(path);
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return errmsg_set(msg, ERR_INVALID, "%s: %s", path, strerror(EISDIR));
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        if (len > 0)
            snprintf(folder, sizeof folder, "%.*s", len, path);
        asked = folder;
        mode = W_OK | X_OK;
    }
    if (access(asked, mode) == 0)
        return ERR_OK;
    return errmsg_set(msg, ERR_INVALID, "%s: %s", path, strerror(errno));
}

enum err output_file_check_beside(const char *path, struct errmsg *msg)
{
    char folder[PATH_MAX] = ".";
    int len = folder_len(path);
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return errmsg_set(msg, ERR_INVALID, "%s: no regular file", path);
    if (len > 0)
        snprintf(folder, sizeof folder, "%.*s", len, path);
    if (access(folder, W_OK | X_OK) != 0)
        return errmsg_set(msg, ERR_INVALID, "%s: its folder: %s", path, strerror(errno));
    return ERR_OK;
}

/* Beside it, under a name that nobody has. */
static FILE *open_beside(struct output_file *f, const struct stat *there)
{
    uint64_t random;
    char name[PATH_MAX];
    host_random(&random, sizeof random);
    int len = snprintf(name, sizeof name, "%.*s.hammer-%016" PRIx64, folder_len(f->place), f->place,
                       random);
    int fd =
        len < (int)sizeof name ? open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
    if (fd < 0)
        return NULL;
    f->made = mem_strdup(name);
    if (there != NULL)
        fchmod(fd, there->st_mode & 07777); /* where that fails, the user's umask holds */
    return fdopen(fd, "w");
}

/* /dev/stdout, wherever that leads: what was written there already stays. */
static FILE *open_standard(const struct stat *there)
{
    struct stat st;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fstat(fd, &st) != 0 || st.st_dev != there->st_dev || st.st_ino != there->st_ino)
            continue;
        int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        return copy >= 0 ? fdopen(copy, "w") : NULL;
    }
    return NULL;
}

static FILE *open_stream(struct output_file *f)
{
    struct stat st;
    bool there = stat(f->place, &st) == 0;
    FILE *stream = there ? open_standard(&st) : NULL;
    if (stream != NULL)
        return stream;
    if (!there || S_ISREG(st.st_mode))
        stream = open_beside(f, there ? &st : NULL);
    return stream != NULL ? stream : fopen(f->place, "we");
}

static void dispose(struct output_file *f)
{
    mem_free(f->place);
    mem_free(f->made);
    mem_free(f);
}

enum err output_file_open(const char *path, struct output_file **out, struct errmsg *msg)
{
    char *resolved = realpath(path, NULL);
    struct output_file *f = mem_calloc(1, sizeof *f);
    f->place = mem_strdup(resolved != NULL ? resolved : path);
    free(resolved);
    f->stream = open_stream(f);
    *out = f;
    if (f->stream != NULL)
        return ERR_OK;
    enum err e = errmsg_set(msg, ERR_SYSTEM, "%s", strerror(errno));
    dispose(f);
    *out = NULL;
    return e;
}

FILE *output_file_stream(const struct output_file *f)
{
    return f->stream;
}

/* false, with the reason, when a step has failed. */
static bool worked(bool failed, int *why)
{
    if (failed && why != NULL)
        *why = errno;
    return !failed;
}

enum err output_file_close(struct output_file *f, bool whole, struct errmsg *msg)
{
    enum err e = ERR_OK;
    int why = errno; /* of whoever found that it is not whole */
    whole = whole && worked(fflush(f->stream) != 0 || ferror(f->stream) != 0, &why);
    if (f->made != NULL)
        whole = whole && worked(fsync(fileno(f->stream)) != 0, &why);
    whole = worked(fclose(f->stream) != 0, whole ? &why : NULL) && whole;
    if (f->made != NULL)
        whole = whole && worked(rename(f->made, f->place) != 0, &why);
    if (!whole)
        e = errmsg_set(msg, ERR_SYSTEM, "%s", strerror(why));
    if (f->made != NULL && !whole)
        unlink(f->made);
    dispose(f);
    return e;
}
