/* SPDX-License-Identifier: MIT */
#include "tests/lib/hostile_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct peer {
    struct hostile_server *server;
    const struct hostile_step *script;
    pthread_t thread;
    int fd;
    size_t have;
    char buf[HOSTILE_REQUEST_MAX];
};

struct hostile_server {
    const struct hostile_step *const *scripts;
    size_t n_scripts;
    int listener;
    uint16_t port;
    pthread_t thread;
    pthread_mutex_t lock; /* last_head, peers' fds against stop */
    pthread_cond_t stopping;
    bool stop;
    atomic_uint_fast64_t accepted, requests;
    char last_head[HOSTILE_REQUEST_MAX + 1];
    struct peer peers[HOSTILE_CONNS_MAX];
};

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    abort();
}

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

static bool skip_body(struct peer *p, size_t len)
{
    char sink[65536];
    size_t from_buf = len < p->have ? len : p->have;
    memmove(p->buf, p->buf + from_buf, p->have - from_buf);
    p->have -= from_buf;
    for (len -= from_buf; len > 0;) {
        ssize_t n = recv(p->fd, sink, len < sizeof sink ? len : sizeof sink, 0);
        if (n <= 0)
            return false;
        len -= (size_t)n;
    }
    return true;
}

static void note_request(struct peer *p)
{
    struct hostile_server *h = p->server;
    size_t head = (size_t)((char *)memmem(p->buf, p->have, "\r\n\r\n", 4) - p->buf) + 4;
    pthread_mutex_lock(&h->lock);
    memcpy(h->last_head, p->buf, head);
    h->last_head[head] = '\0';
    pthread_mutex_unlock(&h->lock);
    atomic_fetch_add(&h->requests, 1);
}

static bool do_read(struct peer *p, const struct hostile_step *step)
{
    char *end;
    while ((end = memmem(p->buf, p->have, "\r\n\r\n", 4)) == NULL) {
        must(p->have < sizeof p->buf, "request head too long");
        ssize_t n = recv(p->fd, p->buf + p->have, sizeof p->buf - p->have, 0);
        if (n <= 0)
            return false;
        p->have += (size_t)n;
    }
    note_request(p);
    return skip_body(p, (size_t)(end - p->buf) + 4 + step->n);
}

static bool do_send(struct peer *p, const struct hostile_step *step)
{
    return send_all(p->fd, step->bytes, step->n > 0 ? step->n : strlen(step->bytes));
}

