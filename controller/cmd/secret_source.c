/* SPDX-License-Identifier: MIT */
#include "controller/cmd/secret_source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/units.h"

#define WAIT_NS     (10 * NS_PER_SEC)
#define ACCEPTED    "accepted is FILE, env:NAME or - for stdin"
#define OTHERS_MODE (S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH)

void secret_text_clear(struct secret_text *t)
{
    if (t->text != NULL)
        explicit_bzero(t->text, t->len);
    mem_free(t->text);
    *t = (struct secret_text){0};
}

void secret_source_forget(const char *variable)
{
    char *value = getenv(variable);
    if (value == NULL)
        return;
    explicit_bzero(value, strlen(value));
    unsetenv(variable);
}

static enum err read_variable(const char *flag, const char *name, struct secret_text *out,
                              struct errmsg *msg)
{
    const char *value = *name != '\0' ? getenv(name) : NULL;
    if (value == NULL || *value == '\0')
        return errmsg_set(msg, ERR_INVALID,
                          "%s env:...: no such variable, or an empty one (its name is not "
                          "repeated, it could be the secret); " ACCEPTED,
                          flag);
    if (strlen(value) > SECRET_TEXT_MAX)
        return errmsg_set(msg, ERR_INVALID, "%s env:%s: longer than 256 KiB", flag, name);
    *out = (struct secret_text){.text = mem_strdup(value), .len = strlen(value)};
    secret_source_forget(name);
    return ERR_OK;
}

/* What is being read, and its name for messages. */
struct input {
    const char *flag;
    char shown[UNITS_SHOWN];
    int fd;
    bool credential; /* from $CREDENTIALS_DIRECTORY: systemd keeps others out */
    struct errmsg *msg;
};

static enum err refuse(const struct input *in, const char *why)
{
    return errmsg_set(in->msg, ERR_INVALID, "%s %s: %s; " ACCEPTED, in->flag, in->shown, why);
}

static int open_file(const char *path)
{
    /* O_NONBLOCK: a FIFO without a writer must not hang the command. */
    return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

static int open_credential(const char *name)
{
    char path[PATH_MAX];
    const char *folder = getenv("CREDENTIALS_DIRECTORY");
    if (folder == NULL || *folder == '\0' || strchr(name, '/') != NULL || strcmp(name, "..") == 0)
        return -1;
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && (size_t)n < sizeof path ? open_file(path) : -1;
}

/* Nobody knows whether the name of a file that is not there is a name. */
static enum err open_input(struct input *in, const char *source)
{
    units_format_shown(source, in->shown);
    in->fd = open_credential(source);
    in->credential = in->fd >= 0;
    if (in->fd < 0)
        in->fd = open_file(source);
    if (in->fd >= 0)
        return ERR_OK;
    if (errno == EACCES)
        return refuse(in, "cannot be opened: Permission denied");
    return errmsg_set(in->msg, ERR_INVALID,
                      "%s: what it names cannot be opened: %s (it is not repeated, it could be the "
                      "secret); " ACCEPTED,
                      in->flag, strerror(errno));
}

bool secret_mode_is_open(mode_t mode)
{
    return (mode & OTHERS_MODE) != 0;
}

static enum err check_mode(const struct input *in)
{
    struct stat st;
    char why[160];
    if (fstat(in->fd, &st) != 0)
        return refuse(in, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return refuse(in, "is a folder");
    if (!S_ISREG(st.st_mode) || in->credential || !secret_mode_is_open(st.st_mode))
        return ERR_OK;
    snprintf(why, sizeof why,
             "other users may read or change it (mode %04o): chmod 600 makes it yours alone",
             (unsigned)(st.st_mode & 07777));
    return refuse(in, why);
}

static bool wait_readable(int fd, uint64_t until_ns)
{
    for (;;) {
        uint64_t now_ns = clock_mono_ns();
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (now_ns >= until_ns)
            return false;
        int n = poll(&p, 1, (int)((until_ns - now_ns) / NS_PER_MS) + 1);
        if (n > 0 || (n < 0 && errno != EINTR))
            return true; /* an error is the read's to find */
    }
}

static enum err read_all(const struct input *in, struct secret_text *out)
{
    uint64_t until_ns = clock_mono_ns() + WAIT_NS;
    char *buf = out->text = mem_calloc(SECRET_TEXT_MAX + 2, 1);
    while (out->len <= SECRET_TEXT_MAX) {
        if (!wait_readable(in->fd, until_ns))
            return refuse(in, "no end of it within 10 s");
        ssize_t n = read(in->fd, buf + out->len, SECRET_TEXT_MAX + 1 - out->len);
        if (n == 0)
            return ERR_OK;
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return refuse(in, strerror(errno));
        out->len += n > 0 ? (size_t)n : 0;
    }
    return refuse(in, "longer than 256 KiB");
}

static enum err read_file(struct input *in, const char *source, struct secret_text *out)
{
    enum err e = open_input(in, source);
    if (e != ERR_OK)
        return e;
    e = check_mode(in);
    if (e == ERR_OK)
        e = read_all(in, out);
    close(in->fd);
    return e;
}

static enum err read_stdin(struct input *in, struct secret_text *out)
{
    strcpy(in->shown, "-");
    in->fd = STDIN_FILENO;
    if (isatty(in->fd))
        return refuse(in, "stdin is a terminal, which would show what is typed");
    return read_all(in, out);
}

enum err secret_source_read(const char *flag, const char *source, struct secret_text *out,
                            struct errmsg *msg)
{
    struct input in = {.flag = flag, .msg = msg};
    *out = (struct secret_text){0};
    if (strncmp(source, "env:", 4) == 0)
        return read_variable(flag, source + 4, out, msg);
    enum err e = strcmp(source, "-") == 0 ? read_stdin(&in, out) : read_file(&in, source, out);
    if (e == ERR_OK && out->len == 0)
        e = refuse(&in, "is empty");
    if (e != ERR_OK)
        secret_text_clear(out);
    return e;
}
