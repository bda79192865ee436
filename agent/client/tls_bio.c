/* SPDX-License-Identifier: MIT */
#include "agent/client/tls_bio.h"

#include <errno.h>
#include <sys/socket.h>

#include "common/libssl.h"

static int failed(BIO *b, struct tls_socket *s, void (*again)(BIO *b))
{
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        again(b);
    else
        s->error = errno;
    return -1;
}

static void read_again(BIO *b)
{
    ((struct tls_socket *)BIO_get_data(b))->dry = true;
    BIO_set_retry_read(b);
}

static void write_again(BIO *b)
{
    BIO_set_retry_write(b);
}

static int bio_read(BIO *b, char *buf, int len)
{
    struct tls_socket *s = BIO_get_data(b);
    ssize_t n;
    BIO_clear_retry_flags(b);
    do
        n = recv(s->fd, buf, (size_t)len, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return failed(b, s, read_again);
    s->eof = n == 0;
    return (int)n;
}

static int bio_write(BIO *b, const char *buf, int len)
{
    struct tls_socket *s = BIO_get_data(b);
    ssize_t n;
    BIO_clear_retry_flags(b);
    do
        n = send(s->fd, buf, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? failed(b, s, write_again) : (int)n;
}

/* The socket is the connection's: nothing to free. */
static long bio_ctrl(BIO *b, int cmd, long num, void *ptr)
{
    (void)num, (void)ptr;
    if (cmd == BIO_CTRL_EOF)
        return ((struct tls_socket *)BIO_get_data(b))->eof;
    return cmd == BIO_CTRL_FLUSH;
}

struct bio_method_st *tls_bio_method_new(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "hammer");
    if (m == NULL)
        return NULL;
    BIO_meth_set_read(m, bio_read);
    BIO_meth_set_write(m, bio_write);
    BIO_meth_set_ctrl(m, bio_ctrl);
    return m;
}

struct bio_st *tls_bio_new(const struct bio_method_st *m, struct tls_socket *s)
{
    BIO *b = BIO_new(m);
    if (b == NULL)
        return NULL;
    BIO_set_data(b, s);
    BIO_set_init(b, 1);
    return b;
}
