/* SPDX-License-Identifier: MIT */
#include "controller/pki/pki_cert.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/libcrypto.h"
#include "common/mem.h"

#define SERIAL_BITS 128
#define DNS_TEXT    (PKI_DNS_COUNT * (PKI_DNS_MAX + 5) + 1) /* "DNS:name," each */

struct pki_ca {
    X509 *cert;
    EVP_PKEY *key;
};

struct extension {
    int nid;
    const char *value;
};

static const char *const role_names[] = {[PKI_AGENT] = "agent", [PKI_CONTROLLER] = "controller"};

const char *pki_role_name(enum pki_role role)
{
    return role_names[role];
}

void pki_pair_clear(struct pki_pair *p)
{
    if (p->key != NULL)
        OPENSSL_cleanse(p->key, strlen(p->key));
    mem_free(p->key);
    mem_free(p->cert);
    *p = (struct pki_pair){0};
}

/* What libcrypto says of its last failure; its queue is empty afterwards. */
static enum err failed(const char *what, enum err e, struct errmsg *msg)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    errmsg_set(msg, e, "%s: %s", what, reason != NULL ? reason : "failed in libcrypto");
    ERR_clear_error();
    return e;
}

/* --- PEM ------------------------------------------------------------------------------------ */

/* The text in a BIO, as a string of ours; NULL when it is empty. */
static char *bio_text(BIO *b)
{
    char *data = NULL;
    long len = BIO_get_mem_data(b, &data);
    return len > 0 ? mem_dup(data, (size_t)len) : NULL;
}

static char *cert_pem(X509 *cert)
{
    BIO *b = BIO_new(BIO_s_mem());
    char *text = b != NULL && PEM_write_bio_X509(b, cert) == 1 ? bio_text(b) : NULL;
    BIO_free(b);
    return text;
}

static char *crl_pem(X509_CRL *crl)
{
    BIO *b = BIO_new(BIO_s_mem());
    char *text = b != NULL && PEM_write_bio_X509_CRL(b, crl) == 1 ? bio_text(b) : NULL;
    BIO_free(b);
    return text;
}

/* The BIO of a key wipes its memory when it is freed. */
static char *key_pem(EVP_PKEY *key)
{
    BIO *b = BIO_new(BIO_s_secmem());
    int ok = b != NULL && PEM_write_bio_PrivateKey(b, key, NULL, NULL, 0, NULL, NULL) == 1;
    char *text = ok ? bio_text(b) : NULL;
    BIO_free(b);
    return text;
}

/* Nobody is asked for a passphrase. */
static int no_passphrase(char *buf, int size, int writing, void *arg)
{
    (void)buf, (void)size, (void)writing, (void)arg;
    return -1;
}

static X509 *read_cert(const char *pem)
{
    BIO *b = BIO_new_mem_buf(pem, -1);
    X509 *cert = b != NULL ? PEM_read_bio_X509(b, NULL, no_passphrase, NULL) : NULL;
    BIO_free(b);
    return cert;
}

static EVP_PKEY *read_key(const char *pem)
{
    BIO *b = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = b != NULL ? PEM_read_bio_PrivateKey(b, NULL, no_passphrase, NULL) : NULL;
    BIO_free(b);
    return key;
}

/* --- certificates --------------------------------------------------------------------------- */

/* Bytes of a serial from and to hex: openssl shows the same digits. */
static bool serial_set(ASN1_INTEGER *to, const char *hex)
{
    BIGNUM *n = NULL;
    bool ok = BN_hex2bn(&n, hex) > 0 && BN_to_ASN1_INTEGER(n, to) != NULL;
    BN_free(n);
    return ok;
}

static bool serial_text(const ASN1_INTEGER *from, char out[PKI_SERIAL_TEXT])
{
    BIGNUM *n = ASN1_INTEGER_to_BN(from, NULL);
    uint8_t bytes[SERIAL_BITS / 8];
    bool ok = n != NULL && BN_bn2binpad(n, bytes, sizeof bytes) == (int)sizeof bytes;
    for (size_t i = 0; ok && i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    BN_free(n);
    return ok;
}

/* The highest bit is one, so that a serial has the same number of digits everywhere. */
static bool serial_random(X509 *cert)
{
    BIGNUM *n = BN_new();
    bool ok = n != NULL && BN_rand(n, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
              BN_to_ASN1_INTEGER(n, X509_get_serialNumber(cert)) != NULL;
    BN_free(n);
    return ok;
}

static bool add_extensions(X509 *cert, X509 *issuer, const struct extension *list, size_t n)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    for (size_t i = 0; i < n; i++) {
        X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, list[i].nid, list[i].value);
        int ok = e != NULL && X509_add_ext(cert, e, -1) == 1;
        X509_EXTENSION_free(e);
        if (!ok)
            return false;
    }
    return true;
}

