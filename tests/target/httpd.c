/* SPDX-License-Identifier: MIT */
#include "tests/target/httpd.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/target/arrival.h"
#include "tests/target/conn.h"
#include "tests/target/listener.h"

#define EVENTS_MAX  64
#define ACCEPTS_MAX 64 /* per wake-up, so that open connections are not kept waiting */
#define FLUSH_NS    NS_PER_SEC

enum err httpd_watch(struct httpd *srv, struct source *s, uint32_t events)
{
    struct epoll_event ev = {.events = events, .data.ptr = s};
    return epoll_ctl(srv->epoll_fd, EPOLL_CTL_ADD, s->fd, &ev) == 0 ? ERR_OK : ERR_SYSTEM;
}

void httpd_rewatch(struct httpd *srv, struct source *s, uint32_t events)
{
    struct epoll_event ev = {.events = events, .data.ptr = s};
    epoll_ctl(srv->epoll_fd, EPOLL_CTL_MOD, s->fd, &ev);
}

uint64_t httpd_count_request(struct httpd *srv, uint64_t now_ns)
{
    if (srv->first_ns == 0) {
        srv->first_ns = now_ns;
        if (srv->options->freeze_at_ns != NS_NEVER)
            httpd_timers_set(&srv->timers, &srv->freeze,
                             clock_add(now_ns, srv->options->freeze_at_ns));
    }
    return ++srv->n_requests;
}

void httpd_count_response(struct httpd *srv)
{
    srv->n_served++;
    if (srv->n_served == srv->options->requests)
        srv->stop = true;
}

void httpd_descriptor_freed(struct httpd *srv)
{
    if (!srv->accept_paused)
        return;
    srv->accept_paused = false;
    httpd_rewatch(srv, &srv->listener, EPOLLIN);
}

static void accept_ready(struct source *s, struct httpd *srv, uint32_t events)
{
    (void)events;
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        int fd = httpd_listener_accept(s->fd);
        if (fd >= 0) {
            srv->n_conns++;
            httpd_conn_open(srv, fd);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE) {
            srv->accept_paused = true;
            httpd_rewatch(srv, s, 0);
        }
        return;
    }
}

/* The timers themselves are fired by the loop. */
static void clock_ready(struct source *s, struct httpd *srv, uint32_t events)
{
    (void)events;
    uint64_t expirations;
    if (read(s->fd, &expirations, sizeof expirations) > 0)
        srv->clock_ns = NS_NEVER;
}

static void signal_ready(struct source *s, struct httpd *srv, uint32_t events)
{
    (void)s;
    (void)events;
    srv->stop = true;
}

/* The window is absolute: a late start of the stall does not move its end. */
static void freeze_fire(struct httpd_timer *t, void *arg)
{
    const struct httpd *srv = arg;
    clock_sleep_until(clock_add(t->due_ns, srv->options->freeze_for_ns));
}

static void flush_fire(struct httpd_timer *t, void *arg)
{
    struct httpd *srv = arg;
    httpd_reqlog_flush(&srv->log);
    httpd_timers_set(&srv->timers, t, clock_add(clock_mono_ns(), FLUSH_NS));
}

static void lifetime_fire(struct httpd_timer *t, void *arg)
{
    (void)t;
    struct httpd *srv = arg;
    srv->stop = true;
}

static enum err open_sources(struct httpd *srv)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    srv->signals = (struct source){signal_ready, signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
    srv->clock =
        (struct source){clock_ready, timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
    srv->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (srv->signals.fd < 0 || srv->clock.fd < 0 || srv->epoll_fd < 0)
        return ERR_SYSTEM;
    enum err e = httpd_watch(srv, &srv->signals, EPOLLIN);
    if (e == ERR_OK)
        e = httpd_watch(srv, &srv->clock, EPOLLIN);
    return e == ERR_OK ? httpd_watch(srv, &srv->listener, EPOLLIN) : e;
}

static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

enum err httpd_init(struct httpd *srv, const struct httpd_options *options, struct errmsg *msg)
{
    *srv = (struct httpd){.options = options, .epoll_fd = -1, .clock_ns = NS_NEVER};
    srv->listener = (struct source){accept_ready, -1};
    srv->clock.fd = srv->signals.fd = -1;
    srv->freeze.fire = freeze_fire;
    srv->flush.fire = flush_fire;
    srv->lifetime.fire = lifetime_fire;
    LIST_INIT(&srv->conns);
    httpd_responses_init(&srv->responses, options);
    raise_descriptor_limit();
    enum err e = httpd_reqlog_open(&srv->log, options->log_file, msg);
    if (e != ERR_OK)
        return e;
    e = httpd_listener_open(&options->listen, &srv->listener.fd, msg);
    if (e != ERR_OK)
        return e;
    if (options->log_file != NULL)
        httpd_arrival_watch(srv->listener.fd);
    if (open_sources(srv) != ERR_OK)
        return errmsg_set(msg, ERR_SYSTEM, "epoll: %s", strerror(errno));
    httpd_timers_set(&srv->timers, &srv->lifetime,
                     clock_add(clock_mono_ns(), options->lifetime_ns));
    if (options->log_file != NULL)
        httpd_timers_set(&srv->timers, &srv->flush, clock_add(clock_mono_ns(), FLUSH_NS));
    /* Last: who reads the port may connect at once. */
    return httpd_listener_write_port(srv->listener.fd, options->port_file, msg);
}

static void set_clock(struct httpd *srv)
{
    uint64_t next = httpd_timers_next_ns(&srv->timers);
    if (next == srv->clock_ns || next == NS_NEVER)
        return;
    struct itimerspec at = {
        .it_value = {.tv_sec = (time_t)(next / NS_PER_SEC), .tv_nsec = (long)(next % NS_PER_SEC)}};
    timerfd_settime(srv->clock.fd, TFD_TIMER_ABSTIME, &at, NULL);
    srv->clock_ns = next;
}

enum err httpd_run(struct httpd *srv, struct errmsg *msg)
{
    struct epoll_event events[EVENTS_MAX];
    while (!srv->stop) {
        while (!srv->stop && httpd_timers_fire_one(&srv->timers, clock_mono_ns(), srv))
            ;
        if (srv->stop)
            break;
        set_clock(srv);
        int n = epoll_wait(srv->epoll_fd, events, EVENTS_MAX, -1);
        if (n < 0 && errno != EINTR)
            return errmsg_set(msg, ERR_SYSTEM, "epoll_wait: %s", strerror(errno));
        for (int i = 0; i < n && !srv->stop; i++) {
            struct source *s = events[i].data.ptr;
            s->ready(s, srv, events[i].events);
        }
    }
    return ERR_OK;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

enum err httpd_fini(struct httpd *srv)
{
    while (!LIST_EMPTY(&srv->conns))
        httpd_conn_close(srv, LIST_FIRST(&srv->conns));
    close_fd(srv->listener.fd);
    close_fd(srv->clock.fd);
    close_fd(srv->signals.fd);
    close_fd(srv->epoll_fd);
    httpd_timers_fini(&srv->timers);
    httpd_responses_fini(&srv->responses);
    return httpd_reqlog_close(&srv->log);
}
