/* SPDX-License-Identifier: MIT */
#include "agent/client/conn_tls.h"

#include <errno.h>

#include "agent/client/tls_error.h"
#include "common/clock.h"
#include "common/libssl.h"

/* Messages after the handshake (tickets, key updates) handled in one go. */
#define MESSAGES_MAX 16

void conn_tls_init(struct conn_tls *t, const struct tls_context *context,
                   struct tls_session *session)
{
    *t = (struct conn_tls){.context = context, .session = session, .socket = {.fd = -1}};
}

int conn_tls_open(struct conn_tls *t, int fd)
{
    conn_tls_init(t, t->context, t->session);
    t->socket.fd = fd;
    t->ssl = tls_context_connect(t->context, &t->socket, t->session);
    if (t->ssl == NULL)
        return ENOMEM;
    t->phase = CONN_TLS_HANDSHAKE;
    return 0;
}

static bool refused_certificate(const SSL *ssl)
{
    return SSL_get_verify_mode(ssl) != SSL_VERIFY_NONE && SSL_get_verify_result(ssl) != X509_V_OK;
}

#ifndef SSL_R_RECORD_LAYER_FAILURE
#define SSL_R_RECORD_LAYER_FAILURE 313 /* of OpenSSL 3.2 */
#endif

/* The last entry says it, the ones before are its details; but from OpenSSL 3.2 on one may follow
 * that only says where. */
static unsigned long telling_entry(void)
{
    unsigned long entry = ERR_get_error(), telling = entry;
    for (; entry != 0; entry = ERR_get_error())
        if (ERR_GET_LIB(entry) != ERR_LIB_SSL ||
            ERR_GET_REASON(entry) != SSL_R_RECORD_LAYER_FAILURE)
            telling = entry;
    return telling;
}

/* Why a call failed for good. The socket's own reasons come first: what OpenSSL makes of them
 * depends on its version. */
static int reason(const struct conn_tls *t)
{
    bool handshake = t->phase == CONN_TLS_HANDSHAKE;
    if (t->socket.error != 0)
        return handshake ? tls_error_system(t->socket.error) : t->socket.error;
    if (t->socket.eof)
        return handshake ? TLS_ERROR_EOF : TLS_TRUNCATED;
    if (handshake && refused_certificate(t->ssl))
        return tls_error_verify(SSL_get_verify_result(t->ssl));
    return tls_error_library(telling_entry());
}

static int broken(struct conn_tls *t)
{
    int code = reason(t);
    t->failed = true;
    ERR_clear_error();
    return code;
}

int conn_tls_handshake(struct conn_tls *t)
{
    if (t->began_ns == 0)
        t->began_ns = clock_mono_ns();
    ERR_clear_error();
    int n = SSL_do_handshake(t->ssl);
    if (n == 1) {
        t->phase = CONN_TLS_OPEN;
        t->handshake = (struct conn_handshake){
            .took_ns = clock_elapsed(t->began_ns, clock_mono_ns()),
            .resumed = SSL_session_reused(t->ssl) == 1,
            .version = SSL_get_version(t->ssl),
            .cipher = SSL_CIPHER_get_name(SSL_get_current_cipher(t->ssl)),
        };
        return CONN_TLS_DONE;
    }
    int why = SSL_get_error(t->ssl, n);
    if (why == SSL_ERROR_WANT_READ)
        return CONN_TLS_READ;
    if (why == SSL_ERROR_WANT_WRITE)
        return CONN_TLS_WRITE;
    tls_session_clear(t->session); /* in case it was the session that the server did not like */
    return -broken(t);
}

/* One record a call; `taken` once it is wholly handed to the kernel. */
static int send_some(struct conn_tls *t, const char *bytes, size_t len, size_t *taken)
{
    ERR_clear_error();
    int n = SSL_write_ex(t->ssl, bytes, len, taken);
    if (n == 1)
        return 0;
    *taken = 0;
    int why = SSL_get_error(t->ssl, n);
    t->send_needs_read = why == SSL_ERROR_WANT_READ;
    if (why == SSL_ERROR_WANT_WRITE || why == SSL_ERROR_WANT_READ)
        return EAGAIN;
    return broken(t);
}

ssize_t conn_tls_send(struct conn_tls *t, const void *bytes, size_t len)
{
    size_t sent = 0, taken;
    int error = 0;
    t->send_needs_read = false;
    while (error == 0 && sent < len) {
        error = send_some(t, (const char *)bytes + sent, len - sent, &taken);
        sent += taken;
    }
    return sent > 0 || error == 0 ? (ssize_t)sent : -error;
}

bool conn_tls_pending(const struct conn_tls *t)
{
    return SSL_has_pending(t->ssl) == 1;
}

static void end(struct conn_tls *t, int why)
{
    t->phase = CONN_TLS_ENDED;
    t->end = why;
}

/* No bytes: is it worth calling again at once? */
static bool recv_stopped(struct conn_tls *t, int n)
{
    int why = SSL_get_error(t->ssl, n);
    if (why == SSL_ERROR_WANT_READ)
        return t->socket.dry;
    t->recv_needs_write = why == SSL_ERROR_WANT_WRITE;
    if (t->recv_needs_write)
        return true;
    end(t, why == SSL_ERROR_ZERO_RETURN ? 0 : broken(t));
    return true;
}

static ssize_t ended(const struct conn_tls *t)
{
    return t->phase == CONN_TLS_ENDED ? -t->end : -EAGAIN;
}

ssize_t conn_tls_recv(struct conn_tls *t, void *buf, size_t cap, bool *more)
{
    size_t got = 0;
    unsigned messages = 0;
    bool stop = t->phase == CONN_TLS_ENDED;
    t->recv_needs_write = false;
    *more = false;
    while (!stop && got < cap && messages < MESSAGES_MAX) {
        size_t n = 0;
        ERR_clear_error();
        t->socket.dry = false;
        int rc = SSL_read_ex(t->ssl, (char *)buf + got, cap - got, &n);
        got += n;
        messages += rc != 1;
        stop = rc == 1 ? SSL_has_pending(t->ssl) == 0 : recv_stopped(t, rc);
    }
    /* What is inside OpenSSL wakes nobody up. */
    *more = !stop || (got > 0 && t->phase == CONN_TLS_ENDED);
    return got > 0 ? (ssize_t)got : ended(t);
}

bool conn_tls_has_bytes(struct conn_tls *t)
{
    char byte;
    size_t n = 0;
    unsigned messages = 0;
    bool stop = t->phase == CONN_TLS_ENDED;
    while (!stop && n == 0 && messages++ < MESSAGES_MAX) {
        ERR_clear_error();
        t->socket.dry = false;
        int rc = SSL_peek_ex(t->ssl, &byte, 1, &n);
        stop = rc != 1 && recv_stopped(t, rc);
    }
    return n > 0 || t->phase == CONN_TLS_ENDED;
}

void conn_tls_close(struct conn_tls *t)
{
    if (t->ssl == NULL)
        return;
    ERR_clear_error();
    /* Without either call OpenSSL takes the session for a bad one. */
    bool alive = t->phase == CONN_TLS_OPEN || (t->phase == CONN_TLS_ENDED && t->end == 0);
    if (alive && !t->failed)
        (void)SSL_shutdown(t->ssl);
    else if (!t->failed || t->socket.eof || t->socket.error != 0)
        SSL_set_shutdown(t->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(t->ssl);
    t->ssl = NULL;
    t->phase = CONN_TLS_CLOSED;
    ERR_clear_error();
}
