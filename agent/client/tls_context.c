/* SPDX-License-Identifier: MIT */
#include "agent/client/tls_context.h"

#include <string.h>

#include "common/libssl.h"
#include "common/mem.h"
#include "proto/plan_tls.h"

struct tls_context {
    SSL_CTX *ctx;
    BIO_METHOD *bio;
    char name[256]; /* no dot at the end */
    bool ip;        /* it is an address: not sent as SNI (RFC 6066 section 3) */
    bool resume;
};

static enum err refuse(const char *what, struct errmsg *msg)
{
    unsigned long entry = ERR_peek_last_error();
    const char *why = ERR_reason_error_string(entry);
    ERR_clear_error();
    return errmsg_set(msg, ERR_INVALID, "%s: %s", what, why != NULL ? why : "out of memory");
}

/* --- whom to trust ------------------------------------------------------------------------- */

static enum err trust_given(SSL_CTX *ctx, const struct plan *p, struct errmsg *msg)
{
    X509_STORE *store = SSL_CTX_get_cert_store(ctx);
    BIO *in = BIO_new_mem_buf(p->cacert, (int)p->cacert_len);
    X509 *x;
    int ok = in != NULL;
    while (ok && (x = PEM_read_bio_X509(in, NULL, plan_tls_no_passphrase, NULL)) != NULL) {
        ok = X509_STORE_add_cert(store, x);
        X509_free(x);
    }
    BIO_free(in);
    enum err e = ok ? ERR_OK : refuse("--cacert", msg);
    ERR_clear_error(); /* the end of the text is an error, too */
    return e;
}

static enum err set_trust(struct tls_context *c, const struct plan *p, struct errmsg *msg)
{
    X509_VERIFY_PARAM *param = SSL_CTX_get0_param(c->ctx);
    if (p->insecure) {
        SSL_CTX_set_verify(c->ctx, SSL_VERIFY_NONE, NULL);
        return ERR_OK;
    }
    SSL_CTX_set_verify(c->ctx, SSL_VERIFY_PEER, NULL);
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if ((c->ip ? X509_VERIFY_PARAM_set1_ip_asc(param, c->name)
               : X509_VERIFY_PARAM_set1_host(param, c->name, 0)) != 1)
        return refuse("the server's name", msg);
    if (p->cacert != NULL)
        return trust_given(c->ctx, p, msg);
    /* Without one every certificate is refused, which says more than this could. */
    (void)SSL_CTX_set_default_verify_paths(c->ctx);
    ERR_clear_error();
    return ERR_OK;
}

/* --- who we are ---------------------------------------------------------------------------- */

static enum err use_chain(SSL_CTX *ctx, const struct plan *p, struct errmsg *msg)
{
    BIO *in = BIO_new_mem_buf(p->cert, (int)p->cert_len);
    X509 *x = in == NULL ? NULL : PEM_read_bio_X509(in, NULL, plan_tls_no_passphrase, NULL);
    int ok = x != NULL && SSL_CTX_use_certificate(ctx, x) == 1;
    X509_free(x);
    while (ok && (x = PEM_read_bio_X509(in, NULL, plan_tls_no_passphrase, NULL)) != NULL) {
        ok = SSL_CTX_add1_chain_cert(ctx, x) == 1;
        X509_free(x);
    }
    BIO_free(in);
    enum err e = ok ? ERR_OK : refuse("--cert", msg);
    ERR_clear_error();
    return e;
}

static enum err use_key(SSL_CTX *ctx, const struct plan *p, struct errmsg *msg)
{
    BIO *in = BIO_new_mem_buf(p->key, (int)p->key_len);
    EVP_PKEY *key =
        in == NULL ? NULL : PEM_read_bio_PrivateKey(in, NULL, plan_tls_no_passphrase, NULL);
    int ok = key != NULL && SSL_CTX_use_PrivateKey(ctx, key) == 1;
    EVP_PKEY_free(key);
    BIO_free(in);
    return ok ? ERR_OK : refuse("--key", msg);
}

/* --- sessions ------------------------------------------------------------------------------ */

