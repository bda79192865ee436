/* SPDX-License-Identifier: MIT */
#include "agent/service/responder.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"

#define EVENTS   256
#define BUFFER   16384
#define FDS_MAX  4096 /* connections beyond are refused */
#define BACKLOG  1024
#define RESPONSE "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static const char request_end[] = "\r\n\r\n";

struct responder {
    pthread_t thread;
    uint64_t end_ns;
    int epoll, listener, stop; /* stop: eventfd */
    uint16_t port;
    /* The thread's own. */
    bool open[FDS_MAX];
    uint8_t matched[FDS_MAX]; /* bytes of request_end seen at the end of what came, by descriptor */
    char buffer[BUFFER];
};

static bool watch(struct responder *r, int fd)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &ev) == 0;
}

static void drop(struct responder *r, int fd)
{
    r->open[fd] = false;
    close(fd);
}

static void accept_all(struct responder *r)
{
    int fd, on = 1;
    while ((fd = accept4(r->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        if (fd >= FDS_MAX || !watch(r, fd)) {
            close(fd);
            continue;
        }
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        r->open[fd] = true;
        r->matched[fd] = 0;
    }
}

/* Requests that end in the n bytes just read. */
static unsigned count_ends(struct responder *r, int fd, size_t n)
{
    unsigned ends = 0;
    uint8_t matched = r->matched[fd];
    for (size_t i = 0; i < n; i++) {
        if (r->buffer[i] == request_end[matched])
            matched++;
        else
            matched = r->buffer[i] == '\r';
        if (matched == sizeof request_end - 1) {
            ends++;
            matched = 0;
        }
    }
    r->matched[fd] = matched;
    return ends;
}

/* A client that does not read what it asked for is dropped. */
static void serve(struct responder *r, int fd)
{
    ssize_t n = recv(fd, r->buffer, sizeof r->buffer, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    bool alive = n > 0;
    for (unsigned ends = alive ? count_ends(r, fd, (size_t)n) : 0; alive && ends > 0; ends--)
        alive = send(fd, RESPONSE, sizeof RESPONSE - 1, MSG_NOSIGNAL) == sizeof RESPONSE - 1;
    if (!alive)
        drop(r, fd);
}

static void *responder_main(void *arg)
{
    struct responder *r = arg;
    struct epoll_event events[EVENTS];
    pthread_setname_np(pthread_self(), "hammer-selftest");
    for (;;) {
        uint64_t left_ns = clock_elapsed(clock_mono_ns(), r->end_ns);
        int n = epoll_wait(r->epoll, events, EVENTS, (int)(left_ns / NS_PER_MS));
        if (left_ns == 0 || (n < 0 && errno != EINTR))
            return NULL;
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;
            if (fd == r->stop)
                return NULL;
            if (fd == r->listener)
                accept_all(r);
            else
                serve(r, fd);
        }
    }
}

static bool open_sockets(struct responder *r)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    r->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (r->epoll < 0 || r->stop < 0 || r->listener < 0 ||
        bind(r->listener, (struct sockaddr *)&sa, len) != 0 || listen(r->listener, BACKLOG) != 0 ||
        getsockname(r->listener, (struct sockaddr *)&sa, &len) != 0)
        return false;
    r->port = ntohs(sa.sin_port);
    return watch(r, r->listener) && watch(r, r->stop);
}

static void destroy(struct responder *r)
{
    int fds[] = {r->epoll, r->stop, r->listener};
    for (int fd = 0; fd < FDS_MAX; fd++)
        if (r->open[fd])
            close(fd);
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    mem_free(r);
}

/* The thread inherits the mask: signals are the main thread's business. */
static int create_thread(struct responder *r)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&r->thread, NULL, responder_main, r);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

enum err responder_start(uint64_t lifetime_ns, struct responder **out, struct errmsg *msg)
{
    struct responder *r = mem_calloc(1, sizeof *r);
    r->epoll = r->stop = r->listener = -1;
    r->end_ns = clock_add(clock_mono_ns(), lifetime_ns);
    int error = open_sockets(r) ? create_thread(r) : errno;
    if (error != 0) {
        destroy(r);
        return errmsg_set(msg, ERR_SYSTEM, "cannot listen on 127.0.0.1: %s", strerror(error));
    }
    *out = r;
    return ERR_OK;
}

uint16_t responder_port(const struct responder *r)
{
    return r->port;
}

void responder_stop(struct responder *r)
{
    if (r == NULL)
        return;
    uint64_t one = 1;
    while (write(r->stop, &one, sizeof one) < 0 && errno == EINTR)
        ;
    pthread_join(r->thread, NULL);
    destroy(r);
}
