/* SPDX-License-Identifier: MIT */
#include "tests/lib/raw_tls.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/libssl.h"
#include "common/mem.h"
#include "tests/lib/link_end.h"
#include "tests/lib/loop_wait.h"

static const char frame[] = "\0\0\0\002hi";
#define FRAME_LEN 6

/* A socket that does not block, in TLS or not. */
struct end {
    SSL_CTX *ctx; /* NULL = plain */
    SSL *ssl;
    int fd;
};

static bool plain(const struct raw_tls *r)
{
    return r->scheme != NULL && strcmp(r->scheme, "tcp") == 0;
}

static const char *path_of(const struct test_pki *p, const char *file, const char *ending)
{
    char name[80];
    snprintf(name, sizeof name, "%s%s", file, ending);
    return test_pki_path(p, name);
}

/* A server asks for a certificate, as an agent does; neither insists on a good one. */
static SSL_CTX *context(const struct raw_tls *r, bool server)
{
    SSL_CTX *c = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
    const char *ca = path_of(r->pki, r->ca != NULL ? r->ca : "ca.crt", "");
    ck_assert_int_eq(SSL_CTX_load_verify_locations(c, ca, NULL), 1);
    SSL_CTX_set_verify(c, server ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
    if (r->cert == NULL)
        return c;
    ck_assert_int_eq(
        SSL_CTX_use_certificate_file(c, path_of(r->pki, r->cert, ".crt"), SSL_FILETYPE_PEM), 1);
    ck_assert_int_eq(
        SSL_CTX_use_PrivateKey_file(c, path_of(r->pki, r->cert, ".key"), SSL_FILETYPE_PEM), 1);
    return c;
}

/* Takes the socket. */
static void end_open(struct end *e, int fd, SSL_CTX *ctx)
{
    e->fd = fd;
    signal(SIGPIPE, SIG_IGN); /* OpenSSL writes to sockets that the other end has closed */
    ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    if (ctx == NULL)
        return;
    e->ssl = SSL_new(ctx);
    ck_assert_int_eq(SSL_set_fd(e->ssl, fd), 1);
    if (SSL_is_server(e->ssl))
        SSL_set_accept_state(e->ssl);
    else
        SSL_set_connect_state(e->ssl);
}

static void end_close(struct end *e)
{
    SSL_free(e->ssl);
    if (e->fd >= 0)
        close(e->fd);
    e->ssl = NULL;
    e->fd = -1;
    ERR_clear_error();
}

enum outcome {
    LATER,
    DONE,
    FAILED
};

static enum outcome judge(const struct end *e, int rc)
{
    if (rc > 0)
        return DONE;
    int why = e->ssl != NULL ? SSL_get_error(e->ssl, rc) : 0;
    ERR_clear_error();
    bool later = e->ssl != NULL ? why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE
                                : rc < 0 && errno == EAGAIN;
    return later ? LATER : FAILED;
}

/* The frame is small: in one piece or not at all. */
static enum outcome end_send(struct end *e)
{
    return judge(e, e->ssl != NULL ? SSL_write(e->ssl, frame, FRAME_LEN)
                                   : (int)send(e->fd, frame, FRAME_LEN, MSG_NOSIGNAL));
}

static enum outcome end_recv(struct end *e)
{
    char buf[256];
    return judge(e, e->ssl != NULL ? SSL_read(e->ssl, buf, sizeof buf)
                                   : (int)recv(e->fd, buf, sizeof buf, 0));
}

bool raw_tls_dial(const struct raw_tls *r, struct loop *loop, const char *url)
{
    struct end e = {.ctx = plain(r) ? NULL : context(r, false)};
    enum outcome o = LATER;
    end_open(&e, raw_connect(url), e.ctx);
    LOOP_WAIT(loop, (o = end_send(&e)) != LATER);
    if (o == DONE)
        LOOP_WAIT(loop, (o = end_recv(&e)) != LATER);
    end_close(&e);
    SSL_CTX_free(e.ctx);
    return o == DONE;
}

struct raw_tls_server {
    int listener;
    struct end end;
    bool asked, answered;
    char url[64];
};

struct raw_tls_server *raw_tls_listen(const struct raw_tls *r)
{
    struct raw_tls_server *s = mem_calloc(1, sizeof *s);
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof sin;
    s->end = (struct end){.ctx = plain(r) ? NULL : context(r, true), .fd = -1};
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(s->listener, (struct sockaddr *)&sin, sizeof sin), 0);
    ck_assert_int_eq(listen(s->listener, 8), 0);
    ck_assert_int_eq(getsockname(s->listener, (struct sockaddr *)&sin, &len), 0);
    snprintf(s->url, sizeof s->url, "tls+tcp://127.0.0.1:%u", ntohs(sin.sin_port));
    return s;
}

const char *raw_tls_url(const struct raw_tls_server *s)
{
    return s->url;
}

void raw_tls_turn(struct raw_tls_server *s)
{
    if (s->answered)
        return;
    if (s->end.fd < 0) {
        int fd = accept(s->listener, NULL, NULL);
        if (fd >= 0)
            end_open(&s->end, fd, s->end.ctx);
        return;
    }
    enum outcome o = s->asked ? end_send(&s->end) : end_recv(&s->end);
    s->answered = o == FAILED || (s->asked && o == DONE);
    s->asked = s->asked || o == DONE;
    if (o == FAILED)
        end_close(&s->end);
}

void raw_tls_close(struct raw_tls_server *s)
{
    end_close(&s->end);
    SSL_CTX_free(s->end.ctx);
    close(s->listener);
    mem_free(s);
}
