/* SPDX-License-Identifier: MIT */
#include "proto/link_openssl.h"

#include <nng/supplemental/tls/engine.h>
#include <string.h>

#include "common/libssl.h"
#include "common/mem.h"

struct nng_tls_engine_config {
    nng_tls_auth_mode auth;
    struct link_keys *keys;  /* NULL until they are handed over */
    struct link_story *told; /* NULL = nobody asks */
    char *server_name;
};

/* All but init and fini are called with nng's lock of the connection held. */
struct nng_tls_engine_conn {
    const nng_tls_engine_config *config;
    struct link_pipe pipe;
    SSL *ssl;
    int over; /* nng's error that ended it, 0 = it goes on */
    struct link_story story;
};

/* OpenSSL would tear itself down in exit(), while nng's reaper may still be freeing connections.
 * Only the first call of all can say no. */
__attribute__((constructor)) static void keep_openssl(void)
{
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}

/* --- connections ------------------------------------------------------------------------------ */

static int verify_mode(nng_tls_auth_mode auth)
{
    if (auth == NNG_TLS_AUTH_MODE_NONE)
        return SSL_VERIFY_NONE;
    return auth == NNG_TLS_AUTH_MODE_OPTIONAL ? SSL_VERIFY_PEER
                                              : SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
}

/* A name is a DNS name, even when it looks like an address. */
static bool set_up(SSL *ssl, const nng_tls_engine_config *cfg)
{
    const char *name = cfg->server_name;
    SSL_set_verify(ssl, verify_mode(cfg->auth), NULL);
    return name == NULL || (SSL_set_tlsext_host_name(ssl, name) == 1 &&
                            X509_VERIFY_PARAM_set1_host(SSL_get0_param(ssl), name, 0) == 1);
}

static int conn_init(nng_tls_engine_conn *c, void *tls, nng_tls_engine_config *cfg)
{
    c->config = cfg;
    c->pipe.nng = tls;
    if (cfg->keys == NULL)
        return NNG_ECRYPTO;
    c->ssl = link_keys_connect(cfg->keys, &c->pipe);
    if (c->ssl == NULL)
        return NNG_ENOMEM;
    if (set_up(c->ssl, cfg))
        return 0;
    ERR_clear_error();
    return NNG_ECRYPTO;
}

/* nng also calls this for a connection that never came to conn_init: all zero. */
static void conn_fini(nng_tls_engine_conn *c)
{
    SSL_free(c->ssl);
    ERR_clear_error();
}

/* libssl's first entry says what happened; entries of libcrypto before it are about a signature or
 * the like. An alert of the peer's is a reason above SSL_AD_REASON_OFFSET. */
static void remember(nng_tls_engine_conn *c)
{
    unsigned long e = ERR_get_error();
    while (e != 0 && ERR_GET_LIB(e) != ERR_LIB_SSL)
        e = ERR_get_error();
    int reason = ERR_GET_REASON(e);
    if (reason > SSL_AD_REASON_OFFSET)
        c->story.alert = reason - SSL_AD_REASON_OFFSET;
    else
        c->story.reason = reason;
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
        c->story.verify = SSL_get_verify_result(c->ssl);
}

/* What nng is told about a call that has returned `rc`, which was no success. A goodbye, which only
 * a finished handshake allows, is a refused connection to nng's own engine as well. */
static int failed(nng_tls_engine_conn *c, int rc)
{
    int why = SSL_get_error(c->ssl, rc);
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE)
        return NNG_EAGAIN;
    if (why == SSL_ERROR_ZERO_RETURN) {
        c->over = NNG_ECONNREFUSED;
    } else if (c->pipe.error != 0) {
        c->over = c->pipe.error;
    } else {
        remember(c);
        c->over = c->story.verify != 0 ? NNG_EPEERAUTH : NNG_ECRYPTO;
    }
    ERR_clear_error();
    return c->over;
}

static int conn_handshake(nng_tls_engine_conn *c)
{
    if (c->over != 0)
        return c->over;
    ERR_clear_error();
    int rc = SSL_do_handshake(c->ssl);
    return rc == 1 ? 0 : failed(c, rc);
}

static int conn_recv(nng_tls_engine_conn *c, uint8_t *buf, size_t *szp)
{
    if (c->over != 0)
        return c->over;
    ERR_clear_error();
    int rc = SSL_read_ex(c->ssl, buf, *szp, szp);
    return rc == 1 ? 0 : failed(c, rc);
}

static int conn_send(nng_tls_engine_conn *c, const uint8_t *buf, size_t *szp)
{
    if (c->over != 0)
        return c->over;
    ERR_clear_error();
    int rc = SSL_write_ex(c->ssl, buf, *szp, szp);
    return rc == 1 ? 0 : failed(c, rc);
}

