/* SPDX-License-Identifier: MIT */
#include "tests/bench/responder/responder.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/bench/lib/net.h"
#include "tests/bench/lib/self.h"
#include "tests/bench/responder/alarms.h"
#include "tests/bench/responder/response.h"

#define EVENTS 512
#define BUFFER (64u << 10)
#define TAIL   3 /* bytes of the empty line that may end a read */

enum kind {
    KIND_NONE,
    KIND_CONNECTION,
    KIND_LISTENER,
    KIND_TIMER,
    KIND_SIGNAL
};

/* What a descriptor is; the table is indexed by it. */
struct slot {
    enum kind kind;
    bool wants_write;
    uint8_t tail_len;
    char tail[TAIL];
    uint64_t serial;
    uint64_t held;    /* responses waiting for one that is held back */
    uint64_t pending; /* bytes to be written */
};

struct responder {
    struct responder_options o;
    struct response response;
    struct alarms alarms;
    struct stamps stamps;
    struct slot *slots;
    size_t n_slots;
    int epoll, listener, signals;
    bool stop;
    bool delays; /* something is held back or freezes */
    uint32_t slow_sum;
    uint64_t served, connections;
    uint64_t wall_ahead_ns; /* wall clock - CLOCK_MONOTONIC, of this turn */
    char buf[TAIL + BUFFER];
};

static void watch(struct responder *r, int fd, enum kind kind)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};
    size_t index = (size_t)fd;
    if (index >= r->n_slots) {
        size_t n = index * 2 + 64;
        r->slots = mem_realloc(r->slots, n, sizeof *r->slots);
        memset(r->slots + r->n_slots, 0, (n - r->n_slots) * sizeof *r->slots);
        r->n_slots = n;
    }
    r->slots[fd] = (struct slot){.kind = kind, .serial = r->connections};
    if (epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &ev) != 0)
        self_die("epoll_ctl");
}

static int signals_open(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0)
        self_die("signalfd");
    return fd;
}

struct responder *responder_new(struct responder_options *options)
{
    struct responder *r = mem_calloc(1, sizeof *r);
    r->listener = net_listen(&options->listen, options->shared);
    r->o = *options;
    r->delays = r->o.slow_ppm > 0 || r->o.freeze_at_ns != NS_NEVER;
    response_init(&r->response, r->o.body_size);
    stamps_init(&r->stamps, r->o.stamps_max);
    alarms_init(&r->alarms, clock_mono_ns() + r->o.lifetime_ns);
    r->signals = signals_open();
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    watch(r, r->listener, KIND_LISTENER);
    watch(r, r->alarms.timer, KIND_TIMER);
    watch(r, r->signals, KIND_SIGNAL);
    alarms_set(&r->alarms);
    return r;
}

static void drop(struct responder *r, int fd)
{
    close(fd);
    r->slots[fd].kind = KIND_NONE;
}

