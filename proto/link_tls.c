/* SPDX-License-Identifier: MIT */
#include "proto/link_tls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/libcrypto.h"
#include "common/mem.h"
#include "proto/link_nng.h"
#include "proto/link_shield.h"
#include "proto/link_tls_check.h"
#include "proto/link_tls_why.h"

#define FILE_MAX (1u << 20)

struct link_tls {
    enum link_tls_role role;
    struct link_tls_files files; /* owned copies of the names */
    struct link_keys *keys;      /* of today's files, which are not kept */
    struct link_tls_ends ends;
    bool has_crl;
};

/* --- reading files ---------------------------------------------------------------------------- */

static void wipe(char **text)
{
    if (*text != NULL)
        OPENSSL_cleanse(*text, strlen(*text));
    mem_free(*text);
    *text = NULL;
}

static void wipe_all(struct link_tls_pems *p)
{
    wipe(&p->ca);
    wipe(&p->cert);
    wipe(&p->key);
    wipe(&p->crl);
}

/* systemd hands credentials to an unprivileged service by an ACL, which shows as group-readable. */
static bool is_credential(const char *path)
{
    const char *folder = getenv("CREDENTIALS_DIRECTORY");
    size_t len = folder != NULL ? strlen(folder) : 0;
    return len > 0 && strncmp(path, folder, len) == 0 && path[len] == '/';
}

/* Whoever can write the CA's certificate, or the list, says who may command the load. */
static enum err check_writers(const char *path, const struct stat *st, struct errmsg *msg)
{
    if ((st->st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return ERR_OK;
    return errmsg_set(msg, ERR_INVALID,
                      "%s: group or others may write it (mode %04o), and with it decide who is "
                      "trusted: chmod go-w %s",
                      path, (unsigned)(st->st_mode & 07777), path);
}

static enum err check_secret(const char *path, const struct stat *st, struct errmsg *msg)
{
    mode_t forbidden = is_credential(path) ? 0007 : 0077;
    if ((st->st_mode & forbidden) == 0)
        return ERR_OK;
    return errmsg_set(msg, ERR_INVALID,
                      "%s: a private key with mode %04o: others than its owner can use it; "
                      "accepted is 0600: chmod 600 %s",
                      path, (unsigned)(st->st_mode & 07777), path);
}

static enum err read_open(int fd, const char *path, bool secret, char **out, struct errmsg *msg)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return errmsg_set(msg, ERR_INVALID, "%s: not a regular file", path);
    if ((secret ? check_secret : check_writers)(path, &st, msg) != ERR_OK)
        return ERR_INVALID;
    if (st.st_size > FILE_MAX)
        return errmsg_set(msg, ERR_INVALID, "%s: larger than 1 MiB", path);
    size_t size = (size_t)st.st_size, have = 0;
    char *text = mem_calloc(size + 1, 1);
    ssize_t n = 1;
    while (n > 0 && have < size) {
        n = read(fd, text + have, size - have);
        have += n > 0 ? (size_t)n : 0;
    }
    if (n < 0) {
        mem_free(text);
        return errmsg_set(msg, ERR_SYSTEM, "%s: %s", path, strerror(errno));
    }
    *out = text;
    return ERR_OK;
}

static enum err read_file(const char *path, bool secret, char **out, struct errmsg *msg)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errmsg_set(msg, errno == ENOENT ? ERR_NOT_FOUND : ERR_SYSTEM, "%s: %s", path,
                          errno == ENOENT ? "no such file" : strerror(errno));
    enum err e = read_open(fd, path, secret, out, msg);
    close(fd);
    return e;
}

static enum err read_all(const struct link_tls_files *f, struct link_tls_pems *p,
                         struct errmsg *msg)
{
    enum err e = read_file(f->ca, false, &p->ca, msg);
    if (e == ERR_OK)
        e = read_file(f->cert, false, &p->cert, msg);
    if (e == ERR_OK)
        e = read_file(f->key, true, &p->key, msg);
    if (e != ERR_OK || f->crl == NULL)
        return e;
    struct errmsg why = {{0}};
    e = read_file(f->crl, false, &p->crl, &why);
    if (e == ERR_NOT_FOUND)
        return ERR_OK;
    return e == ERR_OK ? e : errmsg_set(msg, e, "%s", why.text);
}

/* --- ends of connections ---------------------------------------------------------------------- */

static enum err make_shield(const struct link_tls *t, const char *server_name,
                            struct link_shield **out, struct errmsg *msg)
{
    *out = link_shield_new(t->keys, server_name);
    return *out != NULL ? ERR_OK : errmsg_set(msg, ERR_NOMEM, "TLS: out of memory");
}

