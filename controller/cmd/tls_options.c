/* SPDX-License-Identifier: MIT */
#include "controller/cmd/tls_options.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "controller/pki/pki.h"
#include "controller/pki/pki_expiry.h"

#define FILES 4

/* Where each file is: as the flag says, or in the default folder. */
struct places {
    char dir[PATH_MAX]; /* "" = there is none */
    char path[FILES][PATH_MAX + 32];
};

static const struct {
    const char *flag, *file;
    bool needed;
} files[FILES] = {{"--tls-ca", "ca.crt", true},
                  {"--tls-cert", "controller.crt", true},
                  {"--tls-key", "controller.key", true},
                  {"--tls-crl", "crl.pem", false}};

static enum err find_places(const struct tls_options *o, struct places *p, struct errmsg *msg)
{
    const char *given[FILES] = {o->ca, o->cert, o->key, o->crl};
    if (pki_default_dir(p->dir, NULL) != ERR_OK)
        p->dir[0] = '\0';
    for (size_t i = 0; i < FILES; i++) {
        p->path[i][0] = '\0';
        if (given[i] != NULL)
            snprintf(p->path[i], sizeof p->path[i], "%s", given[i]);
        else if (p->dir[0] != '\0')
            snprintf(p->path[i], sizeof p->path[i], "%s/%s", p->dir, files[i].file);
        else if (files[i].needed)
            return errmsg_set(msg, ERR_INVALID,
                              "agents dialled by TLS need %s FILE: neither XDG_CONFIG_HOME nor "
                              "HOME names a folder to find it in",
                              files[i].flag);
    }
    return ERR_OK;
}

/* A list that is asked for and not there would revoke nobody. */
static enum err check_crl(const struct tls_options *o, struct errmsg *msg)
{
    if (o->crl == NULL || access(o->crl, F_OK) == 0)
        return ERR_OK;
    return errmsg_set(msg, ERR_NOT_FOUND, "--tls-crl %s: no such file", o->crl);
}

/* Who named no file has most likely never made any. */
static enum err explain(const struct tls_options *o, enum err e, struct errmsg *msg)
{
    struct errmsg why = *msg;
    if (e != ERR_NOT_FOUND || o->ca != NULL || o->cert != NULL || o->key != NULL)
        return e;
    return errmsg_set(msg, e,
                      "%.260s; agents dialled by TLS need certificates, made once with:\n"
                      "  hammer-ctl pki init\n"
                      "  hammer-ctl pki controller $(hostname)\n"
                      "  hammer-ctl pki agent NAME    (for each agent)",
                      why.text);
}

/* The CA's end first: it ends the other one too. */
static void warn_of_end(const struct places *p, tls_options_note_fn *note, void *arg)
{
    struct errmsg text;
    for (size_t i = 0; i < 2; i++)
        if (note != NULL && pki_expiry_warning(p->path[i], (int64_t)time(NULL), &text))
            note(arg, text.text);
}

enum err tls_options_open(const struct tls_options *o, bool needed, tls_options_note_fn *note,
                          void *arg, struct link_tls **out, struct errmsg *msg)
{
    struct places p;
    *out = NULL;
    if (!needed)
        return ERR_OK;
    enum err e = find_places(o, &p, msg);
    if (e == ERR_OK)
        e = check_crl(o, msg);
    if (e != ERR_OK)
        return e;
    struct link_tls_files f = {.ca = p.path[0], .cert = p.path[1], .key = p.path[2]};
    if (p.path[3][0] != '\0')
        f.crl = p.path[3];
    e = link_tls_new(LINK_TLS_CONTROLLER, &f, out, msg);
    if (e != ERR_OK)
        return explain(o, e, msg);
    warn_of_end(&p, note, arg);
    return ERR_OK;
}