static bool do_trickle(struct peer *p, const struct hostile_step *step)
{
    for (const char *b = step->bytes; *b != '\0'; b++) {
        /* At least what lets the reader take the byte: no coalescing. */
        long ms = (long)step->n;
        struct timespec pause = {ms / 1000, ms > 0 ? ms % 1000 * 1000000 : 50000};
        if (!send_all(p->fd, b, 1))
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

static bool do_flood(struct peer *p, const struct hostile_step *step)
{
    char block[16384];
    size_t one = strlen(step->bytes), len = 0;
    for (; len + one <= sizeof block; len += one)
        memcpy(block + len, step->bytes, one);
    for (size_t left = step->n; step->n == 0 || left > 0; left -= step->n == 0 ? 0 : len) {
        if (step->n > 0 && len > left)
            len = left;
        if (!send_all(p->fd, block, len))
            return false;
    }
    return true;
}

static bool do_half_close(struct peer *p, const struct hostile_step *step)
{
    (void)step;
    return shutdown(p->fd, SHUT_WR) == 0;
}

static bool do_reset(struct peer *p, const struct hostile_step *step)
{
    (void)step;
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    return false;
}

static bool do_hang(struct peer *p, const struct hostile_step *step)
{
    (void)step;
    char sink[4096];
    while (recv(p->fd, sink, sizeof sink, 0) > 0)
        ;
    return false;
}

static bool do_stall(struct peer *p, const struct hostile_step *step)
{
    (void)step;
    struct hostile_server *h = p->server;
    pthread_mutex_lock(&h->lock);
    while (!h->stop)
        pthread_cond_wait(&h->stopping, &h->lock);
    pthread_mutex_unlock(&h->lock);
    return false;
}

typedef bool (*step_fn)(struct peer *p, const struct hostile_step *step);

static const step_fn steps[] = {
    [HOSTILE_READ] = do_read,   [HOSTILE_SEND] = do_send,   [HOSTILE_TRICKLE] = do_trickle,
    [HOSTILE_FLOOD] = do_flood, [HOSTILE_RESET] = do_reset, [HOSTILE_HALF_CLOSE] = do_half_close,
    [HOSTILE_HANG] = do_hang,   [HOSTILE_STALL] = do_stall,
};

static void *run_peer(void *arg)
{
    struct peer *p = arg;
    const struct hostile_step *step = p->script;
    while (step->op != HOSTILE_END) {
        if (step->op == HOSTILE_AGAIN) {
            step = p->script;
            continue;
        }
        if (!steps[step->op](p, step))
            break;
        step++;
    }
    pthread_mutex_lock(&p->server->lock);
    close(p->fd);
    p->fd = -1;
    pthread_mutex_unlock(&p->server->lock);
    return NULL;
}

static void start_peer(struct hostile_server *h, int fd)
{
    uint64_t i = atomic_load(&h->accepted);
    must(i < HOSTILE_CONNS_MAX, "too many connections");
    struct timeval limit = {.tv_sec = HOSTILE_LIMIT_S};
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct peer *p = &h->peers[i];
    p->server = h;
    p->script = h->scripts[i < h->n_scripts ? i : h->n_scripts - 1];
    pthread_mutex_lock(&h->lock);
    p->fd = fd;
    pthread_mutex_unlock(&h->lock);
    /* Before the peer can answer: whoever has its answer sees it counted. */
    atomic_fetch_add(&h->accepted, 1);
    must(pthread_create(&p->thread, NULL, run_peer, p) == 0, "pthread_create");
}

static void *run_acceptor(void *arg)
{
    struct hostile_server *h = arg;
    for (;;) {
        int fd = accept(h->listener, NULL, NULL);
        if (fd < 0)
            return NULL; /* the listener was shut down */
        start_peer(h, fd);
    }
}

struct hostile_server *hostile_start(const struct hostile_step *const *scripts, size_t n)
{
    struct hostile_server *h = calloc(1, sizeof *h);
    must(h != NULL, "calloc");
    h->scripts = scripts;
    h->n_scripts = n;
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;
    h->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(h->listener >= 0, "socket");
    must(bind(h->listener, (struct sockaddr *)&sa, sizeof sa) == 0, "bind");
    must(listen(h->listener, 128) == 0, "listen");
    must(getsockname(h->listener, (struct sockaddr *)&sa, &len) == 0, "getsockname");
    h->port = ntohs(sa.sin_port);
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->stopping, NULL);
    must(pthread_create(&h->thread, NULL, run_acceptor, h) == 0, "pthread_create");
    return h;
}

void hostile_stop(struct hostile_server *h)
{
    shutdown(h->listener, SHUT_RDWR);
    pthread_join(h->thread, NULL);
    close(h->listener);
    size_t n = atomic_load(&h->accepted);
    pthread_mutex_lock(&h->lock);
    h->stop = true;
    pthread_cond_broadcast(&h->stopping);
    for (size_t i = 0; i < n; i++)
        if (h->peers[i].fd >= 0)
            shutdown(h->peers[i].fd, SHUT_RDWR);
    pthread_mutex_unlock(&h->lock);
    for (size_t i = 0; i < n; i++)
        pthread_join(h->peers[i].thread, NULL);
    pthread_cond_destroy(&h->stopping);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

uint16_t hostile_port(const struct hostile_server *h)
{
    return h->port;
}

uint64_t hostile_accepted(const struct hostile_server *h)
{
    return atomic_load(&h->accepted);
}

uint64_t hostile_requests(const struct hostile_server *h)
{
    return atomic_load(&h->requests);
}

void hostile_last_head(struct hostile_server *h, char *buf, size_t cap)
{
    pthread_mutex_lock(&h->lock);
    snprintf(buf, cap, "%s", h->last_head);
    pthread_mutex_unlock(&h->lock);
}

void hostile_last_line(struct hostile_server *h, char *buf, size_t cap)
{
    char head[HOSTILE_REQUEST_MAX + 1];
    hostile_last_head(h, head, sizeof head);
    snprintf(buf, cap, "%.*s", (int)strcspn(head, "\r"), head);
}