static void accept_all(struct responder *r, int fd, uint32_t events)
{
    int on = 1, conn;
    (void)events;
    while ((conn = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        setsockopt(conn, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (r->o.stamp_kernel)
            setsockopt(conn, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
        r->connections++;
        watch(r, conn, KIND_CONNECTION);
    }
    if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
        self_die("accepting");
}

static void want_write(struct responder *r, int fd, bool on)
{
    struct epoll_event ev = {.events = EPOLLIN | (on ? (uint32_t)EPOLLOUT : 0), .data.fd = fd};
    if (r->slots[fd].wants_write == on)
        return;
    if (epoll_ctl(r->epoll, EPOLL_CTL_MOD, fd, &ev) != 0)
        self_die("epoll_ctl");
    r->slots[fd].wants_write = on;
}

static void write_pending(struct responder *r, int fd)
{
    uint64_t left = response_send(&r->response, fd, r->slots[fd].pending);
    if (left == UINT64_MAX) {
        drop(r, fd);
        return;
    }
    r->slots[fd].pending = left;
    want_write(r, fd, left > 0);
}

/* Empty lines in what was kept and the len bytes behind it; keeps what may begin the next one. */
static uint64_t count_requests(struct responder *r, struct slot *s, size_t len)
{
    char *at = r->buf + TAIL - s->tail_len;
    char *end = r->buf + TAIL + len;
    char *found;
    uint64_t n = 0;
    memcpy(at, s->tail, s->tail_len);
    while ((found = memmem(at, (size_t)(end - at), "\r\n\r\n", 4)) != NULL) {
        at = found + 4;
        n++;
    }
    size_t rest = (size_t)(end - at) < TAIL ? (size_t)(end - at) : TAIL;
    memcpy(s->tail, end - rest, rest);
    s->tail_len = (uint8_t)rest;
    return n;
}

static bool is_slow(struct responder *r)
{
    r->slow_sum += r->o.slow_ppm;
    if (r->slow_sum < 1000000)
        return false;
    r->slow_sum -= 1000000;
    return true;
}

/* One request, where responses may be late or stamped. */
static void take_request(struct responder *r, int fd, uint64_t now_ns, uint64_t kernel_ns)
{
    struct slot *s = &r->slots[fd];
    struct stamp *stamp = r->o.stamps_max > 0 ? stamps_add(&r->stamps) : NULL;
    if (stamp != NULL)
        *stamp = (struct stamp){now_ns, kernel_ns, 0};
    if (r->served == 0 && r->o.freeze_at_ns != NS_NEVER)
        alarms_freeze(&r->alarms, now_ns + r->o.freeze_at_ns, r->o.freeze_for_ns,
                      r->o.freeze_every_ns);
    r->served++;
    if (is_slow(r)) {
        struct held h = {now_ns + r->o.slow_ns, s->serial, stamp, fd};
        alarms_hold(&r->alarms, &h);
        s->held++;
    } else if (s->held > 0) {
        s->held++; /* pipelined behind one that is held back */
    } else {
        s->pending += r->response.len;
        if (stamp != NULL)
            stamp->written_ns = now_ns; /* the write is next */
    }
}

static uint64_t kernel_stamp(const struct responder *r, struct msghdr *m)
{
    struct timespec ts;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
            continue;
        memcpy(&ts, CMSG_DATA(c), sizeof ts);
        return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec - r->wall_ahead_ns;
    }
    return 0;
}

/* One read; *kernel_ns is 0 without --stamp-kernel. */
static ssize_t read_some(struct responder *r, int fd, uint64_t *kernel_ns)
{
    *kernel_ns = 0;
    if (!r->o.stamp_kernel)
        return recv(fd, r->buf + TAIL, BUFFER, 0);
    char control[256];
    struct iovec iov = {r->buf + TAIL, BUFFER};
    struct msghdr m = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t n = recvmsg(fd, &m, 0);
    if (n > 0)
        *kernel_ns = kernel_stamp(r, &m);
    return n;
}

static void serve(struct responder *r, int fd, uint32_t events)
{
    struct slot *s = &r->slots[fd];
    uint64_t kernel_ns;
    if ((events & EPOLLOUT) != 0) {
        write_pending(r, fd);
        return; /* what can be read stays readable */
    }
    ssize_t len = read_some(r, fd, &kernel_ns);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len <= 0) {
        drop(r, fd);
        return;
    }
    uint64_t n = count_requests(r, s, (size_t)len);
    if (!r->delays && r->o.stamps_max == 0) {
        r->served += n;
        s->pending += n * r->response.len;
    } else {
        uint64_t now_ns = clock_mono_ns();
        for (uint64_t i = 0; i < n; i++)
            take_request(r, fd, now_ns, kernel_ns);
    }
    if (s->pending > 0)
        write_pending(r, fd);
}

static void release(struct responder *r, const struct held *h)
{
    struct slot *s = &r->slots[h->fd];
    if (s->kind != KIND_CONNECTION || s->serial != h->serial)
        return;
    if (h->stamp != NULL)
        h->stamp->written_ns = clock_mono_ns();
    s->pending += s->held * r->response.len;
    s->held = 0;
    write_pending(r, h->fd);
}

static void timer_fires(struct responder *r, int fd, uint32_t events)
{
    uint64_t ticks, now_ns = clock_mono_ns();
    struct held h;
    (void)events;
    if (read(fd, &ticks, sizeof ticks) != sizeof ticks)
        return;
    alarms_stand_still(&r->alarms, now_ns);
    while (alarms_release(&r->alarms, clock_mono_ns(), &h))
        release(r, &h);
    r->alarms.set_ns = NS_NEVER;
    alarms_set(&r->alarms);
    r->stop |= now_ns >= r->alarms.end_ns;
}

static void signal_came(struct responder *r, int fd, uint32_t events)
{
    (void)fd;
    (void)events;
    r->stop = true;
}

static void nothing(struct responder *r, int fd, uint32_t events)
{
    (void)r;
    (void)fd;
    (void)events;
}

typedef void handler(struct responder *r, int fd, uint32_t events);

static handler *const handlers[] = {
    [KIND_NONE] = nothing,      [KIND_CONNECTION] = serve,   [KIND_LISTENER] = accept_all,
    [KIND_TIMER] = timer_fires, [KIND_SIGNAL] = signal_came,
};

void responder_run(struct responder *r)
{
    struct epoll_event events[EVENTS];
    while (!r->stop) {
        int n = epoll_wait(r->epoll, events, EVENTS, r->o.busy_poll ? 0 : -1);
        if (n < 0 && errno != EINTR)
            self_die("epoll_wait");
        if (n > 0 && r->o.stamp_kernel)
            r->wall_ahead_ns = clock_wall_ns() - clock_mono_ns();
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;
            handlers[r->slots[fd].kind](r, fd, events[i].events);
        }
        if (r->o.counter != NULL)
            counter_store(r->o.counter, r->served);
        if (n > 0 && r->delays)
            alarms_set(&r->alarms);
    }
}

uint64_t responder_served(const struct responder *r)
{
    return r->served;
}

uint64_t responder_connections(const struct responder *r)
{
    return r->connections;
}

const struct stamps *responder_stamps(const struct responder *r)
{
    return &r->stamps;
}

void responder_free(struct responder *r)
{
    for (size_t i = 0; i < r->n_slots; i++)
        if (r->slots[i].kind == KIND_CONNECTION)
            close((int)i);
    close(r->epoll);
    close(r->listener);
    close(r->signals);
    response_fini(&r->response);
    alarms_fini(&r->alarms);
    stamps_fini(&r->stamps);
    mem_free(r->slots);
    mem_free(r);
}
