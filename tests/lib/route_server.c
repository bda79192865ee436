/* SPDX-License-Identifier: MIT */
#include "tests/lib/route_server.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/mem.h"

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un un;
};

struct visit {
    struct route_server *server;
    pthread_t thread;
    int fd, beyond; /* -1 = closed */
};

struct route_server {
    struct route_server_options options;
    int fd;
    uint16_t port;
    pthread_t acceptor;
    pthread_mutex_t lock; /* of all below */
    bool stop;
    struct route_server_seen seen;
    size_t n;
    struct visit visits[ROUTE_SERVER_CONNECTIONS];
};

static socklen_t make_address(const char *text, uint16_t port, union address *a)
{
    memset(a, 0, sizeof *a);
    if (text[0] == '/') {
        a->un.sun_family = AF_UNIX;
        snprintf(a->un.sun_path, sizeof a->un.sun_path, "%s", text);
        return sizeof a->un;
    }
    if (inet_pton(AF_INET6, text, &a->v6.sin6_addr) == 1) {
        a->v6.sin6_family = AF_INET6;
        a->v6.sin6_port = htons(port);
        return sizeof a->v6;
    }
    a->v4.sin_family = AF_INET;
    a->v4.sin_port = htons(port);
    ck_assert_int_eq(inet_pton(AF_INET, text, &a->v4.sin_addr), 1);
    return sizeof a->v4;
}

static void peer_text(const union address *a, char *buf, socklen_t cap)
{
    snprintf(buf, cap, "unix");
    if (a->any.sa_family == AF_INET)
        inet_ntop(AF_INET, &a->v4.sin_addr, buf, cap);
    if (a->any.sa_family == AF_INET6)
        inet_ntop(AF_INET6, &a->v6.sin6_addr, buf, cap);
}

/* Under the lock. */
static void note_peer(struct route_server_seen *seen, const union address *from)
{
    char text[64];
    size_t i = 0;
    peer_text(from, text, sizeof text);
    while (i < seen->n_peers && strcmp(seen->peers[i].address, text) != 0)
        i++;
    if (i == ROUTE_SERVER_PEERS)
        return;
    if (i == seen->n_peers)
        snprintf(seen->peers[seen->n_peers++].address, sizeof text, "%s", text);
    seen->peers[i].connections++;
}

/* A head up to its empty line, byte by byte: what follows belongs to somebody else. */
static bool read_head(int fd, char head[ROUTE_SERVER_HEAD + 1])
{
    size_t n = 0;
    while (n < ROUTE_SERVER_HEAD && recv(fd, head + n, 1, 0) == 1) {
        head[++n] = '\0';
        if (n >= 4 && memcmp(head + n - 4, "\r\n\r\n", 4) == 0)
            return true;
    }
    return false;
}

static bool send_text(int fd, const char *text)
{
    return send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text);
}

static bool pump(int from, int to)
{
    char buf[4096];
    ssize_t n = recv(from, buf, sizeof buf, 0);
    return n > 0 && send(to, buf, (size_t)n, MSG_NOSIGNAL) == n;
}

/* Both ways, until one of them ends. */
static void relay(int a, int b)
{
    struct pollfd p[2] = {{.fd = a, .events = POLLIN}, {.fd = b, .events = POLLIN}};
    for (;;) {
        if (poll(p, 2, -1) < 0 && errno != EINTR)
            return;
        if ((p[0].revents != 0 && !pump(a, b)) || (p[1].revents != 0 && !pump(b, a)))
            return;
    }
}

static void tunnel(struct visit *v)
{
    union address to;
    struct route_server *s = v->server;
    socklen_t len = make_address("127.0.0.1", s->options.connect_to, &to);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0)
        return;
    pthread_mutex_lock(&s->lock);
    v->beyond = fd;
    bool stop = s->stop;
    pthread_mutex_unlock(&s->lock);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!stop && connect(fd, &to.any, len) == 0 &&
        send_text(v->fd, "HTTP/1.1 200 Connection established\r\n\r\n"))
        relay(v->fd, fd);
    pthread_mutex_lock(&s->lock);
    v->beyond = -1;
    pthread_mutex_unlock(&s->lock);
    close(fd);
}