enum err link_tls_dial(const struct link_tls *t, const char *server_name, struct link_shield **out,
                       struct errmsg *msg)
{
    if (t->role != LINK_TLS_CONTROLLER)
        return errmsg_set(msg, ERR_INVALID, "%s: an agent's certificate cannot dial",
                          t->files.cert);
    if (server_name == NULL || server_name[0] == '\0') /* or any agent would do */
        return errmsg_set(msg, ERR_INVALID, "TLS needs the name that the agent's certificate has");
    return make_shield(t, server_name, out, msg);
}

enum err link_tls_listen(const struct link_tls *t, struct errmsg *msg)
{
    if (t->role != LINK_TLS_AGENT)
        return errmsg_set(msg, ERR_INVALID, "%s: a controller's certificate cannot listen",
                          t->files.cert);
    return ERR_OK;
}

enum err link_tls_accept(const struct link_tls *t, struct link_shield **out, struct errmsg *msg)
{
    return make_shield(t, NULL, out, msg);
}

/* --- life ------------------------------------------------------------------------------------- */

static enum err make_keys(const struct link_tls *t, const struct link_tls_pems *p,
                          struct link_keys **out, struct errmsg *msg)
{
    struct errmsg why = {{0}};
    struct link_keys *k = link_keys_new(t->role == LINK_TLS_AGENT);
    if (k == NULL)
        return errmsg_set(msg, ERR_NOMEM, "TLS: out of memory");
    enum err e = link_keys_trust(k, p->ca, p->crl, &why);
    if (e == ERR_OK)
        e = link_keys_own(k, p->cert, p->key, &why);
    if (e == ERR_OK) {
        *out = k;
        return ERR_OK;
    }
    link_keys_drop(k);
    return errmsg_set(msg, e, "%s, %s: OpenSSL does not take %s", t->files.ca, t->files.cert,
                      why.text);
}

/* What a reading of the files brings. */
struct loaded {
    struct link_keys *keys;
    struct link_tls_ends ends;
    bool has_crl;
};

static enum err load(const struct link_tls *t, struct loaded *l, struct errmsg *msg)
{
    struct link_tls_pems p = {0};
    enum err e = read_all(&t->files, &p, msg);
    if (e == ERR_OK)
        e = link_tls_check(t->role, &t->files, &p, &l->ends, msg);
    if (e == ERR_OK)
        e = make_keys(t, &p, &l->keys, msg);
    l->has_crl = p.crl != NULL;
    wipe_all(&p);
    return e;
}

static void use(struct link_tls *t, const struct loaded *l)
{
    link_keys_drop(t->keys);
    t->keys = l->keys;
    t->ends = l->ends;
    t->has_crl = l->has_crl;
}

enum err link_tls_new(enum link_tls_role role, const struct link_tls_files *files,
                      struct link_tls **out, struct errmsg *msg)
{
    struct loaded fresh = {0};
    struct link_tls *t = mem_calloc(1, sizeof *t);
    t->role = role;
    t->files = (struct link_tls_files){.ca = mem_strdup(files->ca),
                                       .cert = mem_strdup(files->cert),
                                       .key = mem_strdup(files->key),
                                       .crl = mem_strdup(files->crl)};
    enum err e = load(t, &fresh, msg);
    if (e != ERR_OK) {
        link_tls_free(t);
        return e;
    }
    use(t, &fresh);
    *out = t;
    return ERR_OK;
}

enum err link_tls_reload(struct link_tls *t, struct errmsg *msg)
{
    struct loaded fresh = {0};
    enum err e = load(t, &fresh, msg);
    if (e != ERR_OK)
        return e;
    if (t->has_crl && !fresh.has_crl) { /* or a lost file would pardon everybody */
        link_keys_drop(fresh.keys);
        return errmsg_set(
            msg, ERR_NOT_FOUND,
            "%s: the list of revoked certificates is gone; only a restart goes without",
            t->files.crl);
    }
    use(t, &fresh);
    return ERR_OK;
}

void link_tls_free(struct link_tls *t)
{
    if (t == NULL)
        return;
    link_keys_drop(t->keys);
    const char *names[] = {t->files.ca, t->files.cert, t->files.key, t->files.crl};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        mem_free((char *)(uintptr_t)names[i]);
    mem_free(t);
}

/* --- refusals --------------------------------------------------------------------------------- */

static bool ran_out(const char *file, const char *what, time_t end, struct errmsg *out)
{
    struct tm tm;
    char text[32];
    if (end == 0 || end > (time_t)(clock_wall_ns() / NS_PER_SEC))
        return false;
    strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", gmtime_r(&end, &tm));
    errmsg_set(out, ERR_OK, "TLS: our own %s %s expired on %s", what, file, text);
    return true;
}

void link_tls_causes(const struct link_tls *t, const struct link_story *story,
                     const char *server_name, struct errmsg *out)
{
    static const struct link_story unknown;
    if (ran_out(t->files.cert, "certificate", t->ends.cert, out) ||
        ran_out(t->files.crl, "revocation list", t->ends.crl, out))
        return;
    link_tls_why(t->role, server_name, story != NULL ? story : &unknown, out);
}