static bool add_name(X509_NAME *name, const char *field, const char *text)
{
    return X509_NAME_add_entry_by_txt(name, field, MBSTRING_ASC, (const unsigned char *)text, -1,
                                      -1, 0) == 1;
}

/* All but extensions and signature. */
static X509 *blank(EVP_PKEY *key, int64_t not_before_s, int64_t not_after_s)
{
    X509 *cert = X509_new();
    if (cert == NULL)
        return NULL;
    if (X509_set_version(cert, X509_VERSION_3) == 1 && serial_random(cert) &&
        ASN1_TIME_set(X509_getm_notBefore(cert), (time_t)not_before_s) != NULL &&
        ASN1_TIME_set(X509_getm_notAfter(cert), (time_t)not_after_s) != NULL &&
        X509_set_pubkey(cert, key) == 1 && add_name(X509_get_subject_name(cert), "O", "hammer"))
        return cert;
    X509_free(cert);
    return NULL;
}

static bool texts(X509 *cert, EVP_PKEY *key, struct pki_pair *out)
{
    *out = (struct pki_pair){.cert = cert_pem(cert), .key = key_pem(key)};
    if (out->cert != NULL && out->key != NULL)
        return true;
    pki_pair_clear(out);
    return false;
}

/* The serial's first digits tell two CAs of one user apart. */
static bool name_ca(X509 *cert)
{
    char serial[PKI_SERIAL_TEXT], name[32];
    if (!serial_text(X509_get0_serialNumber(cert), serial))
        return false;
    snprintf(name, sizeof name, "hammer CA %.8s", serial);
    return add_name(X509_get_subject_name(cert), "CN", name) &&
           X509_set_issuer_name(cert, X509_get_subject_name(cert)) == 1;
}

