/* SPDX-License-Identifier: MIT */
#include "proto/link_keys.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/libssl.h"
#include "common/mem.h"
#include "proto/plan_tls.h"

/* A stranger's certificates are kept in memory until they are judged. */
#define CHAIN_BYTES_MAX 16384
#define CHAIN_DEPTH_MAX 8

struct link_keys {
    SSL_CTX *ctx;
    BIO_METHOD *bio;
    bool server;
    unsigned holds;
};

/* --- buffers below OpenSSL -------------------------------------------------------------------- */

static int bio_read(BIO *b, char *buf, int len)
{
    struct link_pipe *p = BIO_get_data(b);
    size_t n = (size_t)len < p->in_len ? (size_t)len : p->in_len;
    BIO_clear_retry_flags(b);
    if (n == 0) {
        BIO_set_retry_read(b);
        return -1;
    }
    memcpy(buf, p->in, n);
    p->in += n;
    p->in_len -= n;
    return (int)n;
}

/* A peer that makes us answer and does not read must not cost memory without end. */
static int bio_write(BIO *b, const char *buf, int len)
{
    struct link_pipe *p = BIO_get_data(b);
    size_t need = p->out_len + (size_t)len;
    BIO_clear_retry_flags(b);
    if (need > LINK_PIPE_MAX)
        return -1;
    if (need > p->out_cap) {
        p->out_cap = need > 2 * p->out_cap ? need : 2 * p->out_cap;
        p->out = mem_realloc(p->out, p->out_cap, 1);
    }
    memcpy(p->out + p->out_len, buf, (size_t)len);
    p->out_len = need;
    return len;
}

static long bio_ctrl(BIO *b, int cmd, long num, void *ptr)
{
    (void)b, (void)num, (void)ptr;
    return cmd == BIO_CTRL_FLUSH;
}

/* Of no type of its own: a process has about a hundred numbers for types, and each reload of the
 * certificates would use one up. */
static BIO_METHOD *method_new(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "link");
    if (m == NULL)
        return NULL;
    BIO_meth_set_read(m, bio_read);
    BIO_meth_set_write(m, bio_write);
    BIO_meth_set_ctrl(m, bio_ctrl);
    return m;
}

struct ssl_st *link_keys_connect(const struct link_keys *k, struct link_pipe *p)
{
    SSL *ssl = SSL_new(k->ctx);
    BIO *bio = ssl == NULL ? NULL : BIO_new(k->bio);
    if (bio == NULL) {
        SSL_free(ssl);
        ERR_clear_error();
        return NULL;
    }
    BIO_set_data(bio, p);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    if (k->server)
        SSL_set_accept_state(ssl);
    else
        SSL_set_connect_state(ssl);
    return ssl;
}

/* --- rules ------------------------------------------------------------------------------------ */

static bool has_list(const X509_STORE_CTX *store, X509 *cert)
{
    STACK_OF(X509_CRL) *all = X509_STORE_CTX_get1_crls(store, X509_get_issuer_name(cert));
    bool has = sk_X509_CRL_num(all) > 0;
    sk_X509_CRL_pop_free(all, X509_CRL_free);
    return has;
}

/* Two things that OpenSSL sees otherwise. Several CAs may be trusted of which not each has revoked
 * somebody. And a certificate without an extended key usage is good for no role, not for both. */
static int judge(int good, X509_STORE_CTX *store)
{
    X509 *cert = X509_STORE_CTX_get_current_cert(store);
    int error = X509_STORE_CTX_get_error(store);
    if (!good && error == X509_V_ERR_UNABLE_TO_GET_CRL && !has_list(store, cert)) {
        X509_STORE_CTX_set_error(store, X509_V_OK);
        good = 1;
    }
    if (good && X509_STORE_CTX_get_error_depth(store) == 0 &&
        X509_get_extended_key_usage(cert) == UINT32_MAX) {
        X509_STORE_CTX_set_error(store, X509_V_ERR_INVALID_PURPOSE);
        good = 0;
    }
    return good;
}

/* Small in memory while nothing happens, and nothing that this protocol does not use: no sessions
 * to resume, no second handshake, no certificate that is not in the files. AUTO_RETRY (its default)
 * is needed: a link reads on when bytes come, and not for those that it has already. */
