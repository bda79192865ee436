/* SPDX-License-Identifier: MIT */
#include "tests/lib/tls_front.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/libssl.h"

#define LIMIT_S 20
#define BLOCK   65536

struct peer {
    struct tls_front *front;
    pthread_t thread;
    int fd, behind; /* -1 = closed */
    SSL *ssl;
};

struct tls_front {
    struct tls_front_options o;
    SSL_CTX *ctx;
    int listener;
    uint16_t port;
    pthread_t thread;
    pthread_mutex_t lock; /* seen, peers' descriptors against stop */
    struct tls_front_seen seen;
    bool stop;
    struct peer peers[TLS_FRONT_CONNS_MAX];
};

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    ERR_print_errors_fp(stderr);
    abort();
}

/* --- relaying ------------------------------------------------------------------------------- */

static bool send_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

/* False = the client has ended. */
static bool from_client(struct peer *p)
{
    char buf[BLOCK];
    do {
        int n = SSL_read(p->ssl, buf, sizeof buf);
        if (n <= 0) {
            bool goodbye = SSL_get_error(p->ssl, n) == SSL_ERROR_ZERO_RETURN;
            pthread_mutex_lock(&p->front->lock);
            p->front->seen.goodbyes += goodbye;
            pthread_mutex_unlock(&p->front->lock);
            return false;
        }
        (void)send_all(p->behind, buf, (size_t)n);
    } while (SSL_pending(p->ssl) > 0);
    return true;
}

static void say_goodbye(struct peer *p)
{
    static const char garbage[] = "this is no record, and never was meant to be one";
    if (p->front->o.end == TLS_FRONT_GOODBYE)
        (void)SSL_shutdown(p->ssl);
    else if (p->front->o.end == TLS_FRONT_GARBAGE)
        (void)send_all(p->fd, garbage, sizeof garbage);
    shutdown(p->fd, SHUT_WR); /* what it still sends is read, so that no reset eats the above */
    while (recv(p->fd, (char[BLOCK]){0}, BLOCK, 0) > 0)
        ;
}

/* False = the server behind has ended. */
static bool from_behind(struct peer *p)
{
    char buf[BLOCK];
    ssize_t n = recv(p->behind, buf, sizeof buf, 0);
    if (n < 0) { /* a reset is passed on as one */
        struct linger now = {.l_onoff = 1, .l_linger = 0};
        setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        return false;
    }
    if (n == 0) {
        say_goodbye(p);
        return false;
    }
    if (p->front->o.key_updates && SSL_version(p->ssl) == TLS1_3_VERSION)
        (void)SSL_key_update(p->ssl, SSL_KEY_UPDATE_REQUESTED);
    return SSL_write(p->ssl, buf, (int)n) > 0;
}

static void relay(struct peer *p)
{
    struct pollfd fds[2] = {{.fd = p->fd, .events = POLLIN}, {.fd = p->behind, .events = POLLIN}};
    while (poll(fds, 2, LIMIT_S * 1000) > 0) {
        if (fds[1].revents != 0 && !from_behind(p))
            return;
        if (fds[0].revents != 0 && !from_client(p))
            return;
    }
}

/* --- a connection --------------------------------------------------------------------------- */

static bool connect_behind(struct peer *p)
{
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_port = htons(p->front->o.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0, "socket");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    bool ok = connect(fd, (struct sockaddr *)&sa, sizeof sa) == 0;
    pthread_mutex_lock(&p->front->lock);
    p->behind = fd;
    ok = ok && !p->front->stop;
    pthread_mutex_unlock(&p->front->lock);
    return ok;
}

static void note_handshake(struct peer *p)
{
    struct tls_front_seen *seen = &p->front->seen;
    const char *sni = SSL_get_servername(p->ssl, TLSEXT_NAMETYPE_host_name);
    const unsigned char *alpn;
    unsigned len;
    SSL_get0_alpn_selected(p->ssl, &alpn, &len);
    pthread_mutex_lock(&p->front->lock);
    seen->handshakes++;
    seen->resumed += SSL_session_reused(p->ssl) == 1;
    seen->alpn += len == 8;
    snprintf(seen->sni, sizeof seen->sni, "%s", sni != NULL ? sni : "");
    pthread_mutex_unlock(&p->front->lock);
}

static void *run_peer(void *arg)
{
    struct peer *p = arg;
    struct tls_front *f = p->front;
    if (SSL_accept(p->ssl) == 1) {
        note_handshake(p);
        if (connect_behind(p))
            relay(p);
    }
    pthread_mutex_lock(&f->lock);
    if (p->behind >= 0)
        close(p->behind);
    close(p->fd);
    p->fd = p->behind = -1;
    pthread_mutex_unlock(&f->lock);
    SSL_free(p->ssl);
    ERR_clear_error();
    return NULL;
}

