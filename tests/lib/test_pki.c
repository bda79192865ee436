/* SPDX-License-Identifier: MIT */
#include "tests/lib/test_pki.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/libcrypto.h"
#include "common/mem.h"

struct test_pki {
    char folder[64];
    const char *ca_file;
    EVP_PKEY *key;
    X509 *ca;
    long serial;
};

const char *test_pki_path(const struct test_pki *p, const char *file)
{
    static char bufs[8][160];
    static unsigned next;
    char *buf = bufs[next++ % 8];
    snprintf(buf, sizeof bufs[0], "%s/%s", p->folder, file);
    return buf;
}

static FILE *create(const struct test_pki *p, const char *file, mode_t mode)
{
    int fd = open(test_pki_path(p, file), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    ck_assert_int_ge(fd, 0);
    return fdopen(fd, "w");
}

void test_pki_write(const struct test_pki *p, const char *file, const char *text)
{
    FILE *f = create(p, file, 0600);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
}

void test_pki_key(const struct test_pki *p, const char *file, const char *type,
                  const char *passphrase)
{
    bool ec = strcmp(type, "EC") == 0;
    EVP_PKEY *key = ec ? EVP_EC_gen("P-256") : EVP_PKEY_Q_keygen(NULL, NULL, type);
    ck_assert_ptr_nonnull(key);
    FILE *f = create(p, file, 0600);
    ck_assert_int_eq(
        PEM_write_PKCS8PrivateKey(f, key, passphrase != NULL ? EVP_aes_256_cbc() : NULL, passphrase,
                                  passphrase != NULL ? (int)strlen(passphrase) : 0, NULL, NULL),
        1);
    ck_assert_int_eq(fclose(f), 0);
    EVP_PKEY_free(key);
}

static void add_extension(X509 *x, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    ck_assert_ptr_nonnull(e);
    X509_add_ext(x, e, -1);
    X509_EXTENSION_free(e);
}

static X509 *new_cert(EVP_PKEY *key, const char *name, long serial, long from_s, long to_s)
{
    X509 *x = X509_new();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), serial);
    X509_gmtime_adj(X509_getm_notBefore(x), from_s);
    X509_gmtime_adj(X509_getm_notAfter(x), to_s);
    X509_set_pubkey(x, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               (const unsigned char *)name, -1, -1, 0);
    return x;
}

static void save_cert(const struct test_pki *p, const char *file, X509 *x)
{
    FILE *f = create(p, file, 0644);
    ck_assert_int_eq(PEM_write_X509(f, x), 1);
    ck_assert_int_eq(fclose(f), 0);
}

