/* SPDX-License-Identifier: MIT */
#include "proto/link_tls_check.h"

#include <string.h>

#include "common/clock.h"
#include "common/libcrypto.h"

/* What was parsed, and what messages need. */
struct check {
    const struct link_tls_files *files;
    enum link_tls_role role;
    time_t now;
    STACK_OF(X509) * ca, *chain; /* chain: own certificate first */
    STACK_OF(X509_CRL) * crls;
    EVP_PKEY *key;
    struct errmsg *msg;
};

static const struct {
    uint32_t usage;
    const char *name, *who;
} roles[] = {
    [LINK_TLS_AGENT] = {XKU_SSL_SERVER, "serverAuth", "an agent"},
    [LINK_TLS_CONTROLLER] = {XKU_SSL_CLIENT, "clientAuth", "a controller"},
};

#define DATE_MAX 32
static const char *date(const ASN1_TIME *t, char buf[DATE_MAX])
{
    struct tm tm = {0};
    if (ASN1_TIME_to_tm(t, &tm) != 1 || strftime(buf, DATE_MAX, "%Y-%m-%d %H:%M UTC", &tm) == 0)
        snprintf(buf, DATE_MAX, "an unreadable date");
    return buf;
}

static time_t seconds(const ASN1_TIME *t)
{
    struct tm tm = {0};
    return t != NULL && ASN1_TIME_to_tm(t, &tm) == 1 ? timegm(&tm) : 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

static STACK_OF(X509) * read_certs(const char *pem)
{
    STACK_OF(X509) *all = sk_X509_new_null();
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *x;
    while ((x = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL)
        sk_X509_push(all, x);
    BIO_free(bio);
    return all;
}

static STACK_OF(X509_CRL) * read_crls(const char *pem)
{
    STACK_OF(X509_CRL) *all = sk_X509_CRL_new_null();
    BIO *bio = BIO_new_mem_buf(pem != NULL ? pem : "", -1);
    X509_CRL *c;
    while ((c = PEM_read_bio_X509_CRL(bio, NULL, NULL, NULL)) != NULL)
        sk_X509_CRL_push(all, c);
    BIO_free(bio);
    return all;
}

/* Instead of asking for it on the terminal. */
static int no_passphrase(char *buf, int size, int rwflag, void *arg)
{
    (void)buf, (void)size, (void)rwflag;
    *(bool *)arg = true;
    return -1;
}

static enum err read_key(struct check *c, const char *pem)
{
    bool encrypted = false;
    BIO *bio = BIO_new_mem_buf(pem, -1);
    c->key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, &encrypted);
    BIO_free(bio);
    if (encrypted)
        return errmsg_set(c->msg, ERR_INVALID,
                          "%s: the key is encrypted; accepted is one without a passphrase",
                          c->files->key);
    if (c->key == NULL)
        return errmsg_set(c->msg, ERR_INVALID, "%s: no private key in PEM format in it",
                          c->files->key);
    int type = EVP_PKEY_get_base_id(c->key);
    if (type != EVP_PKEY_EC && type != EVP_PKEY_RSA)
        return errmsg_set(c->msg, ERR_INVALID,
                          "%s: a key of type %s; accepted are EC (P-256, P-384) and RSA",
                          c->files->key, OBJ_nid2sn(type));
    return ERR_OK;
}

static enum err read_all(struct check *c, const struct link_tls_pems *pems)
{
    c->ca = read_certs(pems->ca);
    c->chain = read_certs(pems->cert);
    c->crls = read_crls(pems->crl);
    if (sk_X509_num(c->ca) == 0)
        return errmsg_set(c->msg, ERR_INVALID, "%s: no certificate in PEM format in it",
                          c->files->ca);
    if (sk_X509_num(c->chain) == 0)
        return errmsg_set(c->msg, ERR_INVALID, "%s: no certificate in PEM format in it",
                          c->files->cert);
    if (pems->crl != NULL && sk_X509_CRL_num(c->crls) == 0)
        return errmsg_set(c->msg, ERR_INVALID, "%s: no revocation list in PEM format in it",
                          c->files->crl);
    return read_key(c, pems->key);
}

/* --- judging ---------------------------------------------------------------------------------- */

static enum err check_dates(const struct check *c, const char *file, const ASN1_TIME *from,
                            const ASN1_TIME *to, const char *remedy)
{
    char text[DATE_MAX];
    time_t now = c->now;
    if (from != NULL && X509_cmp_time(from, &now) > 0)
        return errmsg_set(c->msg, ERR_INVALID,
                          "%s: not valid before %s; is this machine's clock right?", file,
                          date(from, text));
    if (to != NULL && X509_cmp_time(to, &now) < 0)
        return errmsg_set(c->msg, ERR_INVALID, "%s: expired on %s; %s", file, date(to, text),
                          remedy);
    return ERR_OK;
}

static enum err check_ca(const struct check *c)
{
    enum err e = ERR_OK;
    for (int i = 0; i < sk_X509_num(c->ca) && e == ERR_OK; i++) {
        X509 *x = sk_X509_value(c->ca, i);
        e = check_dates(c, c->files->ca, X509_get0_notBefore(x), X509_get0_notAfter(x),
                        "make a new CA and new certificates");
    }
    return e;
}

static enum err check_role(const struct check *c, X509 *own)
{
    uint32_t usage = X509_get_extended_key_usage(own);
    const char *is = "for neither role";
    if (usage != UINT32_MAX && (usage & roles[c->role].usage) != 0)
        return ERR_OK;
    if (usage == UINT32_MAX)
        is = "without an extended key usage";
    else if ((usage & (XKU_SSL_SERVER | XKU_SSL_CLIENT)) != 0)
        is = c->role == LINK_TLS_AGENT ? "a controller's (clientAuth)" : "an agent's (serverAuth)";
    return errmsg_set(c->msg, ERR_INVALID,
                      "%s: the certificate is %s; %s needs one with the extended key usage %s",
                      c->files->cert, is, roles[c->role].who, roles[c->role].name);
}

static enum err check_signed(const struct check *c, X509 *own)
{
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    for (int i = 0; i < sk_X509_num(c->ca); i++)
        X509_STORE_add_cert(store, sk_X509_value(c->ca, i));
    X509_STORE_CTX_init(ctx, store, own, c->chain);
    X509_STORE_CTX_set_flags(ctx, X509_V_FLAG_PARTIAL_CHAIN);
    int good = X509_verify_cert(ctx);
    const char *why = X509_verify_cert_error_string(X509_STORE_CTX_get_error(ctx));
    X509_STORE_CTX_free(ctx);
    X509_STORE_free(store);
    if (good == 1)
        return ERR_OK;
    return errmsg_set(c->msg, ERR_INVALID, "%s: not signed by the CA in %s (%s)", c->files->cert,
                      c->files->ca, why);
}

static enum err check_own(const struct check *c)
{
    X509 *own = sk_X509_value(c->chain, 0);
    enum err e = ERR_OK;
    if (X509_check_private_key(own, c->key) != 1)
        e = errmsg_set(c->msg, ERR_INVALID, "%s: not the key of the certificate in %s",
                       c->files->key, c->files->cert);
    if (e == ERR_OK)
        e = check_dates(c, c->files->cert, X509_get0_notBefore(own), X509_get0_notAfter(own),
                        "make a new one with hammer-ctl pki");
    if (e == ERR_OK)
        e = check_role(c, own);
    return e == ERR_OK ? check_signed(c, own) : e;
}

/* The engine refuses every peer by a list that it cannot verify or that is out of date. */
static enum err check_crl(const struct check *c, X509_CRL *crl)
{
    X509_REVOKED *entry;
    X509 *issuer = NULL;
    for (int i = 0; i < sk_X509_num(c->ca) && issuer == NULL; i++) {
        X509 *x = sk_X509_value(c->ca, i);
        if (X509_CRL_verify(crl, X509_get0_pubkey(x)) == 1)
            issuer = x;
    }
    if (issuer == NULL)
        return errmsg_set(c->msg, ERR_INVALID, "%s: not signed by the CA in %s", c->files->crl,
                          c->files->ca);
    X509 *own = sk_X509_value(c->chain, 0);
    if (X509_CRL_get0_by_cert(crl, &entry, own) == 1)
        return errmsg_set(c->msg, ERR_INVALID, "%s: the certificate is revoked by %s",
                          c->files->cert, c->files->crl);
    return check_dates(c, c->files->crl, X509_CRL_get0_lastUpdate(crl),
                       X509_CRL_get0_nextUpdate(crl), "make a new one with hammer-ctl pki revoke");
}

static void note_ends(const struct check *c, struct link_tls_ends *ends)
{
    *ends = (struct link_tls_ends){.cert = seconds(X509_get0_notAfter(sk_X509_value(c->chain, 0)))};
    for (int i = 0; i < sk_X509_CRL_num(c->crls); i++) {
        time_t end = seconds(X509_CRL_get0_nextUpdate(sk_X509_CRL_value(c->crls, i)));
        if (end != 0 && (ends->crl == 0 || end < ends->crl))
            ends->crl = end;
    }
}

enum err link_tls_check(enum link_tls_role role, const struct link_tls_files *files,
                        const struct link_tls_pems *pems, struct link_tls_ends *ends,
                        struct errmsg *msg)
{
    struct check c = {
        .files = files, .role = role, .now = (time_t)(clock_wall_ns() / NS_PER_SEC), .msg = msg};
    enum err e = read_all(&c, pems);
    if (e == ERR_OK)
        e = check_ca(&c);
    if (e == ERR_OK)
        e = check_own(&c);
    for (int i = 0; i < sk_X509_CRL_num(c.crls) && e == ERR_OK; i++)
        e = check_crl(&c, sk_X509_CRL_value(c.crls, i));
    if (e == ERR_OK)
        note_ends(&c, ends);
    EVP_PKEY_free(c.key);
    sk_X509_CRL_pop_free(c.crls, X509_CRL_free);
    sk_X509_pop_free(c.chain, X509_free);
    sk_X509_pop_free(c.ca, X509_free);
    ERR_clear_error();
    return e;
}
