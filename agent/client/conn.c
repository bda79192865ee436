/* SPDX-License-Identifier: MIT */
#include "agent/client/conn.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

#define UNLIKELY(x) __builtin_expect((x), 0)

static void on_event(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    struct conn *c = arg;
    c->fn(c->arg, (what & EV_WRITE) != 0 ? CONN_WRITABLE : CONN_READABLE);
}

/* Room in the socket: for a handshake, for a read that had to write first, for the sender. */
static void on_room(struct conn *c)
{
    struct conn_tls *t = c->tls;
    if (t->recv_needs_write)
        conn_poke(c);
    if (t->phase == CONN_TLS_HANDSHAKE || t->sender_waits) {
        t->sender_waits = false;
        c->fn(c->arg, CONN_WRITABLE);
    }
}

/* Bytes: for a handshake, for a send that had to read first, for the reader. */
static void on_bytes(struct conn *c)
{
    struct conn_tls *t = c->tls;
    if (t->phase == CONN_TLS_HANDSHAKE) {
        c->fn(c->arg, CONN_WRITABLE);
    } else if (t->send_needs_read && t->sender_waits) {
        t->sender_waits = false;
        conn_poke(c); /* the send takes in what has come: nobody else would be told of it */
        c->fn(c->arg, CONN_WRITABLE);
    } else {
        c->fn(c->arg, CONN_READABLE);
    }
}

static void on_tls_event(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    if ((what & EV_WRITE) != 0)
        on_room(arg);
    else
        on_bytes(arg);
}

void conn_init(struct conn *c, struct event_base *base, conn_fn fn, void *arg)
{
    *c = (struct conn){.fd = -1, .base = base, .fn = fn, .arg = arg};
}

void conn_use_tls(struct conn *c, struct conn_tls *tls)
{
    c->tls = tls;
}

/* Both are best effort: without them the run is slower or knows less, not wrong. */
static void set_options(int fd, bool stamps)
{
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (stamps)
        (void)setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
}

/* The port is chosen at connect(), where only the four of a connection must differ. */
static int bind_source(struct conn *c, int fd, const struct target *t, int family)
{
    int on = 1;
    for (size_t i = 0; i < t->n_sources; i++) {
        const struct target_addr *from = &t->sources[c->turn++ % t->n_sources];
        if (from->sa.ss_family != family)
            continue;
        (void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
        return bind(fd, (const struct sockaddr *)&from->sa, from->len) == 0 ? 0 : errno;
    }
    return t->n_sources == 0 ? 0 : EAFNOSUPPORT;
}

/* An open socket that has begun to connect, or -errno. */
static int begin(struct conn *c, const struct target *t, const struct target_addr *to)
{
    int fd = socket(to->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (to->sa.ss_family != AF_UNIX)
        set_options(fd, c->tls == NULL);
    int error = bind_source(c, fd, t, to->sa.ss_family);
    if (error == 0 && connect(fd, (const struct sockaddr *)&to->sa, to->len) != 0)
        error = errno == EINPROGRESS ? 0 : errno;
    if (error == 0)
        return fd;
    close(fd);
    return -error;
}

int conn_open(struct conn *c, const struct target *t, const struct target_addr *to)
{
    if (!target_allows(t, (const struct sockaddr *)&to->sa))
        return CONN_FORBIDDEN;
    int fd = begin(c, t, to);
    if (fd < 0)
        return -fd;
    c->fd = fd;
    c->through = t->tunnel;
    c->tunnel = (struct conn_tunnel){0};
    event_callback_fn on = c->tls == NULL ? on_event : on_tls_event;
    event_assign(&c->readable, c->base, fd, EV_READ | EV_PERSIST, on, c);
    event_assign(&c->writable, c->base, fd, EV_WRITE, on, c);
    if ((c->tls != NULL && conn_tls_open(c->tls, fd) != 0) || event_add(&c->writable, NULL) != 0) {
        conn_close(c);
        return ENOMEM;
    }
    return 0;
}

static int connected(struct conn *c)
{
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        return errno;
    if (error == 0 && event_add(&c->readable, NULL) != 0)
        error = ENOMEM;
    return error;
}

static int shake_hands(struct conn *c)
{
    int step = conn_tls_handshake(c->tls);
    if (step < 0)
        return -step;
    if (step == CONN_TLS_WRITE && event_add(&c->writable, NULL) != 0)
        return ENOMEM;
    if (step != CONN_TLS_DONE)
        return CONN_PENDING;
    if (conn_tls_pending(c->tls)) /* the first tickets, as a rule */
        conn_poke(c);
    return 0;
}

static int pass_tunnel(struct conn *c)
{
    int step = conn_tunnel_step(&c->tunnel, c->fd, c->through);
    if (step < 0)
        return -step;
    if (step == CONN_TUNNEL_WRITE && event_add(&c->writable, NULL) != 0)
        return ENOMEM;
    return step == CONN_TUNNEL_DONE ? 0 : CONN_PENDING;
}

int conn_opened(struct conn *c)
{
    bool is_connected = conn_shaking_hands(c) || c->tunnel.written > 0;
    int error = is_connected ? 0 : connected(c);
    if (error == 0 && UNLIKELY(c->through != NULL))
        error = pass_tunnel(c);
    return error == 0 && c->tls != NULL ? shake_hands(c) : error;
}

bool conn_shaking_hands(const struct conn *c)
{
    return c->tls != NULL && c->tls->phase == CONN_TLS_HANDSHAKE && c->tls->began_ns != 0;
}

ssize_t conn_send(struct conn *c, const void *bytes, size_t len)
{
    ssize_t n;
    if (UNLIKELY(c->tls != NULL))
        return conn_tls_send(c->tls, bytes, len);
    do
        n = send(c->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

void conn_want_write(struct conn *c)
{
    if (c->tls != NULL) {
        c->tls->sender_waits = true;
        if (c->tls->send_needs_read)
            return;
    }
    event_add(&c->writable, NULL);
}

static uint64_t stamp_of(struct msghdr *m)
{
    for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h != NULL; h = CMSG_NXTHDR(m, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_TIMESTAMPNS)
            continue;
        struct timespec ts;
        memcpy(&ts, CMSG_DATA(h), sizeof ts);
        return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
    }
    return 0;
}

static ssize_t recv_stamped(int fd, void *buf, size_t cap, int flags, uint64_t *kernel_ns)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct timespec))];
    } control;
    struct iovec iov = {.iov_base = buf, .iov_len = cap};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(fd, &m, flags);
    if (n > 0)
        *kernel_ns = stamp_of(&m);
    return n;
}

