/* SPDX-License-Identifier: MIT */
#include "common/loop.h"

#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"

struct loop_signal {
    SLIST_ENTRY(loop_signal) link;
    struct event *event;
    loop_signal_fn fn;
    void *arg;
};

struct loop {
    struct event_base *base;
    SLIST_HEAD(, loop_signal) signals;
    bool stop;
    unsigned holders;
    uint64_t woke_ns; /* of the current turn, 0 = nobody has asked yet */
    int alarm_fd;     /* exact loop: timerfd of its one timer; else -1 */
    struct loop_post *post;
};

struct loop_timer {
    struct event *event;
    loop_timer_fn fn;
    void *arg;
    int alarm_fd;               /* -1 = libevent's timer */
    uint64_t wanted_ns, set_ns; /* alarm: when to call fn; when it will ring, that or earlier */
};

/* --- proof that the timer is precise ---------------------------------------------------------- */

/*
 * Without the flag libevent reads CLOCK_MONOTONIC_COARSE, which stands still between kernel ticks
 * (1 to 10 ms). A precise reading can never be older than ours just before it; a coarse one nearly
 * always is. So a precise clock never fails this, and a coarse one passes by chance only when a
 * tick falls between two neighbouring instructions, each time.
 */
static bool clock_is_precise(struct event_base *base)
{
    for (int i = 0; i < 8; i++) {
        struct timeval tv;
        uint64_t before_us = clock_mono_ns() / NS_PER_US;
        if (event_gettime_monotonic(base, &tv) != 0)
            return false;
        if ((uint64_t)tv.tv_sec * 1000000 + (uint64_t)tv.tv_usec < before_us)
            return false;
    }
    return true;
}

static bool link_is(const char *fd, const char *target)
{
    char path[64], text[64];
    snprintf(path, sizeof path, "/proc/self/fd/%.20s", fd);
    ssize_t n = readlink(path, text, sizeof text - 1);
    if (n < 0)
        return false;
    text[n] = '\0';
    return strcmp(text, target) == 0;
}

/* What one epoll descriptor watches: is `marker` among it, and is a timerfd? */
static void read_watched(const char *epoll_fd, int marker, bool *has_marker, bool *has_timerfd)
{
    char path[64], line[256];
    *has_marker = *has_timerfd = false;
    snprintf(path, sizeof path, "/proc/self/fdinfo/%.20s", epoll_fd);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return;
    while (fgets(line, sizeof line, f) != NULL) {
        int fd;
        char text[16];
        if (sscanf(line, "tfd: %d", &fd) != 1)
            continue;
        snprintf(text, sizeof text, "%d", fd);
        *has_marker |= fd == marker;
        *has_timerfd |= link_is(text, "anon_inode:[timerfd]");
    }
    fclose(f);
}

/* The epoll descriptor of this base is the one that watches the marker. */
static bool watches_timerfd(int marker)
{
    bool has_marker = false, has_timerfd = false;
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL)
        return false;
    for (struct dirent *e = readdir(dir); e != NULL && !has_marker; e = readdir(dir))
        if (link_is(e->d_name, "anon_inode:[eventpoll]"))
            read_watched(e->d_name, marker, &has_marker, &has_timerfd);
    closedir(dir);
    return has_marker && has_timerfd;
}

static void marker_ready(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what, (void)arg;
}

/*
 * The precise clock is of no use without a timerfd: epoll_wait alone counts in milliseconds.
 * libevent silently does without one when it cannot be made, has no call that tells, and measuring
 * is at the mercy of other processes; the kernel's own list of what is watched is exact.
 */
static enum err check_timerfd(struct event_base *base, struct errmsg *msg)
{
    int marker = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (marker < 0)
        return errmsg_set(msg, ERR_SYSTEM, "cannot create an eventfd: %s", strerror(errno));
    struct event *ev = event_new(base, marker, EV_READ, marker_ready, NULL);
    bool ok = ev != NULL && event_add(ev, NULL) == 0 && watches_timerfd(marker);
    if (ev != NULL)
        event_free(ev);
    close(marker);
    if (!ok)
        return errmsg_set(msg, ERR_SYSTEM,
                          "libevent (%s) runs without a timerfd, timers would be late by "
                          "milliseconds (descriptor limit reached, or /proc not mounted?)",
                          event_base_get_method(base));
    return ERR_OK;
}

/* --- loop ------------------------------------------------------------------------------------- */

#define LOOP_FDS 8 /* epoll, timerfd, two for signals, and what the checks open */

