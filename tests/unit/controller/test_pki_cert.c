/* SPDX-License-Identifier: MIT */
/* What is issued, read back and judged by libcrypto's own verification. */
#include "controller/pki/pki_cert.h"

#include <string.h>

#include "common/libcrypto.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

#define NOW  INT64_C(1800000000) /* 2027-01-15 */
#define DAY  PKI_DAY_S
#define YEAR (365 * DAY)

/* One CA and a certificate of each role, made anew for each test. */
struct rig {
    struct pki_pair ca_pair;
    struct pki_ca *ca;
    struct pki_subject subject[2];
    struct pki_pair pair[2];
    char dns[2][2][PKI_DNS_MAX + 1];
};

static struct rig rig;

static void issue(enum pki_role role, const char *name, const char *dns, int64_t until_s)
{
    struct pki_subject *s = &rig.subject[role];
    *s = (struct pki_subject){.role = role,
                              .n_dns = 2,
                              .dns = rig.dns[role],
                              .not_before_s = NOW - PKI_SKEW_S,
                              .not_after_s = until_s};
    strcpy(s->name, name);
    strcpy(s->dns[0], name);
    strcpy(s->dns[1], dns);
    pki_pair_clear(&rig.pair[role]);
    ck_assert_int_eq(pki_ca_issue(rig.ca, s, &rig.pair[role], NULL), ERR_OK);
}

static void setup(void)
{
    rig = (struct rig){0};
    ck_assert_int_eq(pki_ca_make(NOW - PKI_SKEW_S, NOW + 10 * YEAR, &rig.ca_pair, NULL), ERR_OK);
    ck_assert_int_eq(pki_ca_open(rig.ca_pair.cert, rig.ca_pair.key, &rig.ca, NULL), ERR_OK);
    issue(PKI_AGENT, "web1", "web1.example.org", NOW + 90 * DAY);
    issue(PKI_CONTROLLER, "laptop", "laptop.example.org", NOW + 90 * DAY);
}

static void teardown(void)
{
    pki_pair_clear(&rig.pair[0]);
    pki_pair_clear(&rig.pair[1]);
    pki_pair_clear(&rig.ca_pair);
    pki_ca_close(rig.ca);
}

static X509 *parse(const char *pem)
{
    BIO *b = BIO_new_mem_buf(pem, -1);
    X509 *cert = PEM_read_bio_X509(b, NULL, NULL, NULL);
    BIO_free(b);
    ck_assert_ptr_nonnull(cert);
    return cert;
}

/* The value of an extension as `openssl x509 -text` prints it. */
static void extension(X509 *cert, int nid, int critical, const char *want)
{
    int at = X509_get_ext_by_NID(cert, nid, -1);
    ck_assert_msg(at >= 0, "%s is missing", OBJ_nid2sn(nid));
    X509_EXTENSION *e = X509_get_ext(cert, at);
    ck_assert_msg(X509_EXTENSION_get_critical(e) == critical, "%s", OBJ_nid2sn(nid));
    BIO *b = BIO_new(BIO_s_mem());
    ck_assert_int_eq(X509V3_EXT_print(b, e, 0, 0), 1);
    char text[512] = "";
    int n = BIO_read(b, text, sizeof text - 1);
    ck_assert_int_gt(n, 0);
    BIO_free(b);
    if (want != NULL)
        ck_assert_str_eq(text, want);
}

static void fields(X509 *cert, int64_t from_s, int64_t until_s)
{
    EVP_PKEY *key = X509_get0_pubkey(cert);
    char group[32] = "";
    ck_assert_int_eq(X509_get_version(cert), X509_VERSION_3);
    ck_assert_int_eq(EVP_PKEY_get_group_name(key, group, sizeof group, NULL), 1);
    ck_assert_str_eq(group, "prime256v1"); /* P-256, by name, not as an explicit curve */
    ck_assert_int_eq(X509_get_signature_nid(cert), NID_ecdsa_with_SHA256);
    ck_assert_int_eq(ASN1_TIME_cmp_time_t(X509_get0_notBefore(cert), (time_t)from_s), 0);
    ck_assert_int_eq(ASN1_TIME_cmp_time_t(X509_get0_notAfter(cert), (time_t)until_s), 0);
    BIGNUM *serial = ASN1_INTEGER_to_BN(X509_get0_serialNumber(cert), NULL);
    ck_assert_int_eq(BN_num_bits(serial), 128);
    BN_free(serial);
}