static void receive(const struct conn *c, void *buf, size_t cap, int flags, bool stamped,
                    struct conn_read *out)
{
    out->kernel_ns = 0;
    do
        out->n = stamped ? recv_stamped(c->fd, buf, cap, flags, &out->kernel_ns)
                         : recv(c->fd, buf, cap, flags);
    while (out->n < 0 && errno == EINTR);
    if (out->n < 0)
        out->n = -errno;
}

static void receive_tls(struct conn *c, void *buf, size_t cap, struct conn_read *out)
{
    bool more;
    out->kernel_ns = 0;
    out->n = conn_tls_recv(c->tls, buf, cap, &more);
    if (more)
        conn_poke(c);
    if (c->tls->recv_needs_write)
        event_add(&c->writable, NULL);
}

void conn_recv(struct conn *c, void *buf, size_t cap, bool stamped, struct conn_read *out)
{
    if (UNLIKELY(c->tls != NULL))
        receive_tls(c, buf, cap, out);
    else
        receive(c, buf, cap, MSG_DONTWAIT, stamped, out);
}

/* tcp(7): with MSG_TRUNC the bytes are discarded instead of copied. */
void conn_drop(struct conn *c, void *buf, size_t cap, bool stamped, struct conn_read *out)
{
    if (UNLIKELY(c->tls != NULL))
        receive_tls(c, buf, cap, out);
    else
        receive(c, buf, cap, MSG_DONTWAIT | MSG_TRUNC, stamped, out);
}

bool conn_has_bytes(const struct conn *c)
{
    char byte;
    if (c->tls != NULL)
        return conn_tls_has_bytes(c->tls);
    return recv(c->fd, &byte, sizeof byte, MSG_DONTWAIT | MSG_PEEK) > 0;
}

void conn_poke(struct conn *c)
{
    event_active(&c->readable, EV_READ, 0);
}

void conn_close(struct conn *c)
{
    if (c->fd < 0)
        return;
    event_del(&c->readable);
    event_del(&c->writable);
    if (c->tls != NULL)
        conn_tls_close(c->tls);
    close(c->fd);
    c->fd = -1;
}