/* libevent ends the process when it runs out of descriptors half-way: ask first. */
static enum err check_descriptors(struct errmsg *msg)
{
    int fds[LOOP_FDS], n = 0, saved = 0;
    while (n < LOOP_FDS && (fds[n] = eventfd(0, EFD_CLOEXEC)) >= 0)
        n++;
    saved = errno;
    for (int i = 0; i < n; i++)
        close(fds[i]);
    if (n < LOOP_FDS)
        return errmsg_set(msg, ERR_SYSTEM, "an event loop needs %d descriptors, only %d left: %s",
                          LOOP_FDS, n, strerror(saved));
    return ERR_OK;
}

/* NO_CACHE_TIME: a timer set late in a long turn counts from now, not from the turn's start.
 * IGNORE_ENV: EVENT_* variables must not be able to swap the measured backend. */
static struct event_base *open_base(bool exact)
{
    struct event_config *cfg = event_config_new();
    if (cfg == NULL)
        return NULL;
    struct event_base *base = NULL;
    int flags = (exact ? 0 : EVENT_BASE_FLAG_PRECISE_TIMER) | EVENT_BASE_FLAG_NOLOCK |
                EVENT_BASE_FLAG_NO_CACHE_TIME | EVENT_BASE_FLAG_IGNORE_ENV;
    if (event_config_set_flag(cfg, flags) == 0)
        base = event_base_new_with_config(cfg);
    event_config_free(cfg);
    return base;
}

static enum err check_timers(struct event_base *base, struct errmsg *msg)
{
    if (!clock_is_precise(base))
        return errmsg_set(msg, ERR_SYSTEM, "libevent %s does not use the precise clock",
                          event_get_version());
    return check_timerfd(base, msg);
}

static enum err new_loop(bool exact, struct loop **out, struct errmsg *msg)
{
    enum err e = check_descriptors(msg);
    if (e != ERR_OK)
        return e;
    struct event_base *base = open_base(exact);
    if (base == NULL)
        return errmsg_set(msg, ERR_SYSTEM, "cannot open an event loop: %s", strerror(errno));
    int alarm_fd = -1;
    if (!exact)
        e = check_timers(base, msg);
    else if ((alarm_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) < 0)
        e = errmsg_set(msg, ERR_SYSTEM, "cannot create a timerfd: %s", strerror(errno));
    if (e != ERR_OK) {
        event_base_free(base);
        return e;
    }
    struct loop *l = mem_calloc(1, sizeof *l);
    l->base = base;
    l->alarm_fd = alarm_fd;
    SLIST_INIT(&l->signals);
    *out = l;
    return ERR_OK;
}

enum err loop_new(struct loop **out, struct errmsg *msg)
{
    return new_loop(false, out, msg);
}

enum err loop_new_exact(struct loop **out, struct errmsg *msg)
{
    return new_loop(true, out, msg);
}

void loop_free(struct loop *l)
{
    if (l == NULL)
        return;
    while (!SLIST_EMPTY(&l->signals)) {
        struct loop_signal *s = SLIST_FIRST(&l->signals);
        SLIST_REMOVE_HEAD(&l->signals, link);
        event_free(s->event);
        mem_free(s);
    }
    event_base_free(l->base);
    if (l->alarm_fd >= 0)
        close(l->alarm_fd);
    mem_free(l);
}

struct event_base *loop_base(struct loop *l)
{
    return l->base;
}

struct loop_post **loop_post(struct loop *l)
{
    return &l->post;
}

static int turn(struct loop *l, int flags)
{
    l->woke_ns = 0;
    return event_base_loop(l->base, EVLOOP_ONCE | flags);
}

void loop_run(struct loop *l)
{
    /* A stop that came before the run counts: libevent itself would forget it. */
    while (!l->stop)
        if (turn(l, EVLOOP_NO_EXIT_ON_EMPTY) < 0)
            break;
    l->stop = false;
}

void loop_turn(struct loop *l, int block)
{
    turn(l, block ? 0 : EVLOOP_NONBLOCK);
}

uint64_t loop_woke_ns(struct loop *l)
{
    if (l->woke_ns == 0)
        l->woke_ns = clock_mono_ns();
    return l->woke_ns;
}

void loop_stop(struct loop *l)
{
    l->stop = true;
    event_base_loopbreak(l->base);
}

void loop_hold(struct loop *l)
{
    l->holders++;
}

void loop_release(struct loop *l)
{
    l->holders--;
}

void loop_finish(struct loop *l)
{
    while (l->holders > 0)
        loop_turn(l, 1);
}

/* --- timers ----------------------------------------------------------------------------------- */

static void timer_fired(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    struct loop_timer *t = arg;
    t->fn(t->arg); /* may free t */
}