/* Is there another request to wait for? */
static bool answer(struct visit *v, const char *head)
{
    char refusal[96];
    struct route_server *s = v->server;
    bool connects = strncmp(head, "CONNECT ", 8) == 0;
    pthread_mutex_lock(&s->lock);
    s->seen.requests += !connects;
    s->seen.tunnels += connects;
    snprintf(connects ? s->seen.connect : s->seen.head, ROUTE_SERVER_HEAD + 1, "%s", head);
    pthread_mutex_unlock(&s->lock);
    if (s->options.refuse != 0) {
        snprintf(refusal, sizeof refusal, "HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n",
                 s->options.refuse);
        return send_text(v->fd, refusal);
    }
    if (!connects)
        return send_text(v->fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    tunnel(v);
    return false;
}

static void *serve(void *arg)
{
    char head[ROUTE_SERVER_HEAD + 1];
    struct visit *v = arg;
    while (read_head(v->fd, head) && answer(v, head))
        continue;
    pthread_mutex_lock(&v->server->lock);
    close(v->fd);
    v->fd = -1;
    pthread_mutex_unlock(&v->server->lock);
    return NULL;
}

/* Under the lock. */
static void welcome(struct route_server *s, int fd, const union address *from)
{
    int on = 1;
    struct visit *v = &s->visits[s->n];
    *v = (struct visit){.server = s, .fd = fd, .beyond = -1};
    if (s->options.listen[0] != '/')
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    s->seen.connections++;
    note_peer(&s->seen, from);
    if (pthread_create(&v->thread, NULL, serve, v) == 0)
        s->n++;
    else
        close(fd);
}

static void *accept_all(void *arg)
{
    struct route_server *s = arg;
    for (;;) {
        union address from = {0};
        socklen_t len = sizeof from;
        int fd = accept(s->fd, &from.any, &len);
        pthread_mutex_lock(&s->lock);
        bool stop = s->stop || (fd < 0 && errno != EINTR && errno != ECONNABORTED);
        if (fd >= 0 && !stop && s->n < ROUTE_SERVER_CONNECTIONS)
            welcome(s, fd, &from);
        else if (fd >= 0)
            close(fd);
        pthread_mutex_unlock(&s->lock);
        if (stop)
            return NULL;
    }
}

struct route_server *route_server_start(const struct route_server_options *o)
{
    union address a;
    struct route_server *s = mem_calloc(1, sizeof *s);
    s->options = *o;
    if (o->listen == NULL)
        s->options.listen = "127.0.0.1";
    socklen_t len = make_address(s->options.listen, o->port, &a);
    int on = 1;
    s->fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s->fd >= 0)
        setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (s->fd < 0 || bind(s->fd, &a.any, len) != 0 || listen(s->fd, 256) != 0 ||
        getsockname(s->fd, &a.any, &len) != 0) {
        close(s->fd);
        mem_free(s);
        return NULL;
    }
    s->port = ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
    pthread_mutex_init(&s->lock, NULL);
    ck_assert_int_eq(pthread_create(&s->acceptor, NULL, accept_all, s), 0);
    return s;
}

void route_server_stop(struct route_server *s)
{
    if (s == NULL)
        return;
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    shutdown(s->fd, SHUT_RDWR);
    for (size_t i = 0; i < s->n; i++) {
        if (s->visits[i].fd >= 0)
            shutdown(s->visits[i].fd, SHUT_RDWR);
        if (s->visits[i].beyond >= 0)
            shutdown(s->visits[i].beyond, SHUT_RDWR);
    }
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->acceptor, NULL);
    for (size_t i = 0; i < s->n; i++)
        pthread_join(s->visits[i].thread, NULL);
    close(s->fd);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

uint16_t route_server_port(const struct route_server *s)
{
    return s->port;
}

void route_server_seen(struct route_server *s, struct route_server_seen *out)
{
    pthread_mutex_lock(&s->lock);
    *out = s->seen;
    pthread_mutex_unlock(&s->lock);
}
