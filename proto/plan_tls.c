/* SPDX-License-Identifier: MIT */
#include "proto/plan_tls.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "common/libcrypto.h"
#include "common/mem.h"
#include "proto/plan_file.h"

enum err plan_tls_load(struct plan *p, struct errmsg *msg)
{
    const struct {
        const char *name, *path;
        size_t max, *len;
        uint8_t **bytes;
    } files[] = {
        {"cacert", p->cacert_file, PLAN_CACERT_MAX, &p->cacert_len, &p->cacert},
        {"cert", p->cert_file, PLAN_CERT_MAX, &p->cert_len, &p->cert},
    };
    enum err e = ERR_OK;
    for (size_t i = 0; i < sizeof files / sizeof files[0] && e == ERR_OK; i++) {
        if (files[i].path == NULL)
            continue;
        mem_free(*files[i].bytes);
        *files[i].bytes = NULL;
        e = plan_file_read(files[i].name, files[i].path, files[i].max, files[i].bytes, files[i].len,
                           msg);
    }
    return e;
}

int plan_tls_no_passphrase(char *buf, int size, int rwflag, void *arg)
{
    (void)buf, (void)size, (void)rwflag, (void)arg;
    return -1;
}

static enum err refuse(const char *flag, const char *why, struct errmsg *msg)
{
    ERR_clear_error();
    return errmsg_set(msg, ERR_INVALID, "--%s: %s", flag, why);
}

/* --- the texts ----------------------------------------------------------------------------- */

/* The first certificate, all are counted; *broken: what follows is none, though it says so. */
static X509 *read_certs(const uint8_t *text, size_t len, size_t *n, bool *broken)
{
    BIO *in = BIO_new_mem_buf(text, (int)len);
    X509 *first = NULL, *x;
    *n = 0;
    while (in != NULL && (x = PEM_read_bio_X509(in, NULL, plan_tls_no_passphrase, NULL)) != NULL) {
        if (++*n == 1)
            first = x;
        else
            X509_free(x);
    }
    *broken = ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE;
    ERR_clear_error();
    BIO_free(in);
    return first;
}

static enum err check_certs(const char *flag, const uint8_t *text, size_t len, X509 **first,
                            struct errmsg *msg)
{
    size_t n;
    bool broken;
    *first = read_certs(text, len, &n, &broken);
    if (n > 0 && !broken)
        return ERR_OK;
    X509_free(*first);
    *first = NULL;
    return refuse(flag,
                  broken ? "a certificate in it cannot be read; accepted are certificates in PEM "
                           "form"
                         : "no certificate in it; accepted are certificates in PEM form "
                           "(-----BEGIN CERTIFICATE-----)",
                  msg);
}

static enum err check_key(const struct plan *p, X509 *cert, struct errmsg *msg)
{
    BIO *in = BIO_new_mem_buf(p->key, (int)p->key_len);
    EVP_PKEY *key =
        in == NULL ? NULL : PEM_read_bio_PrivateKey(in, NULL, plan_tls_no_passphrase, NULL);
    BIO_free(in);
    if (key == NULL)
        return refuse("key",
                      "no private key in it that can be read; accepted is one in PEM form without "
                      "a passphrase",
                      msg);
    int ok = X509_check_private_key(cert, key);
    EVP_PKEY_free(key);
    return ok == 1 ? ERR_OK
                   : refuse("key",
                            "does not belong to the certificate of --cert (the first one in "
                            "it)",
                            msg);
}

static enum err check_client(const struct plan *p, struct errmsg *msg)
{
    X509 *cert;
    if (p->cert == NULL && p->key == NULL)
        return ERR_OK;
    if (p->cert == NULL)
        return refuse("key", "without --cert; accepted are both or neither", msg);
    if (p->key == NULL)
        return refuse("cert", "without --key; accepted are both or neither", msg);
    enum err e = check_certs("cert", p->cert, p->cert_len, &cert, msg);
    if (e == ERR_OK)
        e = check_key(p, cert, msg);
    X509_free(cert);
    ERR_clear_error();
    return e;
}

static enum err check_cas(const struct plan *p, struct errmsg *msg)
{
    X509 *first = NULL;
    if (p->cacert == NULL)
        return ERR_OK;
    enum err e = check_certs("cacert", p->cacert, p->cacert_len, &first, msg);
    X509_free(first);
    return e;
}

/* --- the rest ------------------------------------------------------------------------------ */

static enum err refuse_row(const char *name, const char *value, struct errmsg *msg)
{
    size_t n;
    const struct option_row *rows = plan_options(&n);
    return option_refuse(option_find(rows, n, name), value, ERR_INVALID, msg);
}

static enum err check_sni(const struct plan *p, struct errmsg *msg)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "-._";
    struct in_addr v4;
    const char *name = p->sni;
    if (name == NULL)
        return ERR_OK;
    size_t len = strlen(name);
    if (len == 0 || len > PLAN_SNI_MAX || name[0] == '.' || name[strspn(name, allowed)] != '\0' ||
        inet_pton(AF_INET, name, &v4) == 1)
        return refuse_row("sni", name, msg);
    return ERR_OK;
}

static enum err check_version(const struct plan *p, struct errmsg *msg)
{
    if (p->tls_min == 0 || p->tls_min == PLAN_TLS_1_2 || p->tls_min == PLAN_TLS_1_3)
        return ERR_OK;
    return refuse_row("tls-min", "of another version of hammer", msg);
}

/* -k and --tls-resume may stand in a file of defaults; these belong to one target. */
static enum err check_needed(const struct plan *p, struct errmsg *msg)
{
    const struct {
        const char *flag;
        bool given;
    } flags[] = {
        {"cacert", p->cacert != NULL}, {"cert", p->cert != NULL},    {"key", p->key != NULL},
        {"sni", p->sni != NULL},       {"tls-min", p->tls_min != 0},
    };
    for (size_t i = 0; i < plan_request_count(p); i++) {
        struct plan_request q;
        plan_request_at(p, i, &q);
        if (strncasecmp(q.url, "https://", 8) == 0)
            return ERR_OK;
    }
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (flags[i].given)
            return refuse(flags[i].flag, "the target is http://; accepted with https:// only", msg);
    return ERR_OK;
}

enum err plan_tls_check(const struct plan *p, struct errmsg *msg)
{
    static enum err (*const checks[])(const struct plan *, struct errmsg *) = {
        check_version, check_sni, check_needed, check_cas, check_client,
    };
    enum err e = ERR_OK;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0] && e == ERR_OK; i++)
        e = checks[i](p, msg);
    return e;
}