/* libevent fails here only when memory is out, and set-up without memory ends the process. */
static void *need(void *p, const char *what)
{
    if (p == NULL) {
        fprintf(stderr, "hammer: libevent: cannot create %s\n", what);
        abort();
    }
    return p;
}

/* Never read: setting it again takes the ring back, and edge-triggered it is told only once. */
static void alarm_set(struct loop_timer *t, uint64_t mono_ns)
{
    uint64_t ns = mono_ns > 0 ? mono_ns : 1; /* 0 would mean never */
    struct itimerspec at = {
        .it_value = {.tv_sec = (time_t)(ns / NS_PER_SEC), .tv_nsec = (long)(ns % NS_PER_SEC)}};
    t->set_ns = mono_ns;
    timerfd_settime(t->alarm_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

/* An alarm that rings too early costs an empty turn, moving it a system call each time. */
static void alarm_at(struct loop_timer *t, uint64_t mono_ns)
{
    t->wanted_ns = mono_ns;
    if (mono_ns < t->set_ns)
        alarm_set(t, mono_ns);
}

static void alarm_rang(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    struct loop_timer *t = arg;
    uint64_t wanted_ns = t->wanted_ns;
    t->set_ns = NS_NEVER;
    if (wanted_ns > clock_mono_ns()) {
        alarm_at(t, wanted_ns);
        return;
    }
    t->wanted_ns = NS_NEVER;
    t->fn(t->arg); /* may free t */
}

static struct event *alarm_event(struct loop *l, struct loop_timer *t)
{
    t->alarm_fd = l->alarm_fd;
    t->wanted_ns = t->set_ns = NS_NEVER;
    struct event *ev = event_new(l->base, l->alarm_fd, EV_READ | EV_PERSIST | EV_ET, alarm_rang, t);
    if (ev != NULL && event_add(ev, NULL) == 0)
        return ev;
    return NULL;
}

struct loop_timer *loop_timer_new(struct loop *l, loop_timer_fn fn, void *arg)
{
    struct loop_timer *t = mem_calloc(1, sizeof *t);
    t->fn = fn;
    t->arg = arg;
    t->alarm_fd = -1;
    struct event *ev =
        l->alarm_fd >= 0 ? alarm_event(l, t) : event_new(l->base, -1, 0, timer_fired, t);
    t->event = need(ev, "a timer");
    return t;
}

void loop_timer_at(struct loop_timer *t, uint64_t mono_ns)
{
    if (t->alarm_fd >= 0) {
        alarm_at(t, mono_ns);
        return;
    }
    if (mono_ns == NS_NEVER) {
        event_del(t->event);
        return;
    }
    uint64_t wait_ns = clock_elapsed(clock_mono_ns(), mono_ns);
    uint64_t wait_us = 0;
    /* Rounded up, plus the microsecond that libevent cuts off its own clock: never early. */
    if (wait_ns > 0)
        wait_us = (wait_ns - 1) / NS_PER_US + 2;
    struct timeval tv = {.tv_sec = (time_t)(wait_us / 1000000),
                         .tv_usec = (suseconds_t)(wait_us % 1000000)};
    event_add(t->event, &tv);
}

void loop_timer_free(struct loop_timer *t)
{
    if (t == NULL)
        return;
    event_free(t->event);
    mem_free(t);
}

/* --- signals ---------------------------------------------------------------------------------- */

static void signal_fired(evutil_socket_t signo, short what, void *arg)
{
    (void)what;
    struct loop_signal *s = arg;
    s->fn((int)signo, s->arg);
}

enum err loop_signal(struct loop *l, int signo, loop_signal_fn fn, void *arg)
{
    struct loop_signal *s = mem_calloc(1, sizeof *s);
    s->fn = fn;
    s->arg = arg;
    s->event =
        need(event_new(l->base, signo, EV_SIGNAL | EV_PERSIST, signal_fired, s), "a signal event");
    if (event_add(s->event, NULL) != 0) {
        event_free(s->event);
        mem_free(s);
        return ERR_SYSTEM;
    }
    SLIST_INSERT_HEAD(&l->signals, s, link);
    return ERR_OK;
}

void loop_signal_forget(struct loop *l, const void *arg)
{
    struct loop_signal *s = SLIST_FIRST(&l->signals);
    while (s != NULL) {
        struct loop_signal *next = SLIST_NEXT(s, link);
        if (s->arg == arg) {
            SLIST_REMOVE(&l->signals, s, loop_signal, link);
            event_free(s->event);
            mem_free(s);
        }
        s = next;
    }
}