START_TEST(test_ca_fields)
{
    X509 *cert = parse(rig.ca_pair.cert);
    fields(cert, NOW - PKI_SKEW_S, NOW + 10 * YEAR);
    extension(cert, NID_basic_constraints, 1, "CA:TRUE, pathlen:0");
    extension(cert, NID_key_usage, 1, "Certificate Sign, CRL Sign");
    extension(cert, NID_subject_key_identifier, 0, NULL);
    X509_free(cert);
}
END_TEST

START_TEST(test_leaf_fields)
{
    static const char *const purpose[] = {"TLS Web Server Authentication",
                                          "TLS Web Client Authentication"};
    static const char *const names[] = {"DNS:web1, DNS:web1.example.org",
                                        "DNS:laptop, DNS:laptop.example.org"};
    X509 *cert = parse(rig.pair[_i].cert);
    fields(cert, NOW - PKI_SKEW_S, NOW + 90 * DAY);
    extension(cert, NID_basic_constraints, 1, "CA:FALSE");
    extension(cert, NID_key_usage, 1, "Digital Signature");
    extension(cert, NID_ext_key_usage, 1, purpose[_i]);
    extension(cert, NID_subject_alt_name, 0, names[_i]);
    extension(cert, NID_subject_key_identifier, 0, NULL);
    extension(cert, NID_authority_key_identifier, 0, NULL);
    X509_free(cert);
}
END_TEST

START_TEST(test_read_back)
{
    struct pki_info info;
    ck_assert_int_eq(pki_cert_read(rig.pair[PKI_AGENT].cert, &info, NULL), ERR_OK);
    ck_assert_str_eq(info.name, "web1");
    ck_assert_str_eq(info.serial, rig.subject[PKI_AGENT].serial);
    ck_assert_int_eq(info.not_before_s, NOW - PKI_SKEW_S);
    ck_assert_int_eq(info.not_after_s, NOW + 90 * DAY);
    struct errmsg msg;
    ck_assert_int_eq(pki_cert_read("no certificate", &info, &msg), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(msg.text, "certificate: "));
}
END_TEST

START_TEST(test_serials_differ)
{
    char first[PKI_SERIAL_TEXT];
    strcpy(first, rig.subject[PKI_AGENT].serial);
    issue(PKI_AGENT, "web1", "web1.example.org", NOW + DAY);
    ck_assert_str_ne(first, rig.subject[PKI_AGENT].serial);
}
END_TEST

/* --- verification --------------------------------------------------------------------------- */

struct judge {
    int purpose;
    const char *host; /* NULL = not asked */
    const char *crl;  /* PEM, NULL = no list */
    int64_t at_s;
};

/* X509_V_OK or why not. */
static int verify(const char *ca_pem, const char *cert_pem, const struct judge *j)
{
    X509_STORE *store = X509_STORE_new();
    X509 *ca = parse(ca_pem), *cert = parse(cert_pem);
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    ck_assert_int_eq(X509_STORE_add_cert(store, ca), 1);
    if (j->crl != NULL) {
        BIO *b = BIO_new_mem_buf(j->crl, -1);
        X509_CRL *crl = PEM_read_bio_X509_CRL(b, NULL, NULL, NULL);
        ck_assert_int_eq(X509_STORE_add_crl(store, crl), 1);
        X509_CRL_free(crl);
        BIO_free(b);
    }
    ck_assert_int_eq(X509_STORE_CTX_init(ctx, store, cert, NULL), 1);
    X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(ctx);
    X509_VERIFY_PARAM_set_purpose(param, j->purpose);
    X509_VERIFY_PARAM_set_time(param, (time_t)j->at_s);
    X509_VERIFY_PARAM_set_flags(param, j->crl != NULL ? X509_V_FLAG_CRL_CHECK : 0);
    if (j->host != NULL)
        X509_VERIFY_PARAM_set1_host(param, j->host, 0);
    X509_verify_cert(ctx);
    int result = X509_STORE_CTX_get_error(ctx);
    X509_STORE_CTX_free(ctx);
    X509_free(cert);
    X509_free(ca);
    X509_STORE_free(store);
    return result;
}

START_TEST(test_roles_cannot_be_swapped)
{
    struct judge server = {.purpose = X509_PURPOSE_SSL_SERVER, .at_s = NOW};
    struct judge client = {.purpose = X509_PURPOSE_SSL_CLIENT, .at_s = NOW};
    const char *ca = rig.ca_pair.cert;
    ck_assert_int_eq(verify(ca, rig.pair[PKI_AGENT].cert, &server), X509_V_OK);
    ck_assert_int_eq(verify(ca, rig.pair[PKI_CONTROLLER].cert, &client), X509_V_OK);
    ck_assert_int_eq(verify(ca, rig.pair[PKI_AGENT].cert, &client), X509_V_ERR_INVALID_PURPOSE);
    ck_assert_int_eq(verify(ca, rig.pair[PKI_CONTROLLER].cert, &server),
                     X509_V_ERR_INVALID_PURPOSE);
}
END_TEST