enum err pki_ca_make(int64_t not_before_s, int64_t not_after_s, struct pki_pair *out,
                     struct errmsg *msg)
{
    static const struct extension list[] = {
        {NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
        {NID_key_usage, "critical,keyCertSign,cRLSign"},
        {NID_subject_key_identifier, "hash"},
    };
    *out = (struct pki_pair){0};
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = key != NULL ? blank(key, not_before_s, not_after_s) : NULL;
    bool ok = cert != NULL && name_ca(cert) &&
              add_extensions(cert, cert, list, sizeof list / sizeof list[0]) &&
              X509_sign(cert, key, EVP_sha256()) > 0 && texts(cert, key, out);
    X509_free(cert);
    EVP_PKEY_free(key);
    return ok ? ERR_OK : failed("making a CA", ERR_SYSTEM, msg);
}

enum err pki_ca_open(const char *cert_text, const char *key_text, struct pki_ca **out,
                     struct errmsg *msg)
{
    struct pki_ca *ca = mem_calloc(1, sizeof *ca);
    enum err e;
    *out = NULL;
    ca->cert = read_cert(cert_text);
    ca->key = ca->cert != NULL ? read_key(key_text) : NULL;
    if (ca->cert == NULL)
        e = failed("certificate", ERR_CORRUPT, msg);
    else if (X509_check_ca(ca->cert) != 1)
        e = errmsg_set(msg, ERR_INVALID, "certificate: it is not a CA's");
    else if (ca->key == NULL)
        e = failed("key", ERR_CORRUPT, msg);
    else if (X509_check_private_key(ca->cert, ca->key) != 1)
        e = failed("key: it does not belong to the certificate", ERR_INVALID, msg);
    else {
        *out = ca;
        return ERR_OK;
    }
    pki_ca_close(ca);
    return e;
}

void pki_ca_close(struct pki_ca *ca)
{
    if (ca == NULL)
        return;
    X509_free(ca->cert);
    EVP_PKEY_free(ca->key);
    mem_free(ca);
}

/* Seconds since 1970; 0 for what is no time. */
static int64_t seconds(const ASN1_TIME *t)
{
    struct tm tm = {0};
    return ASN1_TIME_to_tm(t, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

int64_t pki_ca_not_after(const struct pki_ca *ca)
{
    return seconds(X509_get0_notAfter(ca->cert));
}

static bool leaf_extensions(X509 *cert, X509 *issuer, const struct pki_subject *s)
{
    char names[DNS_TEXT] = "";
    size_t at = 0;
    for (size_t i = 0; i < s->n_dns && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%sDNS:%s", i > 0 ? "," : "",
                               s->dns[i]);
    const struct extension list[] = {
        {NID_basic_constraints, "critical,CA:FALSE"},
        {NID_key_usage, "critical,digitalSignature"},
        {NID_ext_key_usage, s->role == PKI_AGENT ? "critical,serverAuth" : "critical,clientAuth"},
        {NID_subject_key_identifier, "hash"},
        {NID_authority_key_identifier, "keyid:always"},
        {NID_subject_alt_name, names},
    };
    return at < sizeof names && add_extensions(cert, issuer, list, sizeof list / sizeof list[0]);
}

enum err pki_ca_issue(const struct pki_ca *ca, struct pki_subject *s, struct pki_pair *out,
                      struct errmsg *msg)
{
    *out = (struct pki_pair){0};
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = key != NULL ? blank(key, s->not_before_s, s->not_after_s) : NULL;
    bool ok = cert != NULL && add_name(X509_get_subject_name(cert), "CN", s->name) &&
              X509_set_issuer_name(cert, X509_get_subject_name(ca->cert)) == 1 &&
              leaf_extensions(cert, ca->cert, s) &&
              serial_text(X509_get0_serialNumber(cert), s->serial) &&
              X509_sign(cert, ca->key, EVP_sha256()) > 0 && texts(cert, key, out);
    X509_free(cert);
    EVP_PKEY_free(key);
    return ok ? ERR_OK : failed("making a certificate", ERR_SYSTEM, msg);
}

enum err pki_cert_read(const char *pem, struct pki_info *out, struct errmsg *msg)
{
    *out = (struct pki_info){0};
    X509 *cert = read_cert(pem);
    if (cert == NULL)
        return failed("certificate", ERR_CORRUPT, msg);
    X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, out->name,
                              (int)sizeof out->name);
    serial_text(X509_get0_serialNumber(cert), out->serial); /* "" for a longer one of others */
    out->not_before_s = seconds(X509_get0_notBefore(cert));
    out->not_after_s = seconds(X509_get0_notAfter(cert));
    X509_free(cert);
    return ERR_OK;
}

/* --- revocation ----------------------------------------------------------------------------- */

static bool crl_add(X509_CRL *crl, const struct pki_revoked *r)
{
    X509_REVOKED *entry = X509_REVOKED_new();
    ASN1_INTEGER *serial = ASN1_INTEGER_new();
    ASN1_TIME *at = ASN1_TIME_set(NULL, (time_t)r->at_s);
    bool ok = entry != NULL && serial != NULL && at != NULL && serial_set(serial, r->serial) &&
              X509_REVOKED_set_serialNumber(entry, serial) == 1 &&
              X509_REVOKED_set_revocationDate(entry, at) == 1 && X509_CRL_add0_revoked(crl, entry);
    if (!ok)
        X509_REVOKED_free(entry);
    ASN1_INTEGER_free(serial);
    ASN1_TIME_free(at);
    return ok;
}

/* Numbered by what is on it: a list only grows. */
static bool crl_head(X509_CRL *crl, X509 *issuer, size_t n, int64_t from_s, int64_t until_s)
{
    X509V3_CTX ctx;
    ASN1_TIME *from = ASN1_TIME_set(NULL, (time_t)from_s);
    ASN1_TIME *until = ASN1_TIME_set(NULL, (time_t)until_s);
    ASN1_INTEGER *number = ASN1_INTEGER_new();
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, NULL, NULL, crl, 0);
    X509_EXTENSION *issued_by =
        X509V3_EXT_conf_nid(NULL, &ctx, NID_authority_key_identifier, "keyid:always");
    bool ok = from != NULL && until != NULL && number != NULL && issued_by != NULL &&
              X509_CRL_set_version(crl, X509_CRL_VERSION_2) == 1 &&
              X509_CRL_set_issuer_name(crl, X509_get_subject_name(issuer)) == 1 &&
              X509_CRL_set1_lastUpdate(crl, from) == 1 &&
              X509_CRL_set1_nextUpdate(crl, until) == 1 &&
              ASN1_INTEGER_set_uint64(number, (uint64_t)n + 1) == 1 &&
              X509_CRL_add_ext(crl, issued_by, -1) == 1 &&
              X509_CRL_add1_ext_i2d(crl, NID_crl_number, number, 0, 0) == 1;
    X509_EXTENSION_free(issued_by);
    ASN1_INTEGER_free(number);
    ASN1_TIME_free(until);
    ASN1_TIME_free(from);
    return ok;
}

enum err pki_ca_crl(const struct pki_ca *ca, const struct pki_revoked *revoked, size_t n,
                    int64_t this_update_s, int64_t next_update_s, char **pem, struct errmsg *msg)
{
    X509_CRL *crl = X509_CRL_new();
    bool ok = crl != NULL && crl_head(crl, ca->cert, n, this_update_s, next_update_s);
    for (size_t i = 0; ok && i < n; i++)
        ok = crl_add(crl, &revoked[i]);
    ok = ok && X509_CRL_sort(crl) == 1 && X509_CRL_sign(crl, ca->key, EVP_sha256()) > 0;
    *pem = ok ? crl_pem(crl) : NULL;
    X509_CRL_free(crl);
    return *pem != NULL ? ERR_OK : failed("making the revocation list", ERR_SYSTEM, msg);
}