/* TLS 1.3 sends them when it likes, several of them. The last one is the one to go on with. */
static int on_session(SSL *ssl, SSL_SESSION *session)
{
    struct tls_session *s = SSL_get_app_data(ssl);
    if (s == NULL)
        return 0;
    SSL_SESSION_free(s->last);
    s->last = session;
    return 1; /* kept: the reference is ours */
}

static void set_sessions(struct tls_context *c)
{
    if (!c->resume) {
        SSL_CTX_set_session_cache_mode(c->ctx, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_options(c->ctx, SSL_OP_NO_TICKET);
        return;
    }
    SSL_CTX_set_session_cache_mode(c->ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(c->ctx, on_session);
}

void tls_session_clear(struct tls_session *s)
{
    SSL_SESSION_free(s->last);
    s->last = NULL;
}

/* --- all ----------------------------------------------------------------------------------- */

static void set_name(struct tls_context *c, const struct plan *p, const struct url_parts *u)
{
    const char *name = p->sni != NULL ? p->sni : u->host;
    size_t len = strlen(name);
    c->ip = p->sni == NULL && url_host_is_ip(u);
    len -= len > 1 && name[len - 1] == '.' ? 1 : 0;
    len = len < sizeof c->name ? len : sizeof c->name - 1;
    memcpy(c->name, name, len);
}

static enum err set_protocol(struct tls_context *c, const struct plan *p, struct errmsg *msg)
{
    static const unsigned char alpn[] = "\x08http/1.1";
    int lowest = p->tls_min == PLAN_TLS_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;
    SSL_CTX_set_options(c->ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    /* One message after the handshake ends a read: a flood of them cannot keep the thread. */
    SSL_CTX_clear_mode(c->ctx, SSL_MODE_AUTO_RETRY | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_mode(c->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(c->ctx, 1); /* a record's header and its rest in one call */
    if (SSL_CTX_set_min_proto_version(c->ctx, lowest) != 1 ||
        SSL_CTX_set_max_proto_version(c->ctx, 0) != 1 ||
        SSL_CTX_set_alpn_protos(c->ctx, alpn, sizeof alpn - 1) != 0)
        return refuse("TLS", msg);
    return ERR_OK;
}

enum err tls_context_new(const struct plan *p, const struct url_parts *u, struct tls_context **out,
                         struct errmsg *msg)
{
    struct tls_context *c = mem_calloc(1, sizeof *c);
    enum err e = ERR_OK;
    c->resume = !p->tls_no_resume;
    set_name(c, p, u);
    c->ctx = SSL_CTX_new(TLS_client_method());
    c->bio = tls_bio_method_new();
    if (c->ctx == NULL || c->bio == NULL)
        e = refuse("TLS", msg);
    if (e == ERR_OK)
        e = set_protocol(c, p, msg);
    if (e == ERR_OK)
        e = set_trust(c, p, msg);
    if (e == ERR_OK && p->cert != NULL)
        e = use_chain(c->ctx, p, msg);
    if (e == ERR_OK && p->key != NULL)
        e = use_key(c->ctx, p, msg);
    if (e != ERR_OK) {
        tls_context_free(c);
        return e;
    }
    set_sessions(c);
    *out = c;
    return ERR_OK;
}

void tls_context_free(struct tls_context *c)
{
    if (c == NULL)
        return;
    SSL_CTX_free(c->ctx);
    BIO_meth_free(c->bio);
    mem_free(c);
}

const char *tls_context_name(const struct tls_context *c)
{
    return c->name;
}

struct ssl_st *tls_context_connect(const struct tls_context *c, struct tls_socket *socket,
                                   struct tls_session *session)
{
    SSL *ssl = SSL_new(c->ctx);
    BIO *bio = ssl == NULL ? NULL : tls_bio_new(c->bio, socket);
    if (bio == NULL)
        goto fail;
    SSL_set_bio(ssl, bio, bio);
    SSL_set_connect_state(ssl);
    if (!c->ip && SSL_set_tlsext_host_name(ssl, c->name) != 1)
        goto fail;
    if (c->resume) {
        SSL_set_app_data(ssl, session);
        if (session->last != NULL && SSL_set_session(ssl, session->last) != 1)
            goto fail;
    }
    return ssl;
fail:
    SSL_free(ssl);
    ERR_clear_error();
    return NULL;
}