START_TEST(test_names)
{
    struct judge j = {.purpose = X509_PURPOSE_SSL_SERVER, .at_s = NOW};
    const char *ca = rig.ca_pair.cert, *cert = rig.pair[PKI_AGENT].cert;
    j.host = "web1";
    ck_assert_int_eq(verify(ca, cert, &j), X509_V_OK);
    j.host = "web1.example.org";
    ck_assert_int_eq(verify(ca, cert, &j), X509_V_OK);
    j.host = "web2";
    ck_assert_int_eq(verify(ca, cert, &j), X509_V_ERR_HOSTNAME_MISMATCH);
}
END_TEST

START_TEST(test_times)
{
    struct judge j = {.purpose = X509_PURPOSE_SSL_SERVER, .at_s = NOW - PKI_SKEW_S};
    const char *ca = rig.ca_pair.cert;
    ck_assert_int_eq(verify(ca, rig.pair[PKI_AGENT].cert, &j), X509_V_OK);
    j.at_s = NOW - PKI_SKEW_S - 1;
    ck_assert_int_eq(verify(ca, rig.pair[PKI_AGENT].cert, &j), X509_V_ERR_CERT_NOT_YET_VALID);
    j.at_s = NOW + 90 * DAY + 1;
    ck_assert_int_eq(verify(ca, rig.pair[PKI_AGENT].cert, &j), X509_V_ERR_CERT_HAS_EXPIRED);
    issue(PKI_AGENT, "web1", "old", NOW - 10); /* over before it begins to be used */
    j.at_s = NOW;
    ck_assert_int_eq(verify(ca, rig.pair[PKI_AGENT].cert, &j), X509_V_ERR_CERT_HAS_EXPIRED);
}
END_TEST

START_TEST(test_other_ca)
{
    struct judge j = {.purpose = X509_PURPOSE_SSL_SERVER, .at_s = NOW};
    struct pki_pair other;
    ck_assert_int_eq(pki_ca_make(NOW - PKI_SKEW_S, NOW + YEAR, &other, NULL), ERR_OK);
    ck_assert_int_ne(verify(other.cert, rig.pair[PKI_AGENT].cert, &j), X509_V_OK);
    struct pki_ca *ca;
    struct errmsg msg;
    ck_assert_int_eq(pki_ca_open(other.cert, rig.ca_pair.key, &ca, &msg), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "key: it does not belong to the certificate"));
    /* An agent's certificate is no CA, with its own key or not. */
    ck_assert_int_eq(pki_ca_open(rig.pair[PKI_AGENT].cert, rig.pair[PKI_AGENT].key, &ca, &msg),
                     ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "not a CA's"));
    ck_assert_int_eq(pki_ca_open(other.cert, "rubbish", &ca, &msg), ERR_CORRUPT);
    pki_pair_clear(&other);
}
END_TEST