static bool set_rules(SSL_CTX *ctx)
{
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_CLEANSE_PLAINTEXT);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY |
                              SSL_MODE_NO_AUTO_CHAIN);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_max_cert_list(ctx, CHAIN_BYTES_MAX);
    SSL_CTX_set_verify_depth(ctx, CHAIN_DEPTH_MAX);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, judge);
    X509_VERIFY_PARAM *param = SSL_CTX_get0_param(ctx);
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN) == 1 &&
           SSL_CTX_set_num_tickets(ctx, 0) == 1 &&
           SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 &&
           SSL_CTX_set_max_proto_version(ctx, 0) == 1 &&
           SSL_CTX_set_cipher_list(ctx, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1;
}

/* --- certificates ----------------------------------------------------------------------------- */

static enum err refuse(const char *what, struct errmsg *msg)
{
    const char *why = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return errmsg_set(msg, ERR_INVALID, "%s: %s", what, why != NULL ? why : "not usable");
}

static bool add_certs(X509_STORE *store, const char *pem)
{
    BIO *in = BIO_new_mem_buf(pem, -1);
    X509 *x;
    unsigned n = 0;
    bool good = in != NULL;
    while (good && (x = PEM_read_bio_X509(in, NULL, plan_tls_no_passphrase, NULL)) != NULL) {
        good = X509_STORE_add_cert(store, x) == 1;
        X509_free(x);
        n++;
    }
    BIO_free(in);
    return good && n > 0;
}

static bool add_lists(X509_STORE *store, const char *pem)
{
    BIO *in = BIO_new_mem_buf(pem, -1);
    X509_CRL *c;
    unsigned n = 0;
    bool good = in != NULL;
    while (good && (c = PEM_read_bio_X509_CRL(in, NULL, plan_tls_no_passphrase, NULL)) != NULL) {
        good = X509_STORE_add_crl(store, c) == 1;
        X509_CRL_free(c);
        n++;
    }
    BIO_free(in);
    return good && n > 0;
}

enum err link_keys_trust(struct link_keys *k, const char *ca, const char *crl, struct errmsg *msg)
{
    X509_STORE *store = SSL_CTX_get_cert_store(k->ctx);
    if (!add_certs(store, ca))
        return refuse("the CA", msg);
    if (crl != NULL && !add_lists(store, crl))
        return refuse("the revocation list", msg);
    if (crl != NULL)
        X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(k->ctx),
                                    X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
    ERR_clear_error(); /* the end of a text is an error, too */
    return ERR_OK;
}

static bool use_chain(SSL_CTX *ctx, const char *pem)
{
    BIO *in = BIO_new_mem_buf(pem, -1);
    X509 *x = in == NULL ? NULL : PEM_read_bio_X509(in, NULL, plan_tls_no_passphrase, NULL);
    bool good = x != NULL && SSL_CTX_use_certificate(ctx, x) == 1;
    X509_free(x);
    while (good && (x = PEM_read_bio_X509(in, NULL, plan_tls_no_passphrase, NULL)) != NULL) {
        good = SSL_CTX_add1_chain_cert(ctx, x) == 1;
        X509_free(x);
    }
    BIO_free(in);
    return good;
}

static bool use_key(SSL_CTX *ctx, const char *pem)
{
    BIO *in = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key =
        in == NULL ? NULL : PEM_read_bio_PrivateKey(in, NULL, plan_tls_no_passphrase, NULL);
    bool good = key != NULL && SSL_CTX_use_PrivateKey(ctx, key) == 1;
    EVP_PKEY_free(key);
    BIO_free(in);
    return good;
}

enum err link_keys_own(struct link_keys *k, const char *cert, const char *key, struct errmsg *msg)
{
    if (!use_chain(k->ctx, cert))
        return refuse("the certificate", msg);
    if (!use_key(k->ctx, key))
        return refuse("the key", msg);
    ERR_clear_error();
    return ERR_OK;
}

/* --- life ------------------------------------------------------------------------------------- */

struct link_keys *link_keys_new(bool server)
{
    struct link_keys *k = mem_calloc(1, sizeof *k);
    k->server = server;
    k->holds = 1;
    k->ctx = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
    k->bio = method_new();
    if (k->ctx != NULL && k->bio != NULL && set_rules(k->ctx))
        return k;
    link_keys_drop(k);
    ERR_clear_error();
    return NULL;
}

struct link_keys *link_keys_hold(struct link_keys *k)
{
    k->holds++;
    return k;
}

void link_keys_drop(struct link_keys *k)
{
    if (k == NULL || --k->holds > 0)
        return;
    SSL_CTX_free(k->ctx);
    BIO_meth_free(k->bio);
    mem_free(k);
}