static void make_ca(struct test_pki *p, const char *name, const char *file)
{
    p->ca_file = file;
    p->serial = 1000;
    p->key = EVP_EC_gen("P-256");
    ck_assert_ptr_nonnull(p->key);
    p->ca = new_cert(p->key, name, 1, -7200, 7200);
    X509_set_issuer_name(p->ca, X509_get_subject_name(p->ca));
    add_extension(p->ca, p->ca, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(p->ca, p->ca, NID_key_usage, "critical,keyCertSign,cRLSign");
    ck_assert_int_gt(X509_sign(p->ca, p->key, EVP_sha256()), 0);
    save_cert(p, file, p->ca);
}

struct test_pki *test_pki_new(void)
{
    return test_pki_named("hammer test CA");
}

struct test_pki *test_pki_named(const char *ca)
{
    struct test_pki *p = mem_calloc(1, sizeof *p);
    snprintf(p->folder, sizeof p->folder, "/tmp/hammer-test-pki-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(p->folder));
    make_ca(p, ca, "ca.crt");
    test_pki_issue(p, &(struct test_pki_cert){"agent", "agent-1", TEST_PKI_SERVER, 0, 0});
    test_pki_issue(p, &(struct test_pki_cert){"controller", "ctl-1", TEST_PKI_CLIENT, 0, 0});
    return p;
}

/* The same name as the true one: only the key tells them apart. */
struct test_pki *test_pki_rogue(const struct test_pki *p)
{
    struct test_pki *rogue = mem_calloc(1, sizeof *rogue);
    memcpy(rogue->folder, p->folder, sizeof rogue->folder);
    make_ca(rogue, "hammer test CA", "rogue-ca.crt");
    return rogue;
}

void test_pki_free(struct test_pki *p)
{
    X509_free(p->ca);
    EVP_PKEY_free(p->key);
    mem_free(p);
}

void test_pki_remove(struct test_pki *p)
{
    DIR *dir = opendir(p->folder);
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        if (e->d_name[0] != '.')
            unlinkat(dirfd(dir), e->d_name, 0);
    closedir(dir);
    ck_assert_int_eq(rmdir(p->folder), 0);
    test_pki_free(p);
}

void test_pki_issue(const struct test_pki *p, const struct test_pki_cert *c)
{
    static const char *const usages[] = {"serverAuth", "clientAuth", NULL};
    char file[80], san[80];
    bool usual = c->from_s == 0 && c->to_s == 0;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = new_cert(key, c->name, ++((struct test_pki *)(uintptr_t)p)->serial,
                       usual ? -3600 : c->from_s, usual ? 3600 : c->to_s);
    X509_set_issuer_name(x, X509_get_subject_name(p->ca));
    snprintf(san, sizeof san, "%s%s", strchr(c->name, ':') == NULL ? "DNS:" : "", c->name);
    add_extension(x, p->ca, NID_subject_alt_name, san);
    if (usages[c->usage] != NULL)
        add_extension(x, p->ca, NID_ext_key_usage, usages[c->usage]);
    ck_assert_int_gt(X509_sign(x, p->key, EVP_sha256()), 0);
    snprintf(file, sizeof file, "%s.crt", c->file);
    save_cert(p, file, x);
    snprintf(file, sizeof file, "%s.key", c->file);
    FILE *f = create(p, file, 0600);
    ck_assert_int_eq(PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL), 1);
    ck_assert_int_eq(fclose(f), 0);
    X509_free(x);
    EVP_PKEY_free(key);
}

static void add_revoked(X509_CRL *crl, const char *path, ASN1_TIME *when)
{
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    X509 *x = PEM_read_X509(f, NULL, NULL, NULL);
    fclose(f);
    X509_REVOKED *r = X509_REVOKED_new();
    X509_REVOKED_set_serialNumber(r, X509_get_serialNumber(x));
    X509_REVOKED_set_revocationDate(r, when);
    X509_CRL_add0_revoked(crl, r);
    X509_free(x);
}

void test_pki_crl(const struct test_pki *p, const char *file, const char *revoked, long to_s)
{
    char name[80];
    X509_CRL *crl = X509_CRL_new();
    ASN1_TIME *from = X509_gmtime_adj(NULL, -3600), *to = X509_gmtime_adj(NULL, to_s);
    X509_CRL_set_version(crl, 1);
    X509_CRL_set_issuer_name(crl, X509_get_subject_name(p->ca));
    X509_CRL_set1_lastUpdate(crl, from);
    X509_CRL_set1_nextUpdate(crl, to);
    if (revoked != NULL) {
        snprintf(name, sizeof name, "%s.crt", revoked);
        add_revoked(crl, test_pki_path(p, name), from);
    }
    X509_CRL_sort(crl);
    ck_assert_int_gt(X509_CRL_sign(crl, p->key, EVP_sha256()), 0);
    FILE *f = create(p, file, 0644);
    ck_assert_int_eq(PEM_write_X509_CRL(f, crl), 1);
    ck_assert_int_eq(fclose(f), 0);
    ASN1_TIME_free(from);
    ASN1_TIME_free(to);
    X509_CRL_free(crl);
}

struct link_tls *test_pki_tls(const struct test_pki *p, enum link_tls_role role, const char *name)
{
    char cert[80], key[80];
    struct link_tls *t = NULL;
    struct errmsg msg = {{0}};
    snprintf(cert, sizeof cert, "%s.crt", name);
    snprintf(key, sizeof key, "%s.key", name);
    struct link_tls_files files = {.ca = test_pki_path(p, p->ca_file),
                                   .cert = test_pki_path(p, cert),
                                   .key = test_pki_path(p, key),
                                   .crl = test_pki_path(p, "crl.pem")};
    ck_assert_msg(link_tls_new(role, &files, &t, &msg) == ERR_OK, "%s", msg.text);
    return t;
}

void test_pki_pair_open(struct test_pki_pair *p)
{
    p->pki = test_pki_new();
    test_pki_crl(p->pki, "crl.pem", NULL, 3600);
    p->agent = test_pki_tls(p->pki, LINK_TLS_AGENT, "agent");
    p->controller = test_pki_tls(p->pki, LINK_TLS_CONTROLLER, "controller");
    p->listen = (struct link_options){.tls = p->agent};
    p->dial = (struct link_options){.tls = p->controller, .server_name = "agent-1"};
}

void test_pki_pair_close(struct test_pki_pair *p)
{
    link_tls_free(p->agent);
    link_tls_free(p->controller);
    test_pki_remove(p->pki);
}