/* An agent that issues certificates with its own key is believed by nobody. */
START_TEST(test_leaf_signs_nothing)
{
    struct judge j = {.purpose = X509_PURPOSE_SSL_CLIENT, .at_s = NOW};
    X509 *leaf = parse(rig.pair[PKI_CONTROLLER].cert);
    BIO *b = BIO_new_mem_buf(rig.pair[PKI_AGENT].key, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(b, NULL, NULL, NULL);
    X509 *agent = parse(rig.pair[PKI_AGENT].cert);
    X509_set_issuer_name(leaf, X509_get_subject_name(agent));
    ck_assert_int_gt(X509_sign(leaf, key, EVP_sha256()), 0);
    BIO *out = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(out, leaf);
    char pem[4096] = "";
    ck_assert_int_gt(BIO_read(out, pem, sizeof pem - 1), 0);
    ck_assert_int_ne(verify(rig.ca_pair.cert, pem, &j), X509_V_OK);
    ck_assert_int_ne(verify(rig.pair[PKI_AGENT].cert, pem, &j), X509_V_OK);
    BIO_free(out);
    BIO_free(b);
    EVP_PKEY_free(key);
    X509_free(agent);
    X509_free(leaf);
}
END_TEST

/* --- revocation ----------------------------------------------------------------------------- */

START_TEST(test_revoked)
{
    struct judge j = {.purpose = X509_PURPOSE_SSL_SERVER, .at_s = NOW};
    struct pki_revoked list[1] = {{.at_s = NOW}};
    char *empty = NULL, *crl = NULL;
    const char *ca = rig.ca_pair.cert;
    strcpy(list[0].serial, rig.subject[PKI_AGENT].serial);
    int64_t from = NOW - PKI_SKEW_S, until = pki_ca_not_after(rig.ca);
    ck_assert_int_eq(until, NOW + 10 * YEAR);
    ck_assert_int_eq(pki_ca_crl(rig.ca, NULL, 0, from, until, &empty, NULL), ERR_OK);
    ck_assert_int_eq(pki_ca_crl(rig.ca, list, 1, from, until, &crl, NULL), ERR_OK);
    j.crl = empty;
    ck_assert_int_eq(verify(ca, rig.pair[PKI_AGENT].cert, &j), X509_V_OK);
    j.crl = crl;
    ck_assert_int_eq(verify(ca, rig.pair[PKI_AGENT].cert, &j), X509_V_ERR_CERT_REVOKED);
    j.purpose = X509_PURPOSE_SSL_CLIENT; /* and nobody else */
    ck_assert_int_eq(verify(ca, rig.pair[PKI_CONTROLLER].cert, &j), X509_V_OK);
    mem_free(empty);
    mem_free(crl);
}
END_TEST

/* A list made today still opens a certificate of the CA's last day. */
START_TEST(test_old_list_locks_nobody_out)
{
    struct judge j = {.purpose = X509_PURPOSE_SSL_SERVER, .at_s = NOW + 10 * YEAR - 1};
    char *crl = NULL;
    int64_t until = pki_ca_not_after(rig.ca);
    ck_assert_int_eq(pki_ca_crl(rig.ca, NULL, 0, NOW - PKI_SKEW_S, until, &crl, NULL), ERR_OK);
    issue(PKI_AGENT, "web1", "late", until);
    j.crl = crl;
    ck_assert_int_eq(verify(rig.ca_pair.cert, rig.pair[PKI_AGENT].cert, &j), X509_V_OK);
    mem_free(crl);
}
END_TEST

/* Serials of any shape go in and are found: every one on a list is refused, no other is. */
START_TEST(test_many_revoked)
{
    struct pki_revoked list[40];
    char *pem = NULL;
    uint64_t seed = check_seed();
    for (size_t i = 0; i < 40; i++) {
        for (size_t k = 0; k < PKI_SERIAL_TEXT - 1; k++)
            list[i].serial[k] = "0123456789abcdef"[check_below(&seed, 16)];
        list[i].serial[PKI_SERIAL_TEXT - 1] = '\0';
        list[i].at_s = NOW - (int64_t)i;
    }
    ck_assert_int_eq(pki_ca_crl(rig.ca, list, 40, NOW, NOW + YEAR, &pem, NULL), ERR_OK);
    BIO *b = BIO_new_mem_buf(pem, -1);
    X509_CRL *crl = PEM_read_bio_X509_CRL(b, NULL, NULL, NULL);
    for (size_t i = 0; i < 40; i++) {
        X509_REVOKED *found = NULL;
        BIGNUM *n = NULL;
        ck_assert_int_gt(BN_hex2bn(&n, list[i].serial), 0);
        ASN1_INTEGER *serial = BN_to_ASN1_INTEGER(n, NULL);
        ck_assert_int_eq(X509_CRL_get0_by_serial(crl, &found, serial), 1);
        BN_add_word(n, 1);
        BN_to_ASN1_INTEGER(n, serial);
        ck_assert_int_eq(X509_CRL_get0_by_serial(crl, &found, serial), 0);
        ASN1_INTEGER_free(serial);
        BN_free(n);
    }
    X509_CRL_free(crl);
    BIO_free(b);
    mem_free(pem);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pki_cert");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_ca_fields);
    tcase_add_loop_test(t, test_leaf_fields, 0, 2);
    tcase_add_test(t, test_read_back);
    tcase_add_test(t, test_serials_differ);
    tcase_add_test(t, test_roles_cannot_be_swapped);
    tcase_add_test(t, test_names);
    tcase_add_test(t, test_times);
    tcase_add_test(t, test_other_ca);
    tcase_add_test(t, test_leaf_signs_nothing);
    tcase_add_test(t, test_revoked);
    tcase_add_test(t, test_old_list_locks_nobody_out);
    tcase_add_test(t, test_many_revoked);
    return check_main(s);
}