static void conn_close(nng_tls_engine_conn *c)
{
    if (c->over != 0 || c->ssl == NULL)
        return;
    if (SSL_is_init_finished(c->ssl))
        SSL_shutdown(c->ssl); /* into nng's buffer, as far as there is room */
    ERR_clear_error();
    c->over = NNG_ECLOSED;
}

static bool conn_verified(nng_tls_engine_conn *c)
{
    c->story.finished = SSL_is_init_finished(c->ssl);
    if (c->config->told != NULL)
        *c->config->told = c->story;
    return c->story.finished && SSL_get_verify_result(c->ssl) == X509_V_OK;
}

/* --- configurations --------------------------------------------------------------------------- */

/* nng makes one with each dialer and listener, which ours then replace: nothing that costs. */
static int config_init(nng_tls_engine_config *cfg, nng_tls_mode mode)
{
    (void)mode;
    cfg->auth = NNG_TLS_AUTH_MODE_REQUIRED;
    return 0;
}

static void config_fini(nng_tls_engine_config *cfg)
{
    link_keys_drop(cfg->keys);
    mem_free(cfg->server_name);
}

static int config_server(nng_tls_engine_config *cfg, const char *name)
{
    mem_free(cfg->server_name);
    cfg->server_name = mem_strdup(name);
    return 0;
}

static int config_auth(nng_tls_engine_config *cfg, nng_tls_auth_mode auth)
{
    cfg->auth = auth;
    return 0;
}

/* Keys and their asker come by nng's only way into a configuration, which hands texts through as
 * they are: the address of this one says what the other really is. */
static const char handover[] = "struct link_gift";

struct link_gift {
    struct link_keys *keys;
    struct link_story *told;
};

static int config_ca_chain(nng_tls_engine_config *cfg, const char *certs, const char *crl)
{
    if (crl != handover)
        return NNG_ENOTSUP;
    const struct link_gift *gift = (const void *)certs;
    link_keys_drop(cfg->keys);
    cfg->keys = link_keys_hold(gift->keys);
    cfg->told = gift->told;
    return 0;
}

/* What is in the keys already, or follows from them. */
static int config_own_cert(nng_tls_engine_config *cfg, const char *cert, const char *key,
                           const char *pass)
{
    (void)cfg, (void)cert, (void)key, (void)pass;
    return NNG_ENOTSUP;
}

static int config_version(nng_tls_engine_config *cfg, nng_tls_version lowest,
                          nng_tls_version highest)
{
    (void)cfg, (void)lowest, (void)highest;
    return NNG_ENOTSUP;
}

/* --- the engine ------------------------------------------------------------------------------- */

/* Written by nobody, but nng's type does not say const. Operations that only newer versions of nng
 * know (psk, peer_cn, peer_alt_names) stay NULL: they serve calls and options that we never use. */
static nng_tls_engine_conn_ops conn_ops = {
    .size = sizeof(nng_tls_engine_conn),
    .init = conn_init,
    .fini = conn_fini,
    .close = conn_close,
    .handshake = conn_handshake,
    .recv = conn_recv,
    .send = conn_send,
    .verified = conn_verified,
};

static nng_tls_engine_config_ops config_ops = {
    .size = sizeof(nng_tls_engine_config),
    .init = config_init,
    .fini = config_fini,
    .server = config_server,
    .auth = config_auth,
    .ca_chain = config_ca_chain,
    .own_cert = config_own_cert,
    .version = config_version,
};

static const nng_tls_engine engine = {
    .version = NNG_TLS_ENGINE_VERSION,
    .config_ops = &config_ops,
    .conn_ops = &conn_ops,
    .name = "hammer-openssl",
    .description = OPENSSL_VERSION_TEXT,
    .fips_mode = false,
};

enum err link_openssl_start(struct errmsg *msg)
{
    (void)nng_tls_engine_name(); /* starts nng, which would put its own engine over ours */
    int rv = nng_tls_engine_register(&engine);
    if (rv == 0)
        return ERR_OK;
    return errmsg_set(msg, ERR_SYSTEM,
                      "libnng %s does not take OpenSSL as its TLS engine (version %d of the "
                      "interface): %s",
                      nng_version(), (int)NNG_TLS_ENGINE_VERSION, nng_strerror(rv));
}

int link_openssl_config(nng_tls_mode mode, struct link_keys *keys, struct link_story *told,
                        nng_tls_config **out)
{
    const struct link_gift gift = {keys, told};
    nng_tls_config *c = NULL;
    int rv = nng_tls_config_alloc(&c, mode);
    if (rv == 0)
        rv = nng_tls_config_auth_mode(c, NNG_TLS_AUTH_MODE_REQUIRED);
    if (rv == 0)
        rv = nng_tls_config_ca_chain(c, (const void *)&gift, handover);
    if (rv == 0)
        *out = c;
    else if (c != NULL)
        nng_tls_config_free(c);
    return rv;
}

void link_openssl_ask(nng_stream *s)
{
    bool good;
    (void)nng_stream_get_bool(s, NNG_OPT_TLS_VERIFIED, &good);
}