static void start_peer(struct tls_front *f, int fd)
{
    struct timeval limit = {.tv_sec = LIMIT_S};
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    must(f->seen.accepted < TLS_FRONT_CONNS_MAX, "too many connections");
    struct peer *p = &f->peers[f->seen.accepted];
    *p = (struct peer){.front = f, .fd = fd, .behind = -1, .ssl = SSL_new(f->ctx)};
    must(p->ssl != NULL && SSL_set_fd(p->ssl, fd) == 1, "SSL_new");
    pthread_mutex_lock(&f->lock);
    f->seen.accepted++;
    pthread_mutex_unlock(&f->lock);
    must(pthread_create(&p->thread, NULL, run_peer, p) == 0, "pthread_create");
}

static void *run_acceptor(void *arg)
{
    struct tls_front *f = arg;
    for (;;) {
        int fd = accept(f->listener, NULL, NULL);
        if (fd < 0)
            return NULL; /* the listener was shut down */
        start_peer(f, fd);
    }
}

/* --- all ------------------------------------------------------------------------------------ */

/* Only where nothing but http/1.1 is offered. */
static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                   const unsigned char *in, unsigned in_len, void *arg)
{
    (void)ssl, (void)arg;
    if (in_len != 9 || memcmp(in, "\x08http/1.1", 9) != 0)
        return SSL_TLSEXT_ERR_NOACK;
    *out = in + 1;
    *out_len = 8;
    return SSL_TLSEXT_ERR_OK;
}

static SSL_CTX *make_context(const struct tls_front_options *o)
{
    const char *cert = o->cert != NULL ? o->cert : "server";
    char file[96];
    SSL_CTX *c = SSL_CTX_new(TLS_server_method());
    must(c != NULL, "SSL_CTX_new");
    /* Old versions are nothing that OpenSSL would speak by default. */
    must(SSL_CTX_set_cipher_list(c, "DEFAULT@SECLEVEL=0") == 1, "ciphers");
    SSL_CTX_set_min_proto_version(c, o->version);
    SSL_CTX_set_max_proto_version(c, o->version);
    snprintf(file, sizeof file, "%s.crt", cert);
    must(SSL_CTX_use_certificate_chain_file(c, test_pki_path(o->pki, file)) == 1, "certificate");
    snprintf(file, sizeof file, "%s.key", cert);
    must(SSL_CTX_use_PrivateKey_file(c, test_pki_path(o->pki, file), SSL_FILETYPE_PEM) == 1, "key");
    SSL_CTX_set_session_id_context(c, (const unsigned char *)"front", 5);
    SSL_CTX_set_alpn_select_cb(c, on_alpn, NULL);
    if (o->no_sessions) {
        SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_options(c, SSL_OP_NO_TICKET);
        SSL_CTX_set_num_tickets(c, 0);
    }
    if (o->client != NULL) {
        must(SSL_CTX_load_verify_file(c, test_pki_path(o->pki, o->client)) == 1, "client's CA");
        SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    return c;
}

struct tls_front *tls_front_start(const struct tls_front_options *o)
{
    struct tls_front *f = calloc(1, sizeof *f);
    must(f != NULL, "calloc");
    f->o = *o;
    f->ctx = make_context(o);
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;
    f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(f->listener >= 0, "socket");
    must(bind(f->listener, (struct sockaddr *)&sa, sizeof sa) == 0, "bind");
    must(listen(f->listener, 128) == 0, "listen");
    must(getsockname(f->listener, (struct sockaddr *)&sa, &len) == 0, "getsockname");
    f->port = ntohs(sa.sin_port);
    pthread_mutex_init(&f->lock, NULL);
    sigset_t pipe, old; /* libssl's own BIO writes with write(2) */
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &old);
    must(pthread_create(&f->thread, NULL, run_acceptor, f) == 0, "pthread_create");
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return f;
}

static void shut(int fd)
{
    if (fd >= 0)
        shutdown(fd, SHUT_RDWR);
}

void tls_front_stop(struct tls_front *f)
{
    shutdown(f->listener, SHUT_RDWR);
    pthread_join(f->thread, NULL);
    close(f->listener);
    pthread_mutex_lock(&f->lock);
    f->stop = true;
    for (size_t i = 0; i < f->seen.accepted; i++) {
        shut(f->peers[i].fd);
        shut(f->peers[i].behind);
    }
    pthread_mutex_unlock(&f->lock);
    for (size_t i = 0; i < f->seen.accepted; i++)
        pthread_join(f->peers[i].thread, NULL);
    pthread_mutex_destroy(&f->lock);
    SSL_CTX_free(f->ctx);
    free(f);
}

uint16_t tls_front_port(const struct tls_front *f)
{
    return f->port;
}

void tls_front_seen(struct tls_front *f, struct tls_front_seen *seen)
{
    pthread_mutex_lock(&f->lock);
    *seen = f->seen;
    pthread_mutex_unlock(&f->lock);
}
