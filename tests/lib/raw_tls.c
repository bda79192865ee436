/* SPDX-License-Identifier: MIT */
#include "tests/lib/raw_tls.h"

#include <arpa/inet.h>
#include <check.h>
#include <nng/nng.h>
#include <nng/supplemental/tls/tls.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "proto/link_openssl.h"
#include "tests/lib/loop_wait.h"

static const char frame[] = "\0\0\0\002hi";
#define FRAME_LEN 6

static const char *text_of(const struct test_pki *p, const char *file, const char *ending)
{
    static char bufs[3][8192];
    static unsigned next;
    char name[80], *buf = bufs[next++ % 3];
    snprintf(name, sizeof name, "%s%s", file, ending);
    FILE *f = fopen(test_pki_path(p, name), "r");
    ck_assert_ptr_nonnull(f);
    size_t n = fread(buf, 1, sizeof bufs[0] - 1, f);
    fclose(f);
    buf[n] = '\0';
    return buf;
}

static nng_tls_config *config(const struct raw_tls *r, nng_tls_mode mode)
{
    bool server = mode == NNG_TLS_MODE_SERVER;
    nng_tls_config *c = NULL;
    struct link_keys *k = link_keys_new(server);
    const char *ca = text_of(r->pki, r->ca != NULL ? r->ca : "ca.crt", "");
    ck_assert_int_eq(link_keys_trust(k, ca, NULL, NULL), ERR_OK);
    if (r->cert != NULL)
        ck_assert_int_eq(link_keys_own(k, text_of(r->pki, r->cert, ".crt"),
                                       text_of(r->pki, r->cert, ".key"), NULL),
                         ERR_OK);
    ck_assert_int_eq(link_openssl_config(mode, k, NULL, &c), 0);
    link_keys_drop(k);
    /* A server asks for a certificate, as an agent does. */
    ck_assert_int_eq(
        nng_tls_config_auth_mode(c, server ? NNG_TLS_AUTH_MODE_OPTIONAL : NNG_TLS_AUTH_MODE_NONE),
        0);
    return c;
}

/* An nng operation and whether it has ended. */
struct op {
    nng_aio *aio;
    atomic_bool done;
};

static void ended(void *arg)
{
    struct op *op = arg;
    atomic_store(&op->done, true);
}

static void op_init(struct op *op)
{
    atomic_init(&op->done, true);
    ck_assert_int_eq(nng_aio_alloc(&op->aio, ended, op), 0);
}

/* To be called before an operation begins. */
static nng_aio *begin(struct op *op)
{
    atomic_store(&op->done, false);
    return op->aio;
}

static bool plain(const struct raw_tls *r)
{
    return r->scheme != NULL && strcmp(r->scheme, "tcp") == 0;
}

static int wait_for(struct loop *loop, struct op *op)
{
    LOOP_WAIT(loop, atomic_load(&op->done));
    return nng_aio_result(op->aio);
}

static void set_buffer(nng_aio *aio, void *data, size_t len)
{
    nng_iov iov = {.iov_buf = data, .iov_len = len};
    ck_assert_int_eq(nng_aio_set_iov(aio, 1, &iov), 0);
}

/* One frame out, one in. */
static int talk(struct loop *loop, nng_stream *s, struct op *op)
{
    char buf[64];
    memcpy(buf, frame, FRAME_LEN);
    set_buffer(op->aio, buf, FRAME_LEN);
    nng_stream_send(s, begin(op));
    int rv = wait_for(loop, op);
    if (rv != 0)
        return rv;
    set_buffer(op->aio, buf, sizeof buf);
    nng_stream_recv(s, begin(op));
    return wait_for(loop, op);
}

int raw_tls_dial(const struct raw_tls *r, struct loop *loop, const char *url)
{
    nng_stream_dialer *d = NULL;
    nng_stream *s = NULL;
    struct op op;
    char target[96];
    snprintf(target, sizeof target, "%s%s", plain(r) ? "tcp" : "tls+tcp", strstr(url, "://"));
    ck_assert_int_eq(nng_stream_dialer_alloc(&d, target), 0);
    if (!plain(r)) {
        nng_tls_config *c = config(r, NNG_TLS_MODE_CLIENT);
        ck_assert_int_eq(nng_stream_dialer_set_ptr(d, NNG_OPT_TLS_CONFIG, c), 0);
        nng_tls_config_free(c);
    }
    op_init(&op);
    nng_stream_dialer_dial(d, begin(&op));
    int rv = wait_for(loop, &op);
    if (rv == 0) {
        s = nng_aio_get_output(op.aio, 0);
        rv = talk(loop, s, &op);
        nng_stream_close(s);
        nng_stream_free(s);
    }
    nng_stream_dialer_close(d);
    nng_stream_dialer_free(d);
    nng_aio_free(op.aio);
    return rv;
}

struct raw_tls_server {
    nng_stream_listener *listener;
    nng_stream *stream;
    struct op op;
    bool answered;
    char buf[256];
    char url[64];
};

struct raw_tls_server *raw_tls_listen(const struct raw_tls *r)
{
    struct raw_tls_server *s = mem_calloc(1, sizeof *s);
    const char *scheme = plain(r) ? "tcp" : "tls+tcp";
    nng_sockaddr sa;
    snprintf(s->url, sizeof s->url, "%s://127.0.0.1:0", scheme);
    ck_assert_int_eq(nng_stream_listener_alloc(&s->listener, s->url), 0);
    if (!plain(r)) {
        nng_tls_config *c = config(r, NNG_TLS_MODE_SERVER);
        ck_assert_int_eq(nng_stream_listener_set_ptr(s->listener, NNG_OPT_TLS_CONFIG, c), 0);
        nng_tls_config_free(c);
    }
    ck_assert_int_eq(nng_stream_listener_listen(s->listener), 0);
    ck_assert_int_eq(nng_stream_listener_get_addr(s->listener, NNG_OPT_LOCADDR, &sa), 0);
    snprintf(s->url, sizeof s->url, "tls+tcp://127.0.0.1:%u", ntohs(sa.s_in.sa_port));
    op_init(&s->op);
    nng_stream_listener_accept(s->listener, begin(&s->op));
    return s;
}

const char *raw_tls_url(const struct raw_tls_server *s)
{
    return s->url;
}

void raw_tls_turn(struct raw_tls_server *s)
{
    if (s->answered || !atomic_load(&s->op.done))
        return;
    if (nng_aio_result(s->op.aio) != 0) {
        s->answered = true;
        if (s->stream != NULL)
            nng_stream_close(s->stream);
    } else if (s->stream == NULL) {
        s->stream = nng_aio_get_output(s->op.aio, 0);
        set_buffer(s->op.aio, s->buf, sizeof s->buf);
        nng_stream_recv(s->stream, begin(&s->op));
    } else {
        memcpy(s->buf, frame, FRAME_LEN);
        set_buffer(s->op.aio, s->buf, FRAME_LEN);
        nng_stream_send(s->stream, begin(&s->op));
        s->answered = true;
    }
}

void raw_tls_close(struct raw_tls_server *s)
{
    nng_stream_listener_close(s->listener);
    if (s->stream != NULL)
        nng_stream_close(s->stream);
    nng_aio_stop(s->op.aio);
    nng_aio_free(s->op.aio);
    if (s->stream != NULL)
        nng_stream_free(s->stream);
    nng_stream_listener_free(s->listener);
    mem_free(s);
}
